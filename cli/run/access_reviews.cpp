#include "cli/run/access_reviews.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/run/wiring.hpp"
#include "informer/http/base64.hpp"
#include "informer/http/http_client.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMostOfAnAnswer = 256 * 1024;  // a user may be in thousands of groups
constexpr auto kTimeout = std::chrono::seconds(5);

json user_info(const serving::User& user) {
  json info = {{"user", user.name}, {"groups", user.groups}};
  if (!user.uid.empty()) info["uid"] = user.uid;
  if (!user.extra.empty()) info["extra"] = user.extra;
  return info;
}

// The answer's status, an object.
Result<json> status_of(const std::string& body) {
  json answer = json::parse(body, nullptr, false);
  if (!answer.is_object() || !answer["status"].is_object()) {
    return fail(ErrorCode::kInvalid, "the API server's answer is no review with a status");
  }
  return std::move(answer["status"]);
}

// A missing or null field is empty; one of another type is an error.
template <typename Value>
bool read_field(const json& object, const char* name, Value& into) {
  const auto field = object.find(name);
  if (field == object.end() || field->is_null()) return true;
  try {
    field->get_to(into);
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

class ApiReviewer final : public serving::Reviewer {
 public:
  explicit ApiReviewer(std::unique_ptr<informer::HttpClient> client) : client_(std::move(client)) {}

  void review_token(const std::string& token, TokenDone done) override {
    json spec{{"token", token}};
    const std::string audience = is_for_plimsoll(token) ? kTokenAudience : "";
    if (!audience.empty()) spec["audiences"] = json::array({audience});
    ask("/apis/authentication.k8s.io/v1/tokenreviews",
        {{"apiVersion", "authentication.k8s.io/v1"},
         {"kind", "TokenReview"},
         {"spec", std::move(spec)}},
        [audience, done = std::move(done)](Result<std::string> body) {
          done(body.and_then(
              [&](const std::string& text) { return read_token_review(text, audience); }));
        });
  }

  void review_access(const serving::User& user, const std::string& verb, const std::string& path,
                     AccessDone done) override {
    json spec = user_info(user);
    spec["nonResourceAttributes"] = {{"verb", verb}, {"path", path}};
    ask("/apis/authorization.k8s.io/v1/subjectaccessreviews",
        {{"apiVersion", "authorization.k8s.io/v1"},
         {"kind", "SubjectAccessReview"},
         {"spec", std::move(spec)}},
        [done = std::move(done)](Result<std::string> body) {
          done(body.and_then(read_access_review));
        });
  }

 private:
  void ask(const std::string& path, const json& question,
           std::function<void(Result<std::string>)> done) {
    informer::HttpRequest request;
    request.method = "POST";
    request.path = path;
    request.body = question.dump();
    request.timeout = kTimeout;
    const std::string what = "POST " + path;
    client_->submit(std::move(request),
                    {.on_open = {},
                     .on_data = {},
                     .on_done = [what, done = std::move(done)](Result<informer::HttpResponse> got) {
                       if (!got) return done(fail(got.error().within(what)));
                       if (got->ok()) return done(std::move(got->body));
                       Error error = informer::response_error(what, *got);
                       if (got->status == 403) {
                         error.message +=
                             "; bind ClusterRole system:auth-delegator to this scheduler's user, "
                             "or apply deploy/base/rbac.yaml";
                       }
                       done(fail(std::move(error)));
                     }});
  }

  std::unique_ptr<informer::HttpClient> client_;
};

}  // namespace

bool is_for_plimsoll(std::string_view token) {
  const std::size_t begin = token.find('.');
  const std::size_t end = begin == token.npos ? begin : token.find('.', begin + 1);
  if (end == token.npos) return false;
  std::string text(token.substr(begin + 1, end - begin - 1));  // base64url
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  const auto claims = informer::decode_base64(text);
  if (!claims) return false;
  const json parsed = json::parse(*claims, nullptr, false);
  const auto audience = parsed.is_object() ? parsed.find("aud") : parsed.end();
  if (!parsed.is_object() || audience == parsed.end()) return false;
  if (!audience->is_array()) return *audience == kTokenAudience;
  return std::ranges::find(*audience, json(kTokenAudience)) != audience->end();
}

Result<std::optional<serving::User>> read_token_review(const std::string& body,
                                                       const std::string& audience) {
  const auto status = status_of(body);
  if (!status) return fail(status.error());
  const Error strange{ErrorCode::kInvalid, "the API server's TokenReview cannot be read"};
  bool authenticated = false;
  if (!read_field(*status, "authenticated", authenticated)) return fail(strange);
  if (!authenticated) return std::optional<serving::User>();
  std::vector<std::string> audiences;
  if (!read_field(*status, "audiences", audiences)) return fail(strange);
  if (!audience.empty() && std::ranges::find(audiences, audience) == audiences.end()) {
    return std::optional<serving::User>();
  }
  serving::User user;
  json info = json::object();
  if (!read_field(*status, "user", info) || !info.is_object() ||
      !read_field(info, "username", user.name) || !read_field(info, "uid", user.uid) ||
      !read_field(info, "groups", user.groups) || !read_field(info, "extra", user.extra) ||
      user.name.empty()) {
    return fail(strange);
  }
  return user;
}

Result<bool> read_access_review(const std::string& body) {
  const auto status = status_of(body);
  if (!status) return fail(status.error());
  bool allowed = false;
  bool denied = false;
  if (!read_field(*status, "allowed", allowed) || !read_field(*status, "denied", denied)) {
    return fail(ErrorCode::kInvalid, "the API server's SubjectAccessReview cannot be read");
  }
  return allowed && !denied;
}

Result<std::unique_ptr<serving::Reviewer>> make_reviewer(const informer::ServerAccess& access,
                                                         metrics::Registry* registry) {
  informer::HttpClientOptions options;
  options.thread_name = "plimsoll-review";
  options.connect_timeout = kTimeout;
  options.max_body = kMostOfAnAnswer;
  if (registry != nullptr) options.on_exchange = request_metrics(*registry, access.server);
  auto client = informer::HttpClient::create(
      access, std::make_shared<informer::CredentialSource>(access), options);
  if (!client) return fail(client.error());
  return std::make_unique<ApiReviewer>(std::move(*client));
}

}  // namespace plimsoll::cli

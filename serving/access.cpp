#include "serving/access.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/base/quote.hpp"
#include "framework/base/utf8.hpp"

namespace plimsoll::serving {
namespace {

constexpr const char* kAuthenticated = "system:authenticated";
constexpr auto kWarnEvery = std::chrono::seconds(10);

// What is kept is found by a hash, so that no token lies in memory longer than its request.
std::string hash(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// Each part with its length, so that different users never make the same text.
void append(std::string& to, std::string_view part) {
  to += std::to_string(part.size()) + ':';
  to += part;
}

std::string text_of(const User& user) {
  std::string text;
  append(text, user.name);
  append(text, user.uid);
  append(text, std::to_string(user.groups.size()));
  for (const std::string& group : user.groups) append(text, group);
  for (const auto& [key, values] : user.extra) {
    append(text, key);
    append(text, std::to_string(values.size()));
    for (const std::string& value : values) append(text, value);
  }
  return text;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_character(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// Visible ASCII: what an Authorization header may hold (RFC 6750 allows even less).
bool is_token(std::string_view token) {
  return std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
}

Response unauthorized() {
  return {401, "Unauthorized\n"};
}

Response busy() {
  return {503, "too many requests are being checked; try again\n"};
}

// In the words of kube-apiserver.
Response forbidden(const User& user, const std::string& verb, const std::string& path) {
  return {403, "forbidden: User " + go_quoted(user.name) + " cannot " + verb + " path " +
                   go_quoted(path) + "\n"};
}

}  // namespace

struct AccessControl::Question {
  std::string verb;
  std::string path;
  std::string token;
  std::string token_hash;
  std::optional<User> user;
  std::string user_hash;  // with verb and path
  Reply done;
  bool has_turn = false;
  std::chrono::steady_clock::time_point since{};

  void belongs_to(User whose) {
    if (std::ranges::find(whose.groups, kAuthenticated) == whose.groups.end()) {
      whose.groups.emplace_back(kAuthenticated);
    }
    std::string text = text_of(whose);
    append(text, verb);
    append(text, path);
    user_hash = hash(text);
    user = std::move(whose);
  }
};

AccessControl::AccessControl(AccessOptions options, std::unique_ptr<Reviewer> reviewer,
                             ServingMetrics metrics)
    : options_(std::move(options)),
      metrics_(metrics),
      users_(options_.keep_answers, options_.most_answers, options_.most_bytes),
      verdicts_(options_.keep_answers, options_.most_answers, options_.most_bytes),
      reviewer_(std::move(reviewer)) {}

Result<std::unique_ptr<AccessControl>> AccessControl::create(AccessOptions options,
                                                             std::unique_ptr<Reviewer> reviewer,
                                                             ServingMetrics metrics) {
  std::erase(options.always_allow_paths, "");
  for (const std::string& path : options.always_allow_paths) {
    if (path.starts_with('/') && path.find('*') >= path.size() - 1) continue;
    return fail(ErrorCode::kInvalid, "--authorization-always-allow-paths: " + go_quoted(path) +
                                         " must begin with '/' and may have a '*' at its end only; "
                                         "\"\" alone is for no path");
  }
  return std::unique_ptr<AccessControl>(
      new AccessControl(std::move(options), std::move(reviewer), metrics));
}

AccessControl::~AccessControl() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  waiting_.clear();
}

bool AccessControl::is_always_allowed(std::string_view path) const {
  return std::ranges::any_of(options_.always_allow_paths, [&](std::string_view allowed) {
    if (!allowed.ends_with('*')) return path == allowed;
    return path.starts_with(allowed.substr(0, allowed.size() - 1));
  });
}

void AccessControl::check(const Request& request, Reply done) {
  if (is_always_allowed(request.path)) return done({});
  if (!is_utf8(request.path)) return done(ready({404, "404 page not found\n"}));
  auto question = std::make_shared<Question>();
  question->verb = request.verb;
  question->path = request.path;
  question->done = std::move(done);
  question->since = options_.clock();
  const auto& certificate = request.certificate_user;
  if (certificate && is_utf8(text_of(*certificate))) {
    question->belongs_to(*certificate);
  } else if (request.bearer_token.empty() || !is_token(request.bearer_token)) {
    return end(question, "unauthenticated", unauthorized());
  } else {
    question->token = request.bearer_token;
    question->token_hash = hash(question->token);
  }
  proceed(question);
}

template <typename Value>
std::optional<Value> AccessControl::kept(const ExpiringCache<Value>& answers,
                                         const std::string& key) {
  const std::lock_guard lock(mutex_);
  const Value* found = answers.find(key, options_.clock());
  return found == nullptr ? std::nullopt : std::optional<Value>(*found);
}

// Goes on as far as is known, and asks for what is not.
void AccessControl::proceed(const QuestionRef& question) {
  if (!question->user) {
    auto known = kept(users_, question->token_hash);
    return known ? identified(question, std::move(*known)) : ask_whose_token(question);
  }
  const std::optional<bool> allowed = kept(verdicts_, question->user_hash);
  return allowed ? decided(question, *allowed) : ask_may(question);
}

void AccessControl::identified(const QuestionRef& question, std::optional<User> user) {
  if (!user) return end(question, "unauthenticated", unauthorized());
  question->belongs_to(std::move(*user));
  proceed(question);
}

void AccessControl::decided(const QuestionRef& question, bool allowed) {
  if (allowed) return end(question, "allowed", std::nullopt);
  end(question, "forbidden", forbidden(*question->user, question->verb, question->path));
}

void AccessControl::ask_whose_token(const QuestionRef& question) {
  if (!has_turn(question)) return;
  reviewer_->review_token(question->token, [this, question](Result<std::optional<User>> answer) {
    if (!answer) {
      warn("a token could not be checked: its request is refused", answer.error());
      return end(question, "failed", unauthorized());
    }
    {
      const std::lock_guard lock(mutex_);
      const std::size_t bytes = *answer ? text_of(**answer).size() : 0;
      users_.put(question->token_hash, *answer, bytes, options_.clock());
    }
    identified(question, std::move(*answer));
  });
}

void AccessControl::ask_may(const QuestionRef& question) {
  if (!has_turn(question)) return;
  reviewer_->review_access(
      *question->user, question->verb, question->path, [this, question](Result<bool> answer) {
        if (!answer) {
          warn("what a user may do could not be checked: the request is refused", answer.error());
          return end(question, "failed", Response{500, "internal server error\n"});
        }
        {
          const std::lock_guard lock(mutex_);
          verdicts_.put(question->user_hash, *answer, 0, options_.clock());
        }
        decided(question, *answer);
      });
}

// False: it waits for its turn, or is refused.
bool AccessControl::has_turn(const QuestionRef& question) {
  if (question->has_turn) return true;
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return false;
    if (under_way_ < options_.most_under_way) {
      ++under_way_;
      return question->has_turn = true;
    }
    if (waiting_.size() < options_.most_waiting) {
      waiting_.push_back(question);
      return false;
    }
  }
  end(question, "busy", busy());
  return false;
}

void AccessControl::end(const QuestionRef& question, std::string_view result,
                        std::optional<Response> refusal) {
  metrics_.access.with({result}).add();
  if (refusal) {
    log_debug("a request was refused", {{"path", question->path},
                                        {"user", question->user ? question->user->name : ""},
                                        {"because", result}});
  }
  question->done(refusal ? ready(std::move(*refusal)) : nullptr);
  if (std::exchange(question->has_turn, false)) give_turn();
}

// The turn of one that has ended goes to the next, or back.
void AccessControl::give_turn() {
  std::vector<QuestionRef> late;
  QuestionRef next;
  {
    const std::lock_guard lock(mutex_);
    const auto oldest = options_.clock() - options_.longest_wait;
    while (!waiting_.empty() && waiting_.front()->since < oldest) {
      late.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    if (waiting_.empty()) {
      --under_way_;
    } else {
      next = std::move(waiting_.front());
      waiting_.pop_front();
      next->has_turn = true;
    }
  }
  for (const QuestionRef& question : late) end(question, "busy", busy());
  if (next) proceed(next);
}

void AccessControl::warn(std::string_view what, const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (ending_ || now - warned_ < kWarnEvery) return;
    warned_ = now;
  }
  log_warn(what, {{"error", error.message}});
}

}  // namespace plimsoll::serving

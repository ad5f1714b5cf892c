#include "cli/ask/asking.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/ask/port_forward.hpp"
#include "framework/base/quote.hpp"
#include "informer/http/credentials.hpp"
#include "informer/http/http_client.hpp"
#include "serving/socket_place.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;

Result<std::unique_ptr<informer::HttpClient>> client_of(const informer::ServerAccess& access) {
  return informer::HttpClient::create(access, std::make_shared<informer::CredentialSource>(access),
                                      {});
}

Result<json> call_api(informer::HttpClient& client, informer::HttpRequest request,
                      const std::string& what) {
  const auto answer = informer::call(client, std::move(request));
  if (!answer) return fail(answer.error().within(what));
  if (!answer->ok()) return fail(informer::response_error(what, *answer));
  json body = json::parse(answer->body, nullptr, false);
  if (!body.is_object()) return fail(ErrorCode::kInvalid, what + ": the answer is no object");
  return body;
}

// TokenRequest (authentication.k8s.io/v1).
Result<std::string> token_of(informer::HttpClient& client, const std::string& account) {
  const std::size_t slash = account.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == account.size()) {
    return fail(ErrorCode::kInvalid,
                "--service-account wants NAMESPACE/NAME, not \"" + account + "\"");
  }
  informer::HttpRequest request;
  request.method = "POST";
  request.path = "/api/v1/namespaces/" + informer::url_encode(account.substr(0, slash)) +
                 "/serviceaccounts/" + informer::url_encode(account.substr(slash + 1)) + "/token";
  request.body = json{{"apiVersion", "authentication.k8s.io/v1"},
                      {"kind", "TokenRequest"},
                      {"spec", {{"audiences", {kTokenAudience}}, {"expirationSeconds", 600}}}}
                     .dump();
  const auto answer =
      call_api(client, std::move(request), "asking for a token of service account " + account);
  if (!answer) {
    Error error = answer.error();
    error.message +=
        "; it takes the account (deploy/base/rbac.yaml has it, --service-account names another), "
        "and the right to create serviceaccounts/token of it";
    return fail(std::move(error));
  }
  const json status = answer->value("status", json::object());
  const std::string token = status.is_object() ? status.value("token", "") : "";
  if (token.empty()) return fail(ErrorCode::kInvalid, "the API server sent no token");
  return token;
}

// The leader's pod, by its lease; where that cannot be read, whatever the Service leads to.
std::string target_of(informer::HttpClient& client, const RemoteArguments& arguments) {
  if (!arguments.pod.empty()) return "pod/" + arguments.pod;
  informer::HttpRequest request;
  request.path = "/apis/coordination.k8s.io/v1/namespaces/" +
                 informer::url_encode(arguments.scheduler_namespace) + "/leases/" +
                 informer::url_encode(arguments.lease);
  const std::string what =
      "reading the lease " + arguments.scheduler_namespace + "/" + arguments.lease;
  const auto lease = call_api(client, std::move(request), what);
  const json spec = lease ? lease->value("spec", json::object()) : json::object();
  const std::string holder = spec.is_object() ? spec.value("holderIdentity", "") : "";
  // As client-go has it: the host's name, which is the pod's, and a UUID.
  const std::size_t end = holder.rfind('_');
  if (end != std::string::npos && end > 0) return "pod/" + holder.substr(0, end);
  std::cerr << "note: "
            << (lease ? "nobody holds the lease " + arguments.scheduler_namespace + "/" +
                            arguments.lease
                      : lease.error().message)
            << "; asking any replica\n";
  return "service/" + arguments.lease;
}

constexpr const char* kNotBelieved =
    "; the scheduler does not believe the token: it must be of the scheduler's cluster, and the "
    "scheduler as new as this program";

Result<std::string> put(informer::HttpClient& client, const informer::HttpRequest& question) {
  auto answer = informer::call(client, question);
  if (!answer) return fail(answer.error());
  if (answer->ok()) return std::move(answer->body);
  std::string said = without_last_newlines(answer->body);
  if (answer->status == 401) said += kNotBelieved;
  const ErrorCode code = answer->status == 404   ? ErrorCode::kNotFound
                         : answer->status == 400 ? ErrorCode::kInvalid
                                                 : ErrorCode::kUnavailable;
  return fail(code, said.empty()
                        ? "the scheduler answered with status " + std::to_string(answer->status)
                        : said);
}

}  // namespace

Ask ask_on_socket(const std::string& socket) {
  informer::ServerAccess access;
  access.server = "http://localhost";
  access.peer = "the scheduler";
  access.source = "--socket";
  access.unix_socket = socket.empty() ? serving::default_socket_path() : socket;
  return [access](const informer::HttpRequest& question) -> Result<std::string> {
    const auto client = client_of(access);
    if (!client) return fail(client.error());
    return put(**client, question);
  };
}

struct RemoteScheduler::Impl {
  std::string default_namespace;
  std::unique_ptr<PortForward> forward;
  std::unique_ptr<informer::HttpClient> client;
};

RemoteScheduler::RemoteScheduler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RemoteScheduler::~RemoteScheduler() {
  if (impl_->client) impl_->client->stop();
}

const std::string& RemoteScheduler::default_namespace() const {
  return impl_->default_namespace;
}

Result<std::unique_ptr<RemoteScheduler>> RemoteScheduler::reach(const RemoteArguments& arguments) {
  const bool forwards = arguments.server.empty();
  if (!forwards && !arguments.pod.empty()) {
    return fail(ErrorCode::kInvalid, "--pod and --server exclude each other");
  }
  if (!forwards && !arguments.server.starts_with("https://")) {
    return fail(ErrorCode::kInvalid, "--server wants https://HOST:PORT, not \"" + arguments.server +
                                         "\": questions are answered over TLS only");
  }
  if (forwards &&
      (!arguments.certificate_authority.empty() || arguments.insecure_skip_tls_verify)) {
    return fail(ErrorCode::kInvalid,
                "--certificate-authority and --insecure-skip-tls-verify belong to --server");
  }
  informer::KubeconfigOptions kubeconfig;
  kubeconfig.path = arguments.kubeconfig;
  kubeconfig.context = arguments.context;
  const auto api = informer::load_server_access(kubeconfig);
  if (!api) return fail(api.error());
  auto impl = std::make_unique<Impl>();
  impl->default_namespace = api->default_namespace;
  std::string server = arguments.server;
  std::string token = arguments.token;
  if (forwards || token.empty()) {
    const auto client = client_of(*api);
    if (!client) return fail(client.error());
    if (token.empty()) {
      auto given = token_of(**client, arguments.service_account);
      if (!given) return fail(given.error());
      token = std::move(*given);
    }
    if (forwards) {
      std::vector<std::string> flags;
      if (!arguments.kubeconfig.empty())
        flags.insert(flags.end(), {"--kubeconfig", arguments.kubeconfig});
      if (!arguments.context.empty()) flags.insert(flags.end(), {"--context", arguments.context});
      auto forward = PortForward::start(arguments.scheduler_namespace,
                                        target_of(**client, arguments), arguments.port, flags);
      if (!forward) return fail(forward.error());
      impl->forward = std::move(*forward);
      server = "https://127.0.0.1:" + std::to_string(impl->forward->port());
    }
    (*client)->stop();
  }
  if (auto sound = informer::check_header_text(token, "the token"); !sound)
    return fail(sound.error());
  informer::ServerAccess access;
  access.server = server;
  access.peer = "the scheduler";
  access.source = "--server, --certificate-authority";
  access.token = token;
  // The API server and the kubelet vouch for the pod behind the forwarded port; its certificate is
  // for other names.
  access.insecure_skip_tls_verify = forwards || arguments.insecure_skip_tls_verify;
  if (!arguments.certificate_authority.empty()) {
    auto pem = informer::read_file(arguments.certificate_authority, "--certificate-authority");
    if (!pem) return fail(pem.error());
    access.certificate_authority_pem = std::move(*pem);
  }
  auto client = client_of(access);
  if (!client) return fail(client.error());
  impl->client = std::move(*client);
  return std::unique_ptr<RemoteScheduler>(new RemoteScheduler(std::move(impl)));
}

Result<std::string> RemoteScheduler::ask(const informer::HttpRequest& question) {
  return put(*impl_->client, question);
}

}  // namespace plimsoll::cli

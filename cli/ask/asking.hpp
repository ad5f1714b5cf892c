#pragma once
// How a running scheduler is asked: on its local socket, or over HTTP from wherever the API server
// can be reached (`kubectl plimsoll`).

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "informer/http/http_client.hpp"
#include "informer/http/kubeconfig.hpp"

namespace plimsoll::cli {

// The audience of tokens that are for a scheduler: whoever gets hold of one cannot use it on the
// API server. `kubectl plimsoll` asks for such tokens; those of the API server's own audience are
// believed too, since Prometheus has no other.
inline constexpr const char* kTokenAudience = "plimsoll";

// A comparison lists the cluster twice.
inline constexpr std::chrono::minutes kLongestComparison{15};

// Sends a question (Inspection has them) and returns the answer's body. Any other status than 200
// is an error. Blocks.
using Ask = std::function<Result<std::string>(const informer::HttpRequest& question)>;

// GET /debug/QUESTION, with these parameters.
struct Parameter {
  std::string name;
  std::string value;
};
[[nodiscard]] informer::HttpRequest question(const std::string& about,
                                             const std::vector<Parameter>& parameters = {});

// `socket`: empty: the default path (serving/socket_place.hpp).
[[nodiscard]] Ask ask_on_socket(const std::string& socket);

// What `kubectl plimsoll` is told about the way.
struct RemoteArguments {
  std::string kubeconfig;
  std::string context;
  std::string server;  // https://HOST:PORT; empty: `kubectl port-forward` to the leader's pod
  std::string certificate_authority;      // file (PEM) with which to check the server; with server
  bool insecure_skip_tls_verify = false;  // with server
  std::string token;            // empty: one of service_account, for kTokenAudience, is asked for
  std::string service_account;  // NAMESPACE/NAME
  std::string scheduler_namespace = "kube-system";
  std::string lease = "plimsoll";
  std::string pod;  // asked instead of the leader's
  unsigned port = 10259;
};

// A way to a scheduler's HTTP server. The kubeconfig's own credential goes to the API server only:
// the scheduler is sent a token that is good for nothing else.
class RemoteScheduler {
 public:
  // Reads the kubeconfig; asks for a token, and begins to forward a port, unless they are given.
  // Blocks until then.
  [[nodiscard]] static Result<std::unique_ptr<RemoteScheduler>> reach(
      const RemoteArguments& arguments);
  ~RemoteScheduler();
  RemoteScheduler(const RemoteScheduler&) = delete;
  RemoteScheduler& operator=(const RemoteScheduler&) = delete;

  [[nodiscard]] const std::string& default_namespace() const;
  [[nodiscard]] Result<std::string> ask(const informer::HttpRequest& question);

 private:
  struct Impl;
  explicit RemoteScheduler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::cli

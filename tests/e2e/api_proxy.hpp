#pragma once
// Between a scheduler and the API server: plain HTTP/1.1 in, verified TLS out. Everything is passed
// on as it comes, but for the requests that a test holds: before they reach the API server, or
// their answers before they reach the scheduler; or a watch, of which nothing arrives any more.
//
// Owner: the test. All functions may be called from its main thread at any time.

#include <chrono>
#include <memory>
#include <string>

#include "tests/kube/kube_client.hpp"

namespace plimsoll::test {

class ApiProxy {
 public:
  // Listens on a port of 127.0.0.1. What it passes on it does with `upstream`'s token, which a
  // client does not send without TLS; if that has none, with what the client sends.
  [[nodiscard]] static Result<std::unique_ptr<ApiProxy>> start(const KubeAccess& upstream);
  ~ApiProxy();
  ApiProxy(const ApiProxy&) = delete;
  ApiProxy& operator=(const ApiProxy&) = delete;

  [[nodiscard]] std::string server() const;  // "http://127.0.0.1:port"

  enum class What { kRequest, kAnswer };
  // From now on: requests of this method whose path contains the text. `what` is held until
  // pass_on() or the proxy's end. Of answers, those of success: a Binding refused for the pod's old
  // version (409) is sent again by itself, and only the next answer says that it is carried out.
  void hold(What what, const std::string& method, const std::string& path_part);
  // Whether one is held: a request that has arrived here, or an answer that the API server has
  // given.
  [[nodiscard]] bool wait_held(std::chrono::milliseconds timeout);
  // Sends held requests to the API server, whether or not their client still lives, and waits for
  // its answers. False: none was held, or there was no answer within the timeout.
  [[nodiscard]] bool pass_on(std::chrono::milliseconds timeout);
  // Of watches (GET with watch in the query) whose path contains the text nothing is passed on any
  // more.
  void hold_watches(const std::string& path_part);
  // As an API server that does not serve this kind yet: requests whose path contains the text are
  // answered 503, and watches of it that are open are cut. Empty: it serves all again.
  void refuse(const std::string& path_part);

 private:
  struct Impl;
  explicit ApiProxy(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::test

#pragma once
// The embedded API server: HTTP/1.1 on 127.0.0.1 over an ObjectStore.
//
// `plimsoll simulate` and the quick start use it: the informer, the binder and kubectl talk to it
// as to a real one. It owns a few I/O threads. All functions may be called from any thread; only
// stop() blocks. The store must outlive the server. Several servers may serve one store in turn:
// stopping one and starting the next on the same port acts as an API server restart.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "lab/sandbox/apiserver/api_handler.hpp"
#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::sandbox {

struct ServerOptions {
  std::uint16_t port = 0;  // 0: chosen by the system
  unsigned threads = 2;
  std::string bearer_token = {};  // not empty: requests without it get 401
  std::chrono::milliseconds bookmark_interval{60'000};
  HandlerOptions handler = {};
};

// Makes matching requests fail, for tests of clients.
struct Fault {
  enum class Kind {
    kDropBefore,  // the connection closes, nothing was done
    kDropAfter,   // the request is carried out, then the connection closes without an answer
    kDelay,       // the request is carried out after `delay`
    kError,       // answered with `status`, nothing was done
  };
  Kind kind = Kind::kError;
  std::string verb = {};      // "create", "watch", ...; "" matches all
  std::string resource = {};  // "pods/binding", "nodes", ...; "" matches all
  int count = 1;              // how many requests it hits
  ApiStatus status{500, "InternalError", "injected by a fault rule"};
  std::chrono::milliseconds delay{0};
  double share = 1;        // of the matching requests; which of them, `seed` says
  std::uint64_t seed = 0;  // of the last rule
};

// The numbers of requests and of successful ones (2xx).
struct RequestCount {
  std::string verb;
  std::string resource;  // with the subresource: "pods/binding"
  std::uint64_t requests = 0;
  std::uint64_t succeeded = 0;
};

// One answered request, for the log hook.
struct RequestRecord {
  std::string method;
  std::string target;
  std::string verb;
  std::string resource;
  std::string body;
  int code = 0;  // 0: the connection was dropped by a fault
};

class ApiServer {
 public:
  // Listens before it returns. Fails with kUnavailable if the port is taken.
  [[nodiscard]] static Result<std::unique_ptr<ApiServer>> start(ObjectStore& store,
                                                                ServerOptions options = {});
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Closes every connection and joins the threads. A second call does nothing.
  void stop();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url() const;  // "http://127.0.0.1:PORT"

  // Closes every open connection, including watches; new ones are accepted.
  void disconnect_clients();
  [[nodiscard]] std::size_t open_watches() const;

  void inject(Fault fault);
  void clear_faults();

  // By verb and resource, sorted. Writes are create, update, patch, delete and deletecollection.
  [[nodiscard]] std::vector<RequestCount> request_counts() const;
  // Successful writes to a resource ("" for all of them), e.g. writes("pods/binding").
  [[nodiscard]] std::uint64_t writes(const std::string& resource = {}) const;
  void reset_counts();

  // Called on an I/O thread for every request when it is answered. Set it before clients connect.
  void set_request_hook(std::function<void(const RequestRecord&)> hook);

 private:
  struct Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::sandbox

#pragma once
// A small HTTP/1.1 server for operators' requests: metrics, health, configuration, log level.
//
// One thread serves everything. Handlers run on that thread, so they must not block. Clients cannot
// block it: receiving a request and sending its answer have timeouts, and the sizes of headers and
// bodies and the number of connections are limited. Whoever has sent something is served, peers in
// turn (entrance.hpp). At the limit, a new connection replaces one of the peer that has the most:
// the one that has sent no complete request for the longest time, or waits for the gate, or else
// the one that takes the longest time to take its answer. So a probe gets through. Plain HTTP, or
// TLS (tls.hpp).

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/result.hpp"
#include "serving/serving_metrics.hpp"
#include "serving/tls_options.hpp"

namespace plimsoll::serving {

// A user as Kubernetes knows users (UserInfo of authentication.k8s.io/v1).
struct User {
  std::string name = {};
  std::string uid = {};
  std::vector<std::string> groups = {};
  std::map<std::string, std::vector<std::string>> extra = {};
};

struct Request {
  std::string method;
  std::string path;   // decoded, without the query
  std::string query;  // as sent, without the '?'
  std::string body;
  std::string verb = {};          // the method as sent, in small letters: "get", "head"
  std::string bearer_token = {};  // empty: none
  // Of a client certificate that --client-ca-file vouches for.
  std::optional<User> certificate_user = {};
  std::string host = {};  // the header, as sent

  // The values of a parameter, decoded; one empty text for "?verbose".
  [[nodiscard]] std::vector<std::string> parameters(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return !parameters(name).empty(); }
};

struct Response {
  int status = 200;
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";
};

using Handler = std::function<Response(const Request&)>;

// Decides before the handler is called: who may ask for what, and what somebody else answers.
// `done` is called once, on any thread: nothing lets the request in; otherwise what `instead`
// returns is the answer, and it is called on the server's thread. `done` may outlive the server.
// The request is only there during the call. Called on the server's thread; must not block.
using Verdict = std::function<void(std::function<Response()> instead)>;
using Gate = std::function<void(const Request&, Verdict done)>;

// An answer that is there already.
[[nodiscard]] inline std::function<Response()> ready(Response response) {
  return [response = std::move(response)] { return response; };
}

struct ServerOptions {
  std::string address = "127.0.0.1";   // an IP address; "0.0.0.0" and "::": all
  std::uint16_t port = 0;              // 0: any free port
  std::optional<TlsOptions> tls = {};  // unset: plain HTTP
  Gate gate = {};                      // empty: everybody may ask for everything
  ServingMetrics metrics = {};
  std::chrono::milliseconds header_timeout{5'000};  // until a header is complete, or the next one's
  std::chrono::milliseconds read_timeout{10'000};   // for its body
  std::chrono::milliseconds write_timeout{30'000};  // for an answer
  std::size_t max_connections = 128;                // that are served at a time
  std::size_t max_waiting = 0;  // further ones, that have sent nothing yet; 0: a quarter of the
                                // files that the process may open, 4,096 at most
  std::size_t max_header = 16 * 1024;
  std::size_t max_body = 16 * 1024;
};

// Whether only this machine can reach the address: 127.0.0.0/8 or ::1. What is no IP address is
// not.
[[nodiscard]] bool is_loopback(const std::string& address);

class HttpServer {
 public:
  // Listens and starts the thread. The error says how to fix an address that is in use or not
  // local, or a certificate that cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(ServerOptions options,
                                                                 Handler handler);
  ~HttpServer();  // calls stop()
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Closes every connection and joins the thread; neither gate nor handler runs afterwards. Must
  // not be called by either.
  void stop();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url() const;  // "http://127.0.0.1:10251"

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::serving

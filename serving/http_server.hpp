#pragma once
// A small HTTP/1.1 server for operators' requests: metrics, health, configuration, log level.
//
// One thread serves everything. Handlers run on that thread, so they must not block. Clients cannot
// block it: receiving a request and sending its answer have timeouts, and the sizes of headers and
// bodies and the number of connections are limited. Whoever has sent something is served, peers in
// turn (entrance.hpp). At the limit, a new connection replaces one of the peer that has the most:
// the one that has sent no complete request for the longest time, or waits for the gate, or else
// the one that takes the longest time to take its answer. So a probe gets through. Plain HTTP, TLS
// (tls.hpp), or HTTP on a local (unix) socket.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "framework/base/result.hpp"
#include "serving/limits/serving_metrics.hpp"
#include "serving/request.hpp"
#include "serving/tls_options.hpp"

namespace plimsoll::serving {

struct ServerOptions {
  std::string address = "127.0.0.1";   // an IP address; "0.0.0.0" and "::": all
  std::uint16_t port = 0;              // 0: any free port
  std::optional<TlsOptions> tls = {};  // unset: plain HTTP
  // The path of a socket to listen on instead (socket_place.hpp). Every user of the machine who
  // gets there is answered unless the gate says otherwise (local_names.hpp).
  std::string local_socket = {};
  Gate gate = {};  // empty: everybody may ask for everything
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
  // local, or a certificate that cannot be used. kConflict: somebody listens on the local socket.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(ServerOptions options,
                                                                 LateHandler handler);
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(ServerOptions options,
                                                                 Handler handler);
  ~HttpServer();  // calls stop()
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Closes every connection and joins the thread; neither gate nor handler runs afterwards. Must
  // not be called by either.
  void stop();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url()
      const;  // "http://127.0.0.1:10251", or the path of the local socket

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::serving

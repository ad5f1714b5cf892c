#pragma once
// A small HTTP/1.1 server for operators' requests: metrics, health, configuration, log level.
//
// One thread serves everything. Handlers run on that thread, so they must not block. Clients cannot
// block it: receiving a request and sending its answer have timeouts, and the sizes of headers and
// bodies and the number of connections are limited. At the limit, a new connection replaces the one
// that has sent no complete request for the longest time, so that a probe gets through. Plain HTTP,
// or TLS if a certificate is given.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::serving {

struct Request {
  std::string method;
  std::string path;   // decoded, without the query
  std::string query;  // as sent, without the '?'
  std::string body;

  // The values of a parameter, decoded; one empty text for "?verbose".
  [[nodiscard]] std::vector<std::string> parameters(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return !parameters(name).empty(); }
};

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

using Handler = std::function<Response(const Request&)>;

struct ServerOptions {
  std::string address = "127.0.0.1";  // an IP address; "0.0.0.0" and "::": all
  std::uint16_t port = 0;             // 0: any free port
  std::string tls_cert_file;          // PEM, the server's first; both empty: plain HTTP
  std::string tls_private_key_file;
  std::chrono::milliseconds header_timeout{5'000};  // until a header is complete, or the next one's
  std::chrono::milliseconds read_timeout{10'000};   // for its body
  std::chrono::milliseconds write_timeout{30'000};  // for an answer
  std::size_t max_connections = 64;                 // the longest waiting one is replaced
  std::size_t max_header = 16 * 1024;
  std::size_t max_body = 16 * 1024;
};

class HttpServer {
 public:
  // Listens and starts the thread. The error says how to fix an address that is in use or not
  // local, or a certificate that cannot be read.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(ServerOptions options,
                                                                 Handler handler);
  ~HttpServer();  // calls stop()
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Closes every connection and joins the thread; no handler runs afterwards. Must not be called by
  // a handler.
  void stop();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url() const;  // "http://127.0.0.1:10251"

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::serving

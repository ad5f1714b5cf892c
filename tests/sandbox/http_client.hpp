#pragma once
// A raw, blocking HTTP/1.1 client for the sandbox's tests: one connection, no retries, nothing
// hidden.

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace plimsoll::sandbox::test {

struct HttpAnswer {
  int code = 0;  // 0: the connection broke
  std::string body;
  std::string retry_after;
  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(body); }
};

class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port);
  ~HttpClient();

  HttpAnswer request(const std::string& method, const std::string& target,
                     const std::string& body = {},
                     const std::string& content_type = "application/json",
                     const std::string& token = {});
  HttpAnswer get(const std::string& target) { return request("GET", target); }
  HttpAnswer post(const std::string& target, const nlohmann::json& body) {
    return request("POST", target, body.dump());
  }
  HttpAnswer put(const std::string& target, const nlohmann::json& body) {
    return request("PUT", target, body.dump());
  }
  HttpAnswer merge_patch(const std::string& target, const nlohmann::json& body) {
    return request("PATCH", target, body.dump(), "application/merge-patch+json");
  }
  HttpAnswer strategic_patch(const std::string& target, const nlohmann::json& body) {
    return request("PATCH", target, body.dump(), "application/strategic-merge-patch+json");
  }
  HttpAnswer del(const std::string& target, const std::string& body = {}) {
    return request("DELETE", target, body);
  }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One open watch on a connection of its own.
class WatchClient {
 public:
  WatchClient(std::uint16_t port, const std::string& target);
  ~WatchClient();

  // The HTTP status; with other than 200 the body is in `failure`.
  [[nodiscard]] int code() const;
  [[nodiscard]] std::string failure() const;
  // The next event; nothing when the stream has ended or nothing came in time.
  std::optional<nlohmann::json> next(int timeout_ms = 5000);
  // The stream was ended by the server in good order (the last chunk came).
  [[nodiscard]] bool ended() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::sandbox::test

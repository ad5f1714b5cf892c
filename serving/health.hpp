#pragma once
// /healthz, /livez and /readyz as Kubernetes components answer them.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serving/http_server.hpp"

namespace plimsoll::serving {

// One thing to look at. Called on the server's thread; must not block.
struct HealthCheck {
  std::string name;
  std::function<std::optional<std::string>()> check;  // what is wrong, or nothing
};

// "ping": always in order, so that the process answers at all.
[[nodiscard]] HealthCheck ping();

// A group of checks under one name: "healthz", "livez", "readyz".
class HealthEndpoint {
 public:
  HealthEndpoint(std::string name, std::vector<HealthCheck> checks)
      : name_(std::move(name)), checks_(std::move(checks)) {}

  // `/NAME`: "ok", or 500 and the list of checks; with ?verbose always the list; ?exclude=CHECK
  // leaves one out. Why a check failed is only in the log and under `/NAME/CHECK`.
  // Nothing if the path is neither of the two.
  [[nodiscard]] std::optional<Response> answer(const Request& request) const;

 private:
  [[nodiscard]] Response all(const Request& request) const;

  std::string name_;
  std::vector<HealthCheck> checks_;
};

}  // namespace plimsoll::serving

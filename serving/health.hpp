#pragma once
// /healthz, /livez and /readyz with the answers of Kubernetes components.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serving/http_server.hpp"

namespace plimsoll::serving {

// One check. Called on the server's thread; must not block.
struct HealthCheck {
  std::string name;
  std::function<std::optional<std::string>()> check;  // what is wrong, or nothing
};

// "ping": always passes; it shows that the process answers.
[[nodiscard]] HealthCheck ping();

// A group of checks under one name: "healthz", "livez", "readyz".
class HealthEndpoint {
 public:
  HealthEndpoint(std::string name, std::vector<HealthCheck> checks)
      : name_(std::move(name)), checks_(std::move(checks)) {}

  // Answers `/NAME`: "ok", or 500 and the list of checks; with ?verbose always the list;
  // ?exclude=CHECK leaves one out. The reason of a failure is only in the log and under
  // `/NAME/CHECK`. Returns nothing for any other path.
  [[nodiscard]] std::optional<Response> answer(const Request& request) const;

 private:
  [[nodiscard]] Response all(const Request& request) const;

  std::string name_;
  std::vector<HealthCheck> checks_;
};

}  // namespace plimsoll::serving

#pragma once
// The HTTP endpoints, as in kube-scheduler:
//
//   /metrics                  the registry's text
//   /healthz /livez /readyz   and /NAME/CHECK, ?verbose, ?exclude=CHECK
//   /configz                  the effective configuration, as JSON
//   /debug/flags/v            GET: the log level; PUT: sets it ("debug", ..., or a klog verbosity)
//   /                         the list of these
//
// An endpoint without content is left out.

#include <functional>
#include <string>
#include <vector>

#include "framework/metrics/registry.hpp"
#include "serving/health.hpp"
#include "serving/http_server.hpp"

namespace plimsoll::serving {

struct Endpoints {
  const metrics::Registry* registry = nullptr;
  std::vector<HealthCheck> healthz;  // ping comes first in each of the three
  std::vector<HealthCheck> livez;
  std::vector<HealthCheck> readyz;
  std::string configz;                           // JSON; empty: none
  bool change_level = false;                     // whether /debug/flags/v is served
  std::vector<std::string> question_paths = {};  // what `questions` answers
  LateHandler questions = {};
};

// The handler of all endpoints. The data that `endpoints` points to must outlive it.
[[nodiscard]] LateHandler make_handler(Endpoints endpoints);

}  // namespace plimsoll::serving

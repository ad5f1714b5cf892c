#pragma once
// process_*: what the kernel says about this process, under the names that all Prometheus clients
// use.

#include "framework/metrics/registry.hpp"

namespace plimsoll::metrics {

// Registers them; they are brought up to date before each text() until the token is gone.
[[nodiscard]] Registry::Collector add_process_metrics(Registry& registry);

}  // namespace plimsoll::metrics

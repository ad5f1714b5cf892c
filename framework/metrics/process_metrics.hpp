#pragma once
// process_*: the kernel's figures about this process, under the names that all Prometheus clients
// use.

#include "framework/metrics/registry.hpp"

namespace plimsoll::metrics {

// Registers the metrics. They are updated before each text() until the token is destroyed.
[[nodiscard]] Registry::Collector add_process_metrics(Registry& registry);

}  // namespace plimsoll::metrics

#pragma once
// One call of a plugin's function: what stands before and after each of them.

#include <utility>

#include "framework/metrics/scheduler_metrics.hpp"
#include "framework/runtime/plugin_instance.hpp"

namespace plimsoll {

// What a call is measured as. `metrics`: null: nothing is measured; `sampled`: this call is one of
// those that are.
struct PluginCall {
  metrics::ProfileMetrics* metrics;
  bool sampled;
  PluginIndex plugin;
  metrics::Point point;
};

// Returns the plugin's code. An error text of an earlier call is forgotten before.
template <typename Slot, typename... Args>
[[nodiscard]] int32_t call_plugin(const PluginCall& call, Slot slot, Args&&... args) {
  forget_plugin_error();
  const metrics::PluginTimer timer(call.metrics, call.sampled, call.plugin, call.point);
  const int32_t code = slot(std::forward<Args>(args)...);
  timer.end(code);
  return code;
}

}  // namespace plimsoll

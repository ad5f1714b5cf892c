#pragma once
// One call of a plugin's function: what stands before and after each of them.

#include <type_traits>

#include "framework/metrics/scheduler_metrics.hpp"
#include "framework/runtime/plugin/plugin_instance.hpp"
#include "framework/runtime/plugin/running_call.hpp"

namespace plimsoll {

// What a call is measured as. `metrics`: null: nothing is measured; `sampled`: this call is one of
// those that are.
struct PluginCall {
  metrics::ProfileMetrics* metrics;
  bool sampled;
  PluginIndex plugin;
  metrics::Point point;
};

// The first pod among the arguments of a call is the one that it is about.
[[nodiscard]] inline const plimsoll_pod* pod_of_call() {
  return nullptr;
}
template <typename First, typename... Others>
[[nodiscard]] const plimsoll_pod* pod_of_call(const First& first, const Others&... others) {
  if constexpr (std::is_convertible_v<First, const plimsoll_pod*>) {
    return first;
  } else {
    return pod_of_call(others...);
  }
}

// Calls a function of the plugin's table, which must be there. `name`: a literal, for whoever has
// to say what the plugin was doing. `Running`: LooseCall where the loop does not wait for it.
template <typename Running = RunningCall, typename Slot, typename... Args>
auto call_slot(const PluginInstance& plugin, const char* name, Slot slot, const Args&... args) {
  const Running running(plugin.running(), name, pod_of_call(args...));
  return slot(plugin.self(), args...);
}

// Returns the plugin's code. An error text of an earlier call is forgotten before.
template <typename Slot, typename... Args>
[[nodiscard]] int32_t call_plugin(const PluginCall& call, const PluginInstance& plugin, Slot slot,
                                  const Args&... args) {
  forget_plugin_error();
  const metrics::PluginTimer timer(call.metrics, call.sampled, call.plugin, call.point);
  const int32_t code = call_slot(plugin, metrics::name(call.point), slot, args...);
  timer.end(code);
  return code;
}

}  // namespace plimsoll

#pragma once
// The builtin plugins; each function is in the file named after the plugin.

#include <plimsoll/plugin.hpp>

#include "framework/runtime/plugin/modules.hpp"

namespace plimsoll::builtin {

// What a file's note would say of the class, and its kDefaultArgs, if it has any. They have the
// version of the program.
template <typename Class>
[[nodiscard]] StaticModule linked_in() {
  StaticModule module{Class::kName, PLIMSOLL_SDK_VERSION, sdk::create_fn<Class>,
                      sdk::capabilities<Class>};
  if constexpr (requires { Class::kDefaultArgs; }) module.default_args = Class::kDefaultArgs;
  return module;
}

[[nodiscard]] StaticModule coscheduling();
[[nodiscard]] StaticModule default_binder();
[[nodiscard]] StaticModule default_preemption();
[[nodiscard]] StaticModule dynamic_resources();
[[nodiscard]] StaticModule gang_scheduling();
[[nodiscard]] StaticModule image_locality();
[[nodiscard]] StaticModule inter_pod_affinity();
[[nodiscard]] StaticModule node_affinity();
[[nodiscard]] StaticModule node_declared_features();
[[nodiscard]] StaticModule node_name();
[[nodiscard]] StaticModule node_ports();
[[nodiscard]] StaticModule node_resources_balanced_allocation();
[[nodiscard]] StaticModule node_resources_fit();
[[nodiscard]] StaticModule node_unschedulable();
[[nodiscard]] StaticModule node_volume_limits();
[[nodiscard]] StaticModule pod_topology_spread();
[[nodiscard]] StaticModule priority_sort();
[[nodiscard]] StaticModule scheduling_gates();
[[nodiscard]] StaticModule taint_toleration();
[[nodiscard]] StaticModule unsupported_features();
[[nodiscard]] StaticModule volume_binding();
[[nodiscard]] StaticModule volume_restrictions();
[[nodiscard]] StaticModule volume_zone();

}  // namespace plimsoll::builtin

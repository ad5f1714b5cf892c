#pragma once
// How each builtin plugin is made; each function is in the file named after the plugin.

#include <plimsoll/plugin_abi.h>

namespace plimsoll::builtin {

[[nodiscard]] plimsoll_plugin_create_fn default_binder();
[[nodiscard]] plimsoll_plugin_create_fn default_preemption();
[[nodiscard]] plimsoll_plugin_create_fn node_affinity();
[[nodiscard]] plimsoll_plugin_create_fn node_name();
[[nodiscard]] plimsoll_plugin_create_fn node_ports();
[[nodiscard]] plimsoll_plugin_create_fn node_resources_balanced_allocation();
[[nodiscard]] plimsoll_plugin_create_fn node_resources_fit();
[[nodiscard]] plimsoll_plugin_create_fn node_unschedulable();
[[nodiscard]] plimsoll_plugin_create_fn priority_sort();
[[nodiscard]] plimsoll_plugin_create_fn scheduling_gates();
[[nodiscard]] plimsoll_plugin_create_fn taint_toleration();
[[nodiscard]] plimsoll_plugin_create_fn unsupported_features();

}  // namespace plimsoll::builtin

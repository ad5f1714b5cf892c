#pragma once
// mergePlugins: merges the default profile with a set of a profile file.
//
// Disabled defaults (by name or "*") are removed. A default that is enabled again is replaced at
// its position; the other custom plugins follow in their order. Pure functions, any thread.

#include "config/profile/plugin_registry.hpp"
#include "config/profile/scheduler_config.hpp"

namespace plimsoll::config {

// Keeps the disabled names of both sets: the expansion of multiPoint needs them.
[[nodiscard]] PluginSet merge_plugin_set(const PluginSet& defaults, const PluginSet& custom);

// The default profile's multiPoint set, restricted to plugins that exist.
[[nodiscard]] PluginSet default_plugin_set(const PluginRegistry& registry);

}  // namespace plimsoll::config

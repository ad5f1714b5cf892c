#pragma once
// mergePlugins: the default profile and a set of a profile file become one set.
//
// Named defaults (or "*") are dropped, a default that is enabled again is replaced in its place,
// the other custom plugins follow in their order. Pure functions, any thread.

#include "config/plugin_registry.hpp"
#include "config/scheduler_config.hpp"

namespace plimsoll::config {

// Disabled names of both are kept: the expansion of multiPoint asks for them.
[[nodiscard]] PluginSet merge_plugin_set(const PluginSet& defaults, const PluginSet& custom);

// The default profile's multiPoint set, restricted to plugins that exist.
[[nodiscard]] PluginSet default_plugin_set(const PluginRegistry& registry);

}  // namespace plimsoll::config

#pragma once
// From a profile as written to the list of plugins that run at each extension point.
//
// Two steps, as in kube-scheduler:
//  1. mergePlugins: the default profile, of which this build keeps the plugins that it has, is
//     merged with multiPoint (profile_merge.hpp).
//  2. expandMultiPointPlugins: per extension point, first the plugins enabled both there and in
//     multiPoint (in the order of the specific set), then the rest of multiPoint, then the rest of
//     the specific set. A plugin that does not implement the point, or is disabled at it, is left
//     out.
// Plugins that are in every profile go in front.
//
// Pure functions of their input but for `make`, which is called once for each plugin that a profile
// names, before step 2; any thread, never block.

#include <string>
#include <vector>

#include "config/profile/plugin_registry.hpp"
#include "config/profile/scheduler_config.hpp"
#include "config/text/problem.hpp"

namespace plimsoll::config {

// The effective profiles, one per profile of the config, complete only if errors is empty. Each
// names every plugin in the order of first mention, with its args: the defaults where none are
// given.
struct Expansion {
  std::vector<ProfileSpec> profiles;
  Problems errors;
  Problems warnings;
};

[[nodiscard]] Expansion expand_profiles(const SchedulerConfig& config,
                                        const PluginRegistry& registry,
                                        const PluginMaker& make = {});

// One profile by itself.
[[nodiscard]] ProfileSpec expand_profile(const Profile& profile, const PluginRegistry& registry,
                                         Problems& errors, Problems& warnings,
                                         const PluginMaker& make = {});

}  // namespace plimsoll::config

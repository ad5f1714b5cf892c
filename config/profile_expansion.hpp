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

#include "config/plugin_registry.hpp"
#include "config/problem.hpp"
#include "config/scheduler_config.hpp"

namespace plimsoll::config {

struct EffectivePlugin {
  std::string name;
  std::int32_t weight = 0;  // at score only; at least 1 unless the file says a negative one
  bool operator==(const EffectivePlugin&) const = default;
};

struct EffectiveProfile {
  std::string scheduler_name;
  PerExtensionPoint<std::vector<EffectivePlugin>> points;
  std::vector<std::string>
      plugins;  // every plugin to create, once each, in the order of first mention
  std::vector<PluginArgs>
      args;  // of each of them, in the same order; defaults where none are given

  [[nodiscard]] const PluginArgs& args_of(std::string_view plugin) const;  // of one in `plugins`
};

// The effective profiles, one per profile of the config. They are complete only if errors is empty.
struct Expansion {
  std::vector<EffectiveProfile> profiles;
  Problems errors;
  Problems warnings;
};

[[nodiscard]] Expansion expand_profiles(const SchedulerConfig& config,
                                        const PluginRegistry& registry,
                                        const PluginMaker& make = {});

// One profile by itself.
[[nodiscard]] EffectiveProfile expand_profile(const Profile& profile,
                                              const PluginRegistry& registry, Problems& errors,
                                              Problems& warnings, const PluginMaker& make = {});

}  // namespace plimsoll::config

#include "bench/support/default_profile.hpp"

#include <array>

#include "framework/runtime/every_point.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::array kPlugins = {"SchedulingGates",
                                 "PrioritySort",
                                 "NodeName",
                                 "NodeUnschedulable",
                                 "TaintToleration",
                                 "NodeAffinity",
                                 "NodePorts",
                                 "NodeResourcesFit",
                                 "VolumeRestrictions",
                                 "NodeVolumeLimits",
                                 "VolumeBinding",
                                 "VolumeZone",
                                 "PodTopologySpread",
                                 "InterPodAffinity",
                                 "DynamicResources",
                                 "DefaultPreemption",
                                 "NodeResourcesBalancedAllocation",
                                 "DefaultBinder",
                                 "UnsupportedFeatures",
                                 "GangScheduling"};

// Kubernetes: default_plugins.go. All other plugins have weight 1.
int32_t default_weight(const std::string& plugin) {
  if (plugin == "TaintToleration") return 3;
  if (plugin == "NodeAffinity" || plugin == "PodTopologySpread" || plugin == "InterPodAffinity" ||
      plugin == "DynamicResources") {
    return 2;
  }
  return 1;
}

}  // namespace

Result<ProfileSpec> default_profile(const Modules& modules, const std::string& scheduler_name,
                                    const std::vector<std::string>& further) {
  ProfileSpec profile;
  profile.scheduler_name = scheduler_name;
  std::vector<std::string> plugins(kPlugins.begin(), kPlugins.end());
  plugins.insert(plugins.end(), further.begin(), further.end());
  for (const std::string& plugin : plugins) {
    if (auto enabled = enable_at_every_point(profile, modules, plugin); !enabled) {
      return fail(enabled.error());
    }
  }
  profile.args["UnsupportedFeatures"] = R"({"resourceClaims":true,"schedulingGroups":true})";
  for (PluginEntry& entry : profile.at(ExtensionPoint::kScore)) {
    entry.weight = default_weight(entry.name);
  }
  return profile;
}

}  // namespace plimsoll::bench

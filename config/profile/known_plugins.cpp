#include "config/profile/known_plugins.hpp"

#include <algorithm>
#include <map>

namespace plimsoll::config {

const std::vector<DefaultPlugin>& default_plugins() {
  static const std::vector<DefaultPlugin> kPlugins = {
      {"SchedulingGates", 0},
      {"PrioritySort", 0},
      {"NodeName", 0},
      {"NodeUnschedulable", 0},
      {"TaintToleration", 3},
      {"NodeAffinity", 2},
      {"NodePorts", 0},
      {"NodeResourcesFit", 1},
      {"VolumeRestrictions", 0},
      {"NodeVolumeLimits", 0},
      {"VolumeBinding", 0},
      {"VolumeZone", 0},
      {"PodTopologySpread", 2},
      {"InterPodAffinity", 2},
      {"DynamicResources", 2},
      {"DefaultPreemption", 0},
      {"NodeResourcesBalancedAllocation", 1},
      {"ImageLocality", 1},
      {"DefaultBinder", 0},
      {"NodeDeclaredFeatures", 0},
      {"GangScheduling", 0},
  };
  return kPlugins;
}

bool is_default_plugin(std::string_view name) {
  const auto& all = default_plugins();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& plugin) { return plugin.name == name; });
}

const std::vector<std::string_view>& plugins_of_every_profile() {
  static const std::vector<std::string_view> kPlugins = {"UnsupportedFeatures"};
  return kPlugins;
}

bool is_in_every_profile(std::string_view name) {
  const auto& all = plugins_of_every_profile();
  return std::find(all.begin(), all.end(), name) != all.end();
}

namespace {

constexpr std::string_view kKoordinator = "it is a plugin of Koordinator";
constexpr std::string_view kSchedulerPlugins = "it is a plugin of scheduler-plugins";
constexpr std::string_view kRetired = "kube-scheduler dropped it before configuration version v1";
constexpr std::string_view kGroups =
    "it belongs to a feature of kube-scheduler that is off by default (topology of pod groups) and "
    "not supported";
constexpr std::string_view kResizes =
    "it belongs to an alpha feature of kube-scheduler (preemption for pods that are resized) that "
    "is "
    "not supported";
constexpr std::string_view kRemove = "remove it from the profile";

struct ElsewherePlugin {
  std::string_view whose;
  std::string_view instead;
};

const std::map<std::string_view, ElsewherePlugin>& elsewhere_plugins() {
  static const std::map<std::string_view, ElsewherePlugin> kPlugins = {
      {"LoadAwareScheduling", {kKoordinator, kRemove}},
      {"NodeNUMAResource",
       {kKoordinator,
        "NodeResourceTopologyMatch places pods on NUMA zones here, by the nodes' "
        "NodeResourceTopology objects; replace it or remove it"}},
      {"Reservation", {kKoordinator, kRemove}},
      {"ElasticQuota", {kKoordinator, kRemove}},
      {"DefaultPreBind",
       {kKoordinator,
        "a pod's annotations travel in its Binding here, so nothing is left to do; remove it"}},
      {"NodeResourcesFitPlus", {kKoordinator, "use NodeResourcesFit, or remove it"}},
      {"ScarceResourceAvoidance", {kKoordinator, kRemove}},
      {"CapacityScheduling", {kSchedulerPlugins, kRemove}},
      {"CrossNodePreemption", {kSchedulerPlugins, kRemove}},
      {"DiskIO", {kSchedulerPlugins, kRemove}},
      {"LoadVariationRiskBalancing", {kSchedulerPlugins, kRemove}},
      {"LowRiskOverCommitment", {kSchedulerPlugins, kRemove}},
      {"NetworkOverhead", {kSchedulerPlugins, kRemove}},
      {"NodeResourcesAllocatable",
       {kSchedulerPlugins, "use NodeResourcesFit with a scoringStrategy, or remove it"}},
      {"Peaks", {kSchedulerPlugins, kRemove}},
      {"PodState", {kSchedulerPlugins, kRemove}},
      {"PreemptionToleration", {kSchedulerPlugins, kRemove}},
      {"QOSSort", {kSchedulerPlugins, "use PrioritySort, or remove it"}},
      {"SySched", {kSchedulerPlugins, kRemove}},
      {"TargetLoadPacking", {kSchedulerPlugins, kRemove}},
      {"TopologicalSort", {kSchedulerPlugins, "use PrioritySort, or remove it"}},
      {"TopologyPlacementGenerator", {kGroups, kRemove}},
      {"PodGroupPodsCount", {kGroups, kRemove}},
      {"DeferredPodScheduling", {kResizes, kRemove}},
      {"NodeLabel", {kRetired, "use NodeAffinity"}},
      {"NodePreferAvoidPods", {kRetired, kRemove}},
      {"NodeResourcesLeastAllocated",
       {kRetired, "use NodeResourcesFit with scoringStrategy.type LeastAllocated"}},
      {"NodeResourcesMostAllocated",
       {kRetired, "use NodeResourcesFit with scoringStrategy.type MostAllocated"}},
      {"RequestedToCapacityRatio",
       {kRetired, "use NodeResourcesFit with scoringStrategy.type RequestedToCapacityRatio"}},
      {"SelectorSpread", {kRetired, "use PodTopologySpread with defaultingType System"}},
      {"ServiceAffinity", {kRetired, "use InterPodAffinity"}},
  };
  return kPlugins;
}

}  // namespace

std::string about_missing_plugin(std::string_view name) {
  if (is_default_plugin(name)) {
    return " in this build, although kube-scheduler has it: remove it from the profile";
  }
  const auto found = elsewhere_plugins().find(name);
  if (found == elsewhere_plugins().end()) return {};
  return " here: " + std::string(found->second.whose) + "; " + std::string(found->second.instead);
}

ExtensionPoints reference_points(std::string_view name) {
  using enum ExtensionPoint;
  static const std::map<std::string_view, ExtensionPoints> kPoints = {
      {"SchedulingGates", {kPreEnqueue}},
      {"PrioritySort", {kQueueSort}},
      {"NodeName", {kPreFilter, kFilter}},
      {"NodeUnschedulable", {kPreFilter, kFilter}},
      {"TaintToleration", {kPreFilter, kFilter, kPreScore, kScore}},
      {"NodeAffinity", {kPreFilter, kFilter, kPreScore, kScore}},
      {"NodePorts", {kPreFilter, kFilter}},
      {"NodeResourcesFit", {kPreFilter, kFilter, kPreScore, kScore}},
      {"NodeResourcesBalancedAllocation", {kPreScore, kScore}},
      {"VolumeRestrictions", {kPreFilter, kFilter}},
      {"NodeVolumeLimits", {kPreFilter, kFilter}},
      {"VolumeBinding", {kPreFilter, kFilter, kPreScore, kScore, kReserve, kPreBind}},
      {"VolumeZone", {kPreFilter, kFilter}},
      {"PodTopologySpread", {kPreFilter, kFilter, kPreScore, kScore}},
      {"InterPodAffinity", {kPreFilter, kFilter, kPreScore, kScore}},
      {"ImageLocality", {kScore}},
      {"DynamicResources",
       {kPreEnqueue, kPreFilter, kFilter, kPostFilter, kScore, kReserve, kPreBind}},
      {"DefaultPreemption", {kPreEnqueue, kPostFilter}},
      {"NodeDeclaredFeatures", {kPreFilter, kFilter}},
      {"DefaultBinder", {kBind}},
      {"GangScheduling", {kPreEnqueue, kPermit}},
      // scheduler-plugins, and Koordinator
      {"Coscheduling", {kQueueSort, kPreFilter, kPostFilter, kReserve, kPermit, kPostBind}},
      {"NodeResourceTopologyMatch", {kPreFilter, kFilter, kScore, kReserve, kPostBind}},
      // Koordinator's DeviceShare, and where it once stood for groups
      {"NodeDevice",
       {kPreFilter, kFilter, kPostFilter, kPreScore, kScore, kReserve, kPermit, kPreBind}},
  };
  const auto found = kPoints.find(name);
  return found == kPoints.end() ? ExtensionPoints{} : found->second;
}

std::string_view canonical_name(std::string_view name) {
  return name == "DeviceShare" ? std::string_view("NodeDevice") : name;
}

bool is_removed_plugin(std::string_view name) {
  constexpr std::string_view kRemoved[] = {"AzureDiskLimits", "CinderLimits", "EBSLimits",
                                           "GCEPDLimits"};
  return std::find(std::begin(kRemoved), std::end(kRemoved), name) != std::end(kRemoved);
}

}  // namespace plimsoll::config

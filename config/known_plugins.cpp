#include "config/known_plugins.hpp"

#include <algorithm>
#include <map>

namespace plimsoll::config {

const std::vector<DefaultPlugin>& default_plugins() {
  static const std::vector<DefaultPlugin> kPlugins = {
      {"SchedulingGates", 0},
      {"PrioritySort", 0},
      {"NodeUnschedulable", 0},
      {"NodeName", 0},
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
  };
  return kPlugins;
}

bool is_default_plugin(std::string_view name) {
  const auto& all = default_plugins();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& plugin) { return plugin.name == name; });
}

ExtensionPoints reference_points(std::string_view name) {
  using enum ExtensionPoint;
  static const std::map<std::string_view, ExtensionPoints> kPoints = {
      {"SchedulingGates", {kPreEnqueue}},
      {"PrioritySort", {kQueueSort}},
      {"NodeUnschedulable", {kFilter}},
      {"NodeName", {kFilter}},
      {"TaintToleration", {kFilter, kPreScore, kScore}},
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
      // scheduler-plugins
      {"NodeResourceTopologyMatch", {kPreFilter, kFilter, kScore, kReserve, kPostBind}},
      // Koordinator's DeviceShare
      {"NodeDevice", {kPreFilter, kFilter, kPreScore, kScore, kReserve, kPreBind}},
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

#pragma once
// The plugins that the tests of this folder pretend to have.

#include "config/profile/profile_expansion.hpp"

namespace plimsoll::config {

// Some of kube-scheduler's plugins with their own extension points, the three topology
// plugins, and the one that is in every profile.
inline PluginRegistry test_registry() {
  using enum ExtensionPoint;
  PluginRegistry out;
  for (const char* name : {"SchedulingGates", "PrioritySort", "NodeUnschedulable", "NodeName",
                           "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit",
                           "NodeResourcesBalancedAllocation", "DefaultBinder"}) {
    out[name] = reference_points(name);
  }
  out["Coscheduling"] = {kPreEnqueue, kQueueSort, kPermit};
  out["UnsupportedFeatures"] = {kPreFilter, kFilter};
  out["NodeResourceTopologyMatch"] = {kPreFilter, kFilter, kScore, kReserve};
  out["TopologyScore"] = {kPreScore, kScore};
  out["NodeDevice"] = {kPreEnqueue, kPreFilter, kFilter,  kPostFilter,
                       kPreScore,   kScore,     kReserve, kPermit};
  return out;
}

}  // namespace plimsoll::config

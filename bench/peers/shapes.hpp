#pragma once
// Clusters in the shapes of kube-scheduler's scheduler_perf (bench/workloads has them all), for a
// real API server. Pods and nodes are as large as in the other loads, and no pods run beforehand.

#include "bench/bindings/fleet.hpp"
#include "framework/port/api_writer.hpp"

namespace plimsoll::bench {

enum class Shape {
  kPlain,       // nothing but requests
  kSpread,      // TopologySpreading: three zones, maxSkew 5, DoNotSchedule
  kAffinity,    // SchedulingPodAffinity: pods require one another in the only zone
  kCsiVolumes,  // SchedulingCSIPVs: each pod has a claim that is bound to a CSI volume
  kClaims,      // each pod has a ResourceClaim for one of the node's eight devices
  kMatching,    // for two that match in an attribute
};

[[nodiscard]] inline bool has_claims(Shape shape) {
  return shape == Shape::kClaims || shape == Shape::kMatching;
}
// What a scheduler writes before the binding of a pod with a claim.
[[nodiscard]] std::vector<ApiRequest> claim_writes(Shape shape, std::size_t index,
                                                   const PodName& pod, const std::string& node,
                                                   int nodes);

// The nodes, what belongs to them, and the pods. Blocks; stops at the first failure.
[[nodiscard]] Result<void> create_shaped(test::KubeCluster& cluster, Shape shape,
                                         const FleetShape& fleet);

}  // namespace plimsoll::bench

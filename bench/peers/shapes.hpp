#pragma once
// Clusters in the shapes of kube-scheduler's scheduler_perf (bench/workloads has them all), for a
// real API server. Pods and nodes are as large as in the other loads, and no pods run beforehand.

#include "bench/bindings/fleet.hpp"

namespace plimsoll::bench {

enum class Shape {
  kPlain,       // nothing but requests
  kSpread,      // TopologySpreading: three zones, maxSkew 5, DoNotSchedule
  kAffinity,    // SchedulingPodAffinity: pods require one another in the only zone
  kCsiVolumes,  // SchedulingCSIPVs: each pod has a claim that is bound to a CSI volume
};

// The nodes, what belongs to them, and the pods. Blocks; stops at the first failure.
[[nodiscard]] Result<void> create_shaped(test::KubeCluster& cluster, Shape shape,
                                         const FleetShape& fleet);

}  // namespace plimsoll::bench

#include "tests/conformance/kinds.hpp"

namespace plimsoll::conformance {

std::span<const Kind> kinds() {
  static constexpr Kind kTable[] = {
      {"quantity", "", "parsing, printing and arithmetic of quantities", check_quantity},
      {"qos_requests", "", "QoS class and resource sums of pods", check_qos_requests},
      {"selectors", "", "label and node selectors, and the plugins that read them",
       check_selectors},
      {"fit", "", "NodeResourcesFit and NodeResourcesBalancedAllocation", check_fit},
      {"spread_affinity", "", "PodTopologySpread and InterPodAffinity", check_spread_affinity},
      {"nrt_filter", "", "NodeResourceTopologyMatch: Filter on one node", check_nrt_filter},
      {"nrt_score", "", "NodeResourceTopologyMatch: Score of one node, all strategies",
       check_nrt_score},
      {"queue", "", "requeue events and hints, and traces of the scheduling queue", check_queue, 0,
       0.005},
      {"preempt", "", "DefaultPreemption: candidates, victims, the chosen node, texts",
       check_preempt},
      {"schedule", "", "whole scheduling decisions with the default profile", check_schedule},
      {"merge", "", "the kubelet's topology manager: merging of hints", check_merge},
      {"distribute", "", "the kubelet's CPU manager: CPUs spread over zones", check_distribute},
      {"admit", "exact", "the kubelet's admission, knowing all that the kubelet knows",
       check_admit_exact},
      {"admit", "counts", "the kubelet's admission, knowing counts per zone, policy and scope",
       check_admit_counts, 0.028},
      {"device", "", "NodeDevice: device requests, and allocations on one node", check_device, 0,
       0.08},
      {"volumes", "", "VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone",
       check_volumes, 0, 0.005},
  };
  return kTable;
}

}  // namespace plimsoll::conformance

#pragma once
// The effect of more room on a pod. A kubelet admits containers one after the other without
// backtracking, and it prefers low zones. If more is free than assumed, the first container may get
// another zone than predicted and take what the second one needs. So a pod that fits with the least
// that may be free does not always fit with more.
//
// Pure; any thread.

#include <vector>

#include "plugins/topology/kubelet/node.hpp"
#include "plugins/topology/kubelet/pod_demand.hpp"

namespace plimsoll::topology {

// Whether the kubelet of this node may allocate resources of its zones to the pod.
[[nodiscard]] bool may_hold(const kubelet::NodeModel& model, const kubelet::PodDemand& pod);

// Whether the memory manager may free part of the pod's memory when its containers start: what
// plain init containers held.
[[nodiscard]] bool may_free_memory_at_start(const kubelet::PodDemand& pod);

// Whether the pod, if it is admitted, is also admitted after other pods have released more. This is
// true for most pods: those with one container, those whose containers request different resources,
// and in scope pod, where one affinity applies to all containers. False if there is no simple
// answer.
[[nodiscard]] bool fits_with_more(const kubelet::NodeModel& model, const kubelet::PodDemand& pod);

// Whether the pod is not affected if more memory is freed than `state` has. Sufficient, not
// necessary: the pod pins no memory; or the policy is single-numa-node, no memory is held across
// zones, and each zone either has enough free memory for all containers together or is too small
// for each of them.
[[nodiscard]] bool more_memory_changes_nothing(const kubelet::NodeModel& model,
                                               const kubelet::NodeState& state,
                                               const kubelet::PodDemand& pod);

// Splits the pod into parts that each satisfy fits_with_more(): the pod itself, or its single
// containers if these only take room from one another. If each part is admitted wherever the others
// are, so is the pod. Empty if the pod cannot be split.
[[nodiscard]] std::vector<kubelet::PodDemand> parts_of(const kubelet::NodeModel& model,
                                                       const kubelet::PodDemand& pod);

}  // namespace plimsoll::topology

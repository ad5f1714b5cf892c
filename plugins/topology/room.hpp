#pragma once
// What more room does to a pod. A kubelet looks at containers one after the other and never goes
// back, and it prefers low zones: where more is free than was thought, the first container may go
// to another zone than it would have, and take what the second one needs. So "it fits with the
// least that may be free" does not always say that it fits.
//
// Pure; any thread.

#include <vector>

#include "plugins/topology/kubelet/node.hpp"
#include "plugins/topology/kubelet/pod_demand.hpp"

namespace plimsoll::topology {

// Whether a kubelet of this node may give the pod anything of its zones.
[[nodiscard]] bool may_hold(const kubelet::NodeModel& model, const kubelet::PodDemand& pod);

// Whether the memory manager may take back something of the pod when its containers start: what
// plain init containers had.
[[nodiscard]] bool may_free_memory_at_start(const kubelet::PodDemand& pod);

// Whether the pod, if it is admitted, is admitted too where other pods have let go of more. So it
// is for most: pods with one container, pods whose containers ask for different things, and in
// scope pod, where one affinity counts for all. False: it cannot be told so easily.
[[nodiscard]] bool fits_with_more(const kubelet::NodeModel& model, const kubelet::PodDemand& pod);

// Whether it makes no difference to the pod if more memory comes free than `state` has. Sufficient,
// not necessary: the pod pins no memory; or the policy is single-numa-node, no memory is held
// across zones, and each zone either has the memory of all containers together free, or is too
// small for each of them.
[[nodiscard]] bool more_memory_changes_nothing(const kubelet::NodeModel& model,
                                               const kubelet::NodeState& state,
                                               const kubelet::PodDemand& pod);

// Splits the pod into parts that each satisfy fits_with_more(): the pod itself, or its containers
// one by one, if these only take room from one another. If each part is admitted wherever the
// others are, so is the pod. Empty: the pod cannot be split.
[[nodiscard]] std::vector<kubelet::PodDemand> parts_of(const kubelet::NodeModel& model,
                                                       const kubelet::PodDemand& pod);

}  // namespace plimsoll::topology

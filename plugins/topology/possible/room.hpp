#pragma once
// The effect of more room on a pod. A kubelet admits containers one after the other without
// backtracking, and it prefers low zones. If more is free than assumed, the first container may get
// another zone than predicted and take what the second one needs. So a pod that fits with the least
// that may be free does not always fit with more.
//
// Pure; any thread.

#include <span>
#include <vector>

#include "plugins/topology/kubelet/admit.hpp"

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

// Whether counts are enough to judge this state and those that come of it when any of `pods` are
// admitted. They are not if groups of zones matter, or which threads of a core are free. Groups do
// not matter under single-numa-node, nor under restricted if there are none and each of the pods
// needs one zone at a time: a kubelet that cannot give it one refuses it.
[[nodiscard]] bool counts_suffice(const kubelet::NodeModel& model, const kubelet::NodeState& state,
                                  std::span<const kubelet::PodDemand* const> pods);

// Whether the kubelet puts each container of the pod into the same single zone whatever has come
// free between `least` and `most`. Sufficient, not necessary. If so, both states are those after
// the pod; else they mean nothing any more. `most` is `least` after other pods have released some
// of what they hold. More room only adds hints, and of preferred hints a kubelet takes the best by
// an order that no room changes: what is best both of the fewest hints and of all is best of any
// set between. Policies that accept other hints have no such order.
[[nodiscard]] bool lands_alike(const kubelet::NodeModel& model, const kubelet::PodDemand& pod,
                               kubelet::NodeState& least, kubelet::NodeState& most,
                               kubelet::Scratch& scratch);

// Splits the pod into parts that each satisfy fits_with_more(): the pod itself, or its single
// containers if these only take room from one another. If each part is admitted wherever the others
// are, so is the pod. Empty if the pod cannot be split.
[[nodiscard]] std::vector<kubelet::PodDemand> parts_of(const kubelet::NodeModel& model,
                                                       const kubelet::PodDemand& pod);

// Whether the pod is admitted if `sure` is the least that may be free, whatever else is freed.
// Sufficient, not necessary, and for every pod: under single-numa-node each zone either has room
// for all containers together, those of init included, or is too small for each of them. So no
// container can take a zone in which the next one finds no room. Needs counts_suffice where only
// whole cores are given.
[[nodiscard]] bool each_zone_has_room_or_never_will(const kubelet::NodeModel& model,
                                                    const kubelet::NodeState& sure,
                                                    const kubelet::PodDemand& pod);

// Whether each of the first `to_check` pods is admitted wherever all the others land, its own
// containers too, and if more is freed. `sure`: what is free at least without all of them.
// Sufficient, not necessary.
[[nodiscard]] bool are_sure_of_room(const kubelet::NodeModel& model, const kubelet::NodeState& sure,
                                    std::span<const kubelet::PodDemand* const> pods,
                                    size_t to_check, kubelet::Scratch& scratch);

}  // namespace plimsoll::topology

#pragma once
// What a kubelet gives a pod, in the forms that others read: charges per zone and resource for the
// ledger's view of a node, amounts per container for the Binding's annotation, and back. Pure; any
// thread.

#include "plugins/topology/kubelet/admit.hpp"
#include "plugins/topology/predict.hpp"

namespace plimsoll::topology {

// `free`: what the node's zones have left before the pod, by which a memory block of several zones
// is split among them: lower zones first, as the memory manager does.
[[nodiscard]] Placement placement_given(const kubelet::NodeModel& model,
                                        const kubelet::PodDemand& pod,
                                        const kubelet::Admission& given,
                                        const plimsoll_numa_node& free);

// What a pod holds on a node of which only counts per zone are reported, from its charges.
[[nodiscard]] kubelet::Allocation allocation_of(const kubelet::NodeModel& model,
                                                const std::vector<Charge>& charges);

// The state with the counts of `view` in place of its own: ids and groups of zones are forgotten.
// `counts` is a model without lists of devices (see counts_model).
[[nodiscard]] kubelet::NodeState state_of(const kubelet::NodeModel& counts,
                                          const plimsoll_numa_node& view);

// The model without what only ids can say: its devices are numbers per zone.
[[nodiscard]] std::shared_ptr<const kubelet::NodeModel> counts_model(
    const std::shared_ptr<const kubelet::NodeModel>& model);

}  // namespace plimsoll::topology

#pragma once
// What a kubelet gives a pod, in the forms that others read: charges per zone and resource for the
// ledger's view of a node, amounts per container for the Binding's annotation, and back. Pure; any
// thread.

#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/topology/abi/ledger_types.hpp"
#include "plugins/topology/kubelet/admit.hpp"

namespace plimsoll::topology {

// Added if it is not there.
[[nodiscard]] Charge& charge_at(std::vector<Charge>& charges, uint32_t zone_id, uint32_t resource);

struct Placement {
  bool complete = true;                     // false: the kubelet would refuse the pod
  std::vector<plimsoll_numa_charge> where;  // per container
  std::vector<Charge> charges;
};

// `free`: what the node's zones have left before the pod, by which a memory block of several zones
// is split among them: lower zones first, as the memory manager does.
[[nodiscard]] Placement placement_given(const kubelet::NodeModel& model,
                                        const kubelet::PodDemand& pod,
                                        const kubelet::Admission& given,
                                        const plimsoll_numa_node& free);

// The charges of what a pod holds, all of which reports show.
[[nodiscard]] std::vector<Charge> charges_held(const kubelet::NodeModel& model,
                                               const kubelet::Allocation& held,
                                               const plimsoll_numa_node& free);

// A pod that is charged although its kubelet would refuse it, or although nobody knows what that
// kubelet has free: where it fits by the counts of `free`, or else in the roomiest zones. `counts`:
// as for state_of.
[[nodiscard]] Placement placement_somewhere(const kubelet::NodeModel& counts,
                                            const kubelet::PodDemand& pod,
                                            const plimsoll_numa_node& free,
                                            kubelet::Scratch& scratch);

// The state with the counts of `view` in place of its own: ids and groups of zones are forgotten.
// `counts` is a model without lists of devices (see counts_model).
[[nodiscard]] kubelet::NodeState state_of(const kubelet::NodeModel& counts,
                                          const plimsoll_numa_node& view);

// The model without what only ids can say: its devices are numbers per zone.
[[nodiscard]] std::shared_ptr<const kubelet::NodeModel> counts_model(
    const std::shared_ptr<const kubelet::NodeModel>& model);

}  // namespace plimsoll::topology

#pragma once
// The devices of a node in a what-if: without the pods that would go, with room for those that
// would come. The accounts do not change; what is returned is a copy of this one node.
//
// A pod that goes gives back exactly what the accounts hold for it: its minors and virtual
// functions, or what is set aside because nobody knows them. A pod that comes gets the devices that
// were chosen for it, else those that the allocator would choose for it now, the highest priority
// first. One for which there are not enough yet (those that make room for it are still going) has
// as many set aside as it asks for.
//
// Pure; any thread that may read the accounts.

#include "plugins/nodedevice/accounts/accounts.hpp"
#include "plugins/nodedevice/allocation/allocator.hpp"
#include "plugins/topology/pod/pod_changes.hpp"

namespace plimsoll::devices {

struct ComingPod {
  PodDemand demand;
  Allocation chosen;  // empty: none was
};
using DeviceChanges = topology::PodChanges<ComingPod>;

// The node with nothing to give but these devices (of their types).
[[nodiscard]] NodeState kept_to(NodeState node, const Allocation& within);

[[nodiscard]] NodeState changed_node(const Accounts& accounts, const Allocator& allocator,
                                     const NodeLabels& labels, const NodeState& real,
                                     const DeviceChanges::Changes& changes);

}  // namespace plimsoll::devices

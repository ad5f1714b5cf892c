#pragma once
// Accounts for what ran on a node before the simulation began.

#include "lab/sandbox/kubelet/node_kind.hpp"

namespace plimsoll::sandbox {

// Moves the resources that the node's last report shows as used out of `free` into a separate
// state, which it returns. The pods that run there claim them from it. A node with a machine has no
// such report: nothing moves.
[[nodiscard]] topology::kubelet::NodeState set_aside_prior_use(const NodeKind& kind,
                                                               const NodeDescription& node,
                                                               ResourceIndex& resources,
                                                               topology::kubelet::NodeState& free);

}  // namespace plimsoll::sandbox

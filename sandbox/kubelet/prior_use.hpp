#pragma once
// What ran on a node before the simulation began.

#include "sandbox/kubelet/node_kind.hpp"

namespace plimsoll::sandbox {

// Moves what the node's last report shows as used out of `free`, and gives it back as a state of
// its own: what waits to be claimed by the pods that run there. A node with a machine has no such
// report: nothing moves.
[[nodiscard]] topology::kubelet::NodeState set_aside_prior_use(const NodeKind& kind,
                                                               const NodeDescription& node,
                                                               ResourceIndex& resources,
                                                               topology::kubelet::NodeState& free);

}  // namespace plimsoll::sandbox

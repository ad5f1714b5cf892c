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

// Moves these amounts of a zone from one state to the other, as far as the first has them.
void move_amounts(const NodeKind& kind, std::uint32_t column, const node::Amounts& amounts,
                  ResourceIndex& resources, topology::kubelet::NodeState& from,
                  topology::kubelet::NodeState& to);

// A state in which a machine has nothing.
[[nodiscard]] topology::kubelet::NodeState nothing_of(const NodeKind& kind);

}  // namespace plimsoll::sandbox

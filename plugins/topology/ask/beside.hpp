#pragma once
// A pod beside bindings under way, without playing every order in which a kubelet may see them.
//
// If each pod that is on its way, and the new one, finds all it asks for in one zone of the node as
// it was before any of them came, and there is room in these zones for all of them, then each of
// them gets that zone in every order: when its turn comes, zones below have no room for it still,
// since they only lost some, and its own has room whoever came before. Internal to the ledger.

#include "plugins/topology/record/node_record.hpp"
#include "plugins/topology/verdict/judgement.hpp"

namespace plimsoll::topology {

// Whether that holds. False: it is not that simple. `since`: the node's, or that of a what-if.
[[nodiscard]] bool lands_side_by_side(const NodeRecord& node, const Since& since, Inquiry& pod);

}  // namespace plimsoll::topology

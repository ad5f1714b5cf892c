#pragma once
// Where the pods are that reports of counts count. Internal to the ledger.
//
// Such a report shows how much of each zone is in use, and by its fingerprint which pods use it. If
// these hold exactly as much as is in use, then what is in use beyond the pods of the report before
// belongs to those that came since. That says where a pod is that came alone, and, where policies
// keep each container in one zone, also where one of several is that has no other zone. Nothing is
// guessed: the others float, and what they hold together is known by zone.

#include "plugins/topology/record/node_record.hpp"

namespace plimsoll::topology {

// The node's report was explained by its fingerprint.
void locate_pods(NodeRecord& node);

// The kubelet may have other settings or another machine: pods may be elsewhere.
void forget_places(NodeRecord& node);

}  // namespace plimsoll::topology

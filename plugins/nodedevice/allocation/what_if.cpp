#include "plugins/nodedevice/allocation/what_if.hpp"

namespace plimsoll::devices {

NodeState changed_node(const Accounts& accounts, const Allocator& allocator,
                       const NodeLabels& labels, const NodeState& real,
                       const DeviceChanges::Changes& changes) {
  NodeState node = real;
  std::vector<const PodDemand*> coming;
  for (const DeviceChanges::Change& change : changes) {
    const NodeState* holder = accounts.node_of(change.uid);
    const bool here = holder == &real;
    if (here && change.net < 0) accounts.take_from(node, change.uid);
    if (!here && change.net > 0 && change.demand != nullptr) coming.push_back(change.demand.get());
  }
  for (const PodDemand* demand : coming) {
    Allocation allocation;
    for (int type = 0; type < kMaxTypes; ++type) {
      const int64_t elsewhere = demand->elsewhere[static_cast<size_t>(type)];
      if (elsewhere == kAnyNumber)
        node.add_blocked(type, 1);
      else if (elsewhere != 0)
        node.add_unknown(type, elsewhere);
    }
    PodDemand by_minor = *demand;
    by_minor.elsewhere = {};
    if (allocator.allocate(node, labels, by_minor, allocation).fits()) {
      node.add(allocation);
      continue;
    }
    for (const TypeRequest& request : demand->request.types)
      node.add_unknown(request.type, request.count);
  }
  return node;
}

}  // namespace plimsoll::devices

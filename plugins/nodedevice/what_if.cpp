#include "plugins/nodedevice/what_if.hpp"

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
    if (allocator.allocate(node, labels, *demand, allocation).fits()) {
      node.add(allocation);
      continue;
    }
    for (const TypeRequest& request : demand->request.types)
      node.add_unknown(request.type, request.count);
  }
  return node;
}

}  // namespace plimsoll::devices

#include "plugins/nodedevice/allocation/what_if.hpp"

namespace plimsoll::devices {

NodeState kept_to(NodeState node, const Allocation& within) {
  uint32_t types = 0;
  for (const DeviceShare& share : within) types |= 1U << share.type;
  for (int t = 0; t < kMaxTypes; ++t) {
    if ((types >> t & 1U) == 0) continue;
    std::vector<int32_t> minors;
    for (const DeviceShare& share : within)
      if (share.type == t) minors.push_back(share.minor);
    node.keep_only(t, minors);
  }
  return node;
}

NodeState changed_node(const Accounts& accounts, const Allocator& allocator,
                       const NodeLabels& labels, const NodeState& real,
                       const DeviceChanges::Changes& changes) {
  NodeState node = real;
  std::vector<const ComingPod*> coming;
  for (const DeviceChanges::Change& change : changes) {
    const NodeState* holder = accounts.node_of(change.uid);
    const bool here = holder == &real;
    if (here && change.net < 0) accounts.take_from(node, change.uid);
    if (!here && change.net > 0 && change.demand != nullptr) coming.push_back(change.demand.get());
  }
  for (const ComingPod* pod : coming) {
    const PodDemand* demand = &pod->demand;
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
    const auto has_room = [&](const NodeState& in) {
      return allocator.allocate(in, labels, by_minor, allocation).fits();
    };
    if ((!pod->chosen.empty() && has_room(kept_to(node, pod->chosen))) || has_room(node)) {
      node.add(allocation);
      continue;
    }
    for (const TypeRequest& request : demand->request.types)
      node.add_unknown(request.type, request.count);
  }
  return node;
}

}  // namespace plimsoll::devices

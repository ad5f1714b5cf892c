#pragma once
// The nodes of the ledger by name and slot, and which of them each pod is on. Internal to the
// ledger.

#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/topology/record/node_record.hpp"

namespace plimsoll::topology {

class NodeTable {
 public:
  // Made if it is not there.
  NodeRecord& made(std::string_view name);
  [[nodiscard]] NodeRecord* find(std::string_view name) const;
  // Null: no node has the slot.
  [[nodiscard]] NodeRecord* in(uint32_t slot) const {
    return slot < slots_.size() ? slots_[slot] : nullptr;
  }
  // A node that had the slot before loses it.
  void put(NodeRecord& node, uint32_t slot);
  void take_slot(NodeRecord& node);
  void erase(const NodeRecord& node) { nodes_.erase(std::string(node.name)); }

  // The node that the pod is on; null: none.
  [[nodiscard]] NodeRecord* of(const PodKey& pod) const {
    const auto at = pods_.find(pod);
    return at == pods_.end() ? nullptr : at->second;
  }
  void add_pod(NodeRecord& node, PodRecord pod);
  PodRecord take_pod(NodeRecord& node, const PodKey& pod);  // it must be there

 private:
  std::unordered_map<std::string, std::unique_ptr<NodeRecord>> nodes_;
  std::vector<NodeRecord*> slots_;
  boost::unordered_flat_map<PodKey, NodeRecord*, PodKeyHash> pods_;
};

}  // namespace plimsoll::topology

#include "plugins/topology/record/node_table.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll::topology {

NodeRecord& NodeTable::made(std::string_view name) {
  auto& node = nodes_[std::string(name)];
  if (!node) {
    node = std::make_unique<NodeRecord>();
    node->name = name;
  }
  return *node;
}

NodeRecord* NodeTable::find(std::string_view name) const {
  const auto at = nodes_.find(std::string(name));
  return at == nodes_.end() ? nullptr : at->second.get();
}

void NodeTable::put(NodeRecord& node, uint32_t slot) {
  if (slot >= slots_.size()) slots_.resize(slot + 1, nullptr);
  if (slots_[slot] != nullptr) slots_[slot]->slot = UINT32_MAX;
  node.slot = slot;
  slots_[slot] = &node;
}

void NodeTable::take_slot(NodeRecord& node) {
  slots_[node.slot] = nullptr;
  node.slot = UINT32_MAX;
}

void NodeTable::add_pod(NodeRecord& node, PodRecord pod) {
  pods_[pod.key] = &node;
  node.pods.push_back(std::move(pod));
}

PodRecord NodeTable::take_pod(NodeRecord& node, const PodKey& pod) {
  const auto at = std::find_if(node.pods.begin(), node.pods.end(),
                               [&](const PodRecord& each) { return each.key == pod; });
  PodRecord taken = std::move(*at);
  pods_.erase(pod);
  node.pods.erase(at);
  return taken;
}

}  // namespace plimsoll::topology

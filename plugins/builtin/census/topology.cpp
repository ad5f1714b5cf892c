#include "plugins/builtin/census/topology.hpp"

#include <algorithm>
#include <utility>

#include "framework/api/selectors.hpp"

namespace plimsoll::builtin {

using namespace sdk;

namespace {

constexpr std::string_view kEachNode = Topology::kEachNode;
// From so many keys on, looking at each label of a node is quicker than looking for each key.
constexpr size_t kManyKeys = 8;

}  // namespace

void TopologyKey::put(uint32_t slot, std::string_view value) {
  if (slot >= domains_.size()) domains_.resize(slot + size_t{1}, kNone);
  const auto [known, is_new] = values_.try_emplace(std::string(value), kNone);
  if (is_new && free_.empty()) {
    known->second = bound();
    nodes_.push_back(0);
    texts_.push_back(nullptr);
  } else if (is_new) {
    known->second = free_.back();
    free_.pop_back();
  }
  texts_[known->second] = &known->first;
  domains_[slot] = known->second;
  ++nodes_[known->second];
  ++nodes_with_it_;
}

void TopologyKey::remove(uint32_t slot) {
  const uint32_t here = domain(slot);
  if (here == kNone) return;
  domains_[slot] = kNone;
  --nodes_with_it_;
  if (--nodes_[here] != 0) return;
  values_.erase(values_.find(*texts_[here]));
  texts_[here] = nullptr;
  free_.push_back(here);
}

TopologyKeyRef Topology::key(std::string_view name) {
  return keys({&name, 1}).front();
}

std::vector<TopologyKeyRef> Topology::keys(std::span<const std::string_view> names) {
  if (keys_.size() > drop_at_) drop_unused();
  std::vector<TopologyKeyRef> found;
  std::vector<std::shared_ptr<TopologyKey>> made;
  found.reserve(names.size());
  for (const std::string_view name : names) {
    auto known = keys_.find(name);
    if (known == keys_.end()) {
      known = keys_.emplace(name, std::make_shared<TopologyKey>(std::string(name))).first;
      made.push_back(known->second);
    }
    found.push_back(known->second);
  }
  if (!made.empty()) fill(made);
  return found;
}

void Topology::drop_unused() {
  std::erase_if(keys_, [](const auto& each) { return each.second.use_count() == 1; });
  drop_at_ = std::max(kKeptKeys, 2 * keys_.size());
}

void Topology::fill(std::span<const std::shared_ptr<TopologyKey>> keys) {
  std::unordered_map<std::string_view, TopologyKey*> by_name;
  for (const auto& key : keys) by_name.emplace(key->name(), key.get());
  for (uint32_t slot = 0; slot < host_.slot_count(); ++slot) {
    const Node node = host_.node(slot);
    if (!node) continue;
    if (const auto each = by_name.find(kEachNode); each != by_name.end()) {
      each->second->put(slot, node.name());
    }
    if (keys.size() < kManyKeys) {
      for (const auto& key : keys) {
        const plimsoll_str* value = find_label(node->node->meta.labels, str(key->name()));
        if (value != nullptr) key->put(slot, view(*value));
      }
      continue;
    }
    for (const plimsoll_label& label : node.labels()) {
      const auto key = by_name.find(view(label.key));
      if (key != by_name.end()) key->second->put(slot, view(label.value));
    }
  }
}

void Topology::put(uint32_t slot, const plimsoll_node& node) {
  if (slot >= known_.size()) known_.resize(slot + size_t{1}, 0);
  if (std::exchange(known_[slot], 1) == 0) ++node_count_;
  for (auto& [name, key] : keys_) {
    key->remove(slot);
    if (name == kEachNode) {
      key->put(slot, view(node.meta.name));
      continue;
    }
    const plimsoll_str* value = find_label(node.meta.labels, str(name));
    if (value != nullptr) key->put(slot, view(*value));
  }
}

void Topology::remove(uint32_t slot) {
  if (slot < known_.size() && std::exchange(known_[slot], 0) != 0) --node_count_;
  for (auto& [name, key] : keys_) key->remove(slot);
}

}  // namespace plimsoll::builtin

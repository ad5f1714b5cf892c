#pragma once
// Finds the selections that may select a pod by the pod's labels, instead of asking all of them.

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plugins/builtin/census/selection.hpp"

namespace plimsoll::builtin {

// `Item` has a SelectionSpec spec() and std::vector<uint64_t> anchors, which is the index's own.
template <typename Item>
class MatchIndex {
 public:
  void add(Item& item) {
    bool found = false;
    size_t fewest = 0;
    for_each_anchor(item.spec(), [&](const std::vector<uint64_t>& hashes) {
      size_t items = 0;
      for (const uint64_t hash : hashes) {
        const auto known = by_label_.find(hash);
        items += known == by_label_.end() ? 0 : known->second.size();
      }
      if (found && items >= fewest) return;
      found = true;
      fewest = items;
      item.anchors = hashes;
    });
    if (!found) others_.push_back(&item);
    for (const uint64_t hash : item.anchors) by_label_[hash].push_back(&item);
    item.anchored = found;
  }

  void remove(Item& item) {
    if (!item.anchored) return drop(others_, item);
    for (const uint64_t hash : item.anchors) {
      const auto known = by_label_.find(hash);
      drop(known->second, item);
      if (known->second.empty()) by_label_.erase(known);
    }
  }

  [[nodiscard]] bool empty() const { return by_label_.empty() && others_.empty(); }

  // visit(item) for each that may select a pod with these labels; each once.
  template <typename Visit>
  void for_each_candidate(const plimsoll_list& labels, const Visit& visit) const {
    for (Item* item : others_) visit(*item);
    if (by_label_.empty()) return;
    for (const plimsoll_label& label : sdk::List<plimsoll_label>(labels)) {
      const auto known = by_label_.find(label_hash(label.key, label.value));
      if (known == by_label_.end()) continue;
      for (Item* item : known->second) visit(*item);
    }
  }

 private:
  static void drop(std::vector<Item*>& items, Item& item) {
    const auto found = std::find(items.rbegin(), items.rend(), &item);
    *found = items.back();
    items.pop_back();
  }

  std::unordered_map<uint64_t, std::vector<Item*>> by_label_;
  std::vector<Item*> others_;  // no label is sure to be there
};

}  // namespace plimsoll::builtin

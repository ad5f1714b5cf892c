#pragma once
// Finds the selections that may select a pod by the pod's labels and namespace, instead of asking
// all of them.

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "plugins/builtin/census/buckets.hpp"
#include "plugins/builtin/census/selection.hpp"

namespace plimsoll::builtin {

struct Indexed : Seated {
  Anchor by = Anchor::kAnything;  // the index's own
};

// `Item` is Indexed and has a SelectionSpec spec().
template <typename Item>
class MatchIndex {
 public:
  void add(Item& item) {
    std::vector<uint64_t> best{kAnything};
    size_t fewest = std::numeric_limits<size_t>::max();
    for_each_anchor(item.spec(), [&](Anchor by, const std::vector<uint64_t>& numbers) {
      size_t items = 0;
      for (const uint64_t number : numbers) items += items_.size(number);
      if (items >= fewest) return;
      fewest = items;
      item.by = by;
      best = numbers;
    });
    for (const uint64_t number : best) items_.add(item, number);
    ++count(item);
  }
  void remove(Item& item) {
    items_.remove(item);
    --count(item);
    item.by = Anchor::kAnything;
  }

  [[nodiscard]] bool empty() const { return items_.empty(); }

  // visit(item) for each that may select the pod; each once.
  template <typename Visit>
  void for_each_candidate(const PodTraits& pod, const Visit& visit) const {
    if (has(Anchor::kAnything)) items_.for_each(kAnything, visit);
    if (has(Anchor::kNamespace)) items_.for_each(namespace_number(pod.ns), visit);
    const bool by_label = has(Anchor::kLabel);
    const bool by_key = has(Anchor::kKey);
    if (!by_label && !by_key) return;
    for (const plimsoll_label& label : sdk::List<plimsoll_label>(pod.labels)) {
      if (by_label) items_.for_each(label_number(label.key, label.value), visit);
      if (by_key) items_.for_each(key_number(label.key), visit);
    }
  }

 private:
  static constexpr uint64_t kAnything = 0;

  [[nodiscard]] size_t& count(const Item& item) { return counts_[static_cast<size_t>(item.by)]; }
  [[nodiscard]] bool has(Anchor by) const { return counts_[static_cast<size_t>(by)] != 0; }

  Buckets<Item> items_;
  std::array<size_t, 4> counts_{};  // items, by what anchors them
};

}  // namespace plimsoll::builtin

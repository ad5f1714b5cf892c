#pragma once
// The pods that a what-if adds to nodes and removes from them: AddPod and RemovePod of one cycle,
// for plugins that keep accounts of their own.
//
// Only the difference is kept; Filter evaluates it. Each pod has a count per node: AddPod raises
// it, RemovePod lowers it, and a pod with count 0 is dropped. So AddPod and RemovePod are exact
// inverses, and their order does not matter; but members of the group that is decided on take their
// places in the order in which they are added.
//
// A plain value in the cycle's state. Copies share their data per node until one of them changes it
// (preemption copies it for every candidate node). Changed on the loop only.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <plimsoll/views.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::topology {

// Demand: what an added pod requests, without views into the pod.
template <typename Demand>
class PodChanges {
 public:
  struct Change {
    std::string uid;
    int32_t priority = 0;
    int net = 0;                           // below 0: taken away; above: added
    bool is_member = false;                // it comes in one decision with the pod that asks
    std::shared_ptr<const Demand> demand;  // of a pod that was added
  };
  // Members as they were added, then the others by priority, highest first, and UID.
  using Changes = std::vector<Change>;

  // `demand()` gives a shared_ptr<const Demand>; called if the pod is new to the node.
  template <typename MakeDemand>
  void add(uint32_t slot, const plimsoll_pod& pod, bool is_member, const MakeDemand& demand) {
    count(slot, pod, +1, is_member, demand);
  }
  void remove(uint32_t slot, const plimsoll_pod& pod) {
    count(slot, pod, -1, false, [] { return nullptr; });
  }

  // Null: the node is unchanged.
  [[nodiscard]] const Changes* on(uint32_t slot) const {
    const auto at = find(slot);
    return at == nodes_.end() || at->first != slot ? nullptr : at->second.get();
  }
  [[nodiscard]] bool empty() const { return nodes_.empty(); }

 private:
  using Nodes = std::vector<std::pair<uint32_t, std::shared_ptr<const Changes>>>;  // by slot

  [[nodiscard]] typename Nodes::const_iterator find(uint32_t slot) const {
    return std::lower_bound(nodes_.begin(), nodes_.end(), slot,
                            [](const auto& node, uint32_t wanted) { return node.first < wanted; });
  }

  // The order in which pods of one node would be placed.
  static bool before(const Change& a, const Change& b) {
    if (a.is_member || b.is_member) return a.is_member && !b.is_member;
    return a.priority != b.priority ? a.priority > b.priority : a.uid < b.uid;
  }

  template <typename MakeDemand>
  void count(uint32_t slot, const plimsoll_pod& pod, int by, bool is_member,
             const MakeDemand& demand) {
    const auto node = nodes_.begin() + (find(slot) - nodes_.cbegin());
    const bool known = node != nodes_.end() && node->first == slot;
    Changes changes = known ? *node->second : Changes();
    const std::string_view uid = sdk::view(pod.meta.uid);
    const auto at = std::find_if(changes.begin(), changes.end(),
                                 [uid](const Change& change) { return change.uid == uid; });
    if (at == changes.end()) {
      Change change{std::string(uid), pod.priority, by, is_member, demand()};
      changes.insert(std::upper_bound(changes.begin(), changes.end(), change, before),
                     std::move(change));
    } else if ((at->net += by) == 0) {
      changes.erase(at);
    } else if (by > 0 && at->demand == nullptr) {
      at->demand = demand();
    }
    if (!changes.empty()) {
      auto shared = std::make_shared<const Changes>(std::move(changes));
      if (known) {
        node->second = std::move(shared);
      } else {
        nodes_.emplace(node, slot, std::move(shared));
      }
    } else if (known) {
      nodes_.erase(node);
    }
  }

  Nodes nodes_;
};

}  // namespace plimsoll::topology

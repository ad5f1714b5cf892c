#pragma once
// A node after what happened since its report (timeline.hpp). Internal to the ledger.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "plugins/topology/record/pod_record.hpp"

namespace plimsoll::topology {

// What may come free on a node at any time, beyond what is known to be free.
enum class Grows : uint8_t { kNo, kMemory, kAnything };

struct Since {
  kubelet::NodeState likely;  // everything in the likeliest order
  // If not clear(): what is free of the zones, whatever the order, before what pods take that are
  // in these lists. Where those in `bound` are is not known, or whether they hold anything at all.
  kubelet::NodeState sure;
  std::vector<std::shared_ptr<const kubelet::PodDemand>> bound;
  // Bindings under way, in the order of their promises. A kubelet may see another order.
  struct UnderWay {
    PodKey key;
    std::shared_ptr<const kubelet::PodDemand> demand;
    friend bool operator==(const UnderWay&, const UnderWay&) = default;
  };
  std::vector<UnderWay> under_way;
  Grows grows = Grows::kNo;
  // What may come free, if all of it is known: each at once, in any order.
  std::vector<kubelet::Allocation> pending;
  bool pending_known = true;
  bool unclear = false;  // which pods the report counts is not known; `likely` is the report then
  uint64_t version = 0;  // the last binding in `sure`, or in `likely` if clear()

  // The node is in one state: that in `likely`.
  [[nodiscard]] bool clear() const {
    return bound.empty() && under_way.empty() && grows == Grows::kNo;
  }
  void add(bool is_bound, const PodKey& key, std::shared_ptr<const kubelet::PodDemand> demand) {
    if (is_bound) {
      bound.push_back(std::move(demand));
    } else {
      under_way.push_back({key, std::move(demand)});
    }
  }
  // Of the last binding under way: in the likeliest order its kubelet refuses the pod, so no room
  // has to be kept for it.
  void expect_refusal() {
    bound.push_back(std::move(under_way.back().demand));
    under_way.pop_back();
  }
};

}  // namespace plimsoll::topology

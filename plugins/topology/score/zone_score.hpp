#pragma once
// Scores on the zones that a pod will really use (zone_use.hpp): view Predicted of TopologyScore.
// 0 to 100; pure; any thread. Formulas and reasons in docs/topology.md, "Scores".
//
// LeastAllocated, MostAllocated and BalancedAllocation look at how full those zones are once every
// container has its share, against what they can allocate. LeastNUMANodes looks at how many zones
// the widest container needs and how far apart they are. PreserveLargeZones (preserve.hpp) looks at
// what the pod destroys for wider pods.
//
// With the others than LeastNUMANodes, a placement that is wider than the zones' sizes call for, or
// that the node's policy does not keep to, scores below every aligned one.

#include <cstdint>

#include "plugins/topology/abi/ledger_types.hpp"
#include "plugins/topology/score/preserve.hpp"
#include "plugins/topology/score/score.hpp"
#include "plugins/topology/verdict/zone_use.hpp"

namespace plimsoll::topology {

// Aligned placements score kUnaligned + 1 to 100, others 0 to kUnaligned.
inline constexpr int64_t kUnaligned = 24;

// Of an aligned placement that scored 0 to 100 among its like.
[[nodiscard]] constexpr int64_t aligned_score(int64_t score) {
  return kUnaligned + 1 + score * (kMaxScore - kUnaligned - 1) / kMaxScore;
}

// One pod and one strategy, asked about many nodes.
class ZoneScore {
 public:
  // `tied`: some kubelet may give the pod something from zones (PodDemand::asks).
  ZoneScore(const ScoringStrategy& strategy, const plimsoll_pod& pod, bool tied);
  // `request`: of the pod, where it was read before.
  ZoneScore(const ScoringStrategy& strategy, const plimsoll_pod& pod, const PodRequest& request,
            bool tied);

  // `zones` null: the node reported no topology. `use`: where the pod would land on it, as the
  // ledger's `use` tells; null: its kubelet would refuse it. Not looked at unless the pod is tied.
  [[nodiscard]] int64_t on(const plimsoll_numa_node* zones, const plimsoll_numa_use* use,
                           const NodeCpu& cpu) const;
  // The same of a landing with `taking` (ledger_service.hpp, `land_many`). `room`: memory for it.
  [[nodiscard]] int64_t on(const plimsoll_numa_landing& landing, const NodeCpu& cpu,
                           OneZoneUse& room) const;
  // The same of many nodes that are alike, with `taking`: alike_scores.hpp.
  [[nodiscard]] bool covers_alike() const;
  void on_alike(const plimsoll_numa_alike& nodes, uint8_t* scores) const;
  // Whether the score is kMaxScore wherever it is asked.
  [[nodiscard]] bool is_always_most() const {
    return !tied_ && type_ != Strategy::kPreserveLargeZones;
  }
  // Whether NodeCpu has a say.
  [[nodiscard]] bool reads_cpu() const { return type_ == Strategy::kPreserveLargeZones; }

 private:
  [[nodiscard]] int64_t allocated(const plimsoll_numa_node& node,
                                  const plimsoll_numa_use& use) const;
  [[nodiscard]] int64_t allocated(const plimsoll_numa_landing& landing) const;

  Strategy type_;
  bool tied_;
  PodWeights weights_;
  WidthCost width_cost_;
};

}  // namespace plimsoll::topology

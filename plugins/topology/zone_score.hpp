#pragma once
// Scores on the zones that a pod will really use: view Predicted of TopologyScore. 0 to 100; pure;
// any thread. Formulas and reasons in docs/topology.md, "Scores".
//
// LeastAllocated, MostAllocated and BalancedAllocation look at how full those zones are once every
// container has its share, against what they can allocate. LeastNUMANodes looks at how many zones
// the widest container needs and how far apart they are. PreserveLargeZones (preserve.hpp) looks at
// what the pod destroys for wider pods.
//
// With the others than LeastNUMANodes, a placement that is wider than the zones' sizes call for, or
// that the node's policy does not keep to, scores below every aligned one.

#include <cstdint>
#include <vector>

#include "plugins/topology/preserve.hpp"
#include "plugins/topology/score.hpp"
#include "plugins/topology/zone_use.hpp"

namespace plimsoll::topology {

// Aligned placements score kUnaligned + 1 to 100, others 0 to kUnaligned.
inline constexpr int64_t kUnaligned = 24;

// One pod and one strategy, asked about many nodes.
class ZoneScore {
 public:
  ZoneScore(const ScoringStrategy& strategy, const PodRequest& pod);

  // `zones` null: the node reported no topology. `use` is memory that calls reuse, one per thread.
  [[nodiscard]] int64_t on(const plimsoll_numa_node* zones, const NodeCpu& cpu, ZoneUse& use) const;

 private:
  [[nodiscard]] int64_t allocated(const plimsoll_numa_node& node, const ZoneUse& use) const;

  Strategy type_;
  bool has_pinned_;
  ZonePredictor predictor_;
  std::vector<int64_t> weights_;  // of predictor_.resources()
  WidthCost width_cost_;
};

}  // namespace plimsoll::topology

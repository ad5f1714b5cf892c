#pragma once
// The arguments of TopologyScore:
//   {scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 1}, ...]},
//    zoneView: Predicted}

#include <cstdint>
#include <string_view>

#include "plugins/topology/score/score.hpp"

namespace plimsoll::topology {

// Which zones a score looks at.
enum class ZoneView : uint8_t {
  kPredicted,  // those that the kubelet will use (zone_score.hpp)
  kMinimum     // all: the lowest score counts, as the reference has it (score.hpp)
};

struct ScoreArgs {
  ScoringStrategy strategy;
  ZoneView view = ZoneView::kPredicted;
};

// Empty and null are the defaults. Throws std::runtime_error with every problem and its path.
[[nodiscard]] ScoreArgs parse_score_args(std::string_view json);

}  // namespace plimsoll::topology

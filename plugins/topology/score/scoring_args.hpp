#pragma once
// The argument `scoringStrategy`, shared by NodeResourceTopologyMatch and TopologyScore:
//   {type: LeastAllocated, resources: [{name: cpu, weight: 1}, ...]}

#include "plugins/topology/score/score.hpp"

namespace plimsoll::sdk {
class Args;
}

namespace plimsoll::topology {

// Which strategies a plugin has: those of the reference, or PreserveLargeZones too.
enum class Offered { kReference, kAll };

// Reads the field of `args`; what is wrong keeps its default. A strategy without resources weighs
// cpu and memory 1. Any thread.
[[nodiscard]] ScoringStrategy read_scoring_strategy(sdk::Args& args,
                                                    Offered offered = Offered::kReference);

}  // namespace plimsoll::topology

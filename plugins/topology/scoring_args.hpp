#pragma once
// The argument `scoringStrategy`, shared by NodeResourceTopologyMatch and TopologyScore:
//   {type: LeastAllocated, resources: [{name: cpu, weight: 1}, ...]}

#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/score.hpp"

namespace plimsoll::topology {

// `json` is the value of scoringStrategy. Every problem is appended to `errors` with the path of
// its field, in the words of Kubernetes' field errors; what is wrong keeps its default. A strategy
// without resources weighs cpu and memory 1. Any thread.
[[nodiscard]] ScoringStrategy parse_scoring_strategy(std::string_view json,
                                                     std::vector<std::string>& errors);

// The errors as one text, as Kubernetes prints an aggregate: "a", or "[a, b]".
[[nodiscard]] std::string aggregate(const std::vector<std::string>& errors);

}  // namespace plimsoll::topology

#pragma once
// The argument `scoringStrategy`, shared by NodeResourceTopologyMatch and TopologyScore:
//   {type: LeastAllocated, resources: [{name: cpu, weight: 1}, ...]}

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/score.hpp"

namespace plimsoll::topology {

// Which strategies a plugin has: those of the reference, or PreserveLargeZones too.
enum class Offered { kReference, kAll };

// `json` is the value of scoringStrategy. Every problem is appended to `errors` with the path of
// its field, in the words of Kubernetes' field errors; what is wrong keeps its default. A strategy
// without resources weighs cpu and memory 1. Any thread.
[[nodiscard]] ScoringStrategy parse_scoring_strategy(std::string_view json,
                                                     std::vector<std::string>& errors,
                                                     Offered offered = Offered::kReference);

// What to add to an error about a value that is none of `known`: `, did you mean "..."?` if one of
// them is spelled much like it, else nothing.
[[nodiscard]] std::string did_you_mean(std::string_view value,
                                       std::span<const std::string_view> known);

// The errors as one text, as Kubernetes prints an aggregate: "a", or "[a, b]".
[[nodiscard]] std::string aggregate(const std::vector<std::string>& errors);

}  // namespace plimsoll::topology

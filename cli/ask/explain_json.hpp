#pragma once
// What `plimsoll explain` and `plimsoll debug` print as JSON; docs/operations.md describes it.

#include <cstddef>
#include <string>
#include <vector>

#include "framework/cycle/inspect/explain.hpp"
#include "framework/cycle/inspect/snapshot.hpp"
#include "framework/cycle/inspect/state_compare.hpp"

namespace plimsoll::cli {

// `max_fitting`: the number of best fitting nodes to include. The pod must have been found.
[[nodiscard]] std::string explanation_json(const Explanation& explanation, size_t max_fitting);

// Why there is nothing to explain; empty if there is something.
[[nodiscard]] std::string explanation_problem(const Explanation& explanation);

[[nodiscard]] std::string snapshot_json(const StateSnapshot& snapshot);

// {"standby": ..., "loopMilliseconds": ..., "queue": [...]} of it.
[[nodiscard]] std::string queue_json(const StateSnapshot& snapshot);

[[nodiscard]] std::string differences_json(const std::vector<StateDifference>& differences,
                                           const ApiListing& listing);

// Amounts by resource name in Kubernetes' notation: "cpu=1500m memory=2Gi".
[[nodiscard]] std::string amounts_text(const std::vector<std::string>& resource_names,
                                       const std::vector<int64_t>& amounts);

}  // namespace plimsoll::cli

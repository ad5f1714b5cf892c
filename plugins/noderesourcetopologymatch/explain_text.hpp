#pragma once
// Why a node was refused, for people. Begins with the reference's words and goes on with what was
// short: resource, need, best zone, age of the report, promises in flight.

#include <string>

#include "plugins/topology/fit.hpp"

namespace plimsoll::topology {

[[nodiscard]] std::string explain_text(const PodRequest& pod, const plimsoll_numa_node* node,
                                       const NodeAllocatable& allocatable, Verdict verdict,
                                       int64_t now_ms, Scratch& scratch);

// An amount in base units as Kubernetes would spell it: "26", "1500m", "16Gi".
[[nodiscard]] std::string amount_text(std::string_view resource, int64_t amount);

}  // namespace plimsoll::topology

#pragma once
// LeastNUMANodes: the fewer zones a pod needs, the better; among as many, those close together.

#include <cstdint>

#include "plugins/topology/score/score.hpp"

namespace plimsoll::topology {

// 0 to 100; 0: it does not fit. Pure; any thread.
[[nodiscard]] int64_t least_numa_score(const PodRequest& pod, const plimsoll_numa_node& node,
                                       Scratch& scratch);

}  // namespace plimsoll::topology

#pragma once
// The score of a node by how much of its storage the pod's claims would use. Kubernetes:
// pkg/scheduler/framework/plugins/volumebinding/scorer.go. Pure; any thread.

#include <cstdint>
#include <vector>

#include "plugins/builtin/node_resources.hpp"
#include "plugins/builtin/volumes/volume_finder.hpp"

namespace plimsoll::volumes {

// 0 to 100. By class: of what the volumes that would be bound have, or, if none would be, of the
// capacity where volumes would be made.
[[nodiscard]] int64_t capacity_score(const NodePlan& plan,
                                     const std::vector<builtin::ShapePoint>& shape);

}  // namespace plimsoll::volumes

#pragma once
// A pod that is not there, for the question what would become of it.

#include <string_view>

#include "framework/api/objects.hpp"
#include "framework/base/result.hpp"

namespace plimsoll {
class SymbolTable;
}

namespace plimsoll::cli {

// The pod of a manifest, YAML or JSON, or the one that a Deployment or the like would make: without
// a node and under a UID that no pod has. What admission would add (LimitRanges, priorities,
// runtime classes) is not there.
[[nodiscard]] Result<PodRef> pod_of_manifest(std::string_view text, SymbolTable& symbols);

}  // namespace plimsoll::cli

#pragma once
// Which GPU models a pod asks for: what its nodeSelector and its required node affinity say about
// the label node.koordinator.sh/gpu-model. Pure; any thread.

#include <plimsoll/views.hpp>
#include <string>
#include <vector>

namespace plimsoll::devices {

// Sorted; empty: any. Terms are alternatives: if one of them leaves the model open, all models do.
[[nodiscard]] std::vector<std::string> wanted_models(sdk::Pod pod);

}  // namespace plimsoll::devices

#pragma once
// The fingerprint of a node's pods in the format of topology exporters (podfingerprint v1).

#include <string>
#include <utility>
#include <vector>

namespace plimsoll::sandbox {

// Pods as (namespace, name), in any order; duplicates count. Returns "pfp0v001" and 16 hex digits.
[[nodiscard]] std::string pod_fingerprint(
    const std::vector<std::pair<std::string, std::string>>& pods);

}  // namespace plimsoll::sandbox

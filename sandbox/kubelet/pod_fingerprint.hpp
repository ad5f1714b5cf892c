#pragma once
// The fingerprint of a node's pods as topology exporters publish it (podfingerprint v1).

#include <string>
#include <utility>
#include <vector>

namespace plimsoll::sandbox {

// Pods as (namespace, name), in any order; duplicates count. "pfp0v001" and 16 hex digits.
[[nodiscard]] std::string pod_fingerprint(
    const std::vector<std::pair<std::string, std::string>>& pods);

}  // namespace plimsoll::sandbox

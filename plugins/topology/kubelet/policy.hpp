#pragma once
// The Topology Manager's policies and scopes, by the names that a kubelet's configuration has.
// Kubernetes: topologyManagerPolicy and topologyManagerScope of KubeletConfiguration.

#include <cstdint>
#include <string_view>

namespace plimsoll::topology {

enum class Policy : uint8_t { kNone, kBestEffort, kRestricted, kSingleNumaNode };
enum class Scope : uint8_t { kContainer, kPod };

[[nodiscard]] constexpr std::string_view to_string(Policy policy) {
  switch (policy) {
    case Policy::kBestEffort:
      return "best-effort";
    case Policy::kRestricted:
      return "restricted";
    case Policy::kSingleNumaNode:
      return "single-numa-node";
    case Policy::kNone:
      break;
  }
  return "none";
}
[[nodiscard]] constexpr std::string_view to_string(Scope scope) {
  return scope == Scope::kPod ? "pod" : "container";
}

}  // namespace plimsoll::topology

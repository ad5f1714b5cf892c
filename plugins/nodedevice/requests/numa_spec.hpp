#pragma once
// What a pod or a node says about NUMA zones: the annotation numa-topology-spec and the label
// numa-topology-policy. Pure; any thread.

#include <string_view>

#include "plugins/nodedevice/devices/device_types.hpp"

namespace plimsoll::devices {

inline constexpr std::string_view kNumaAnnotation = "scheduling.koordinator.sh/numa-topology-spec";
inline constexpr std::string_view kNumaPolicyLabel = "node.koordinator.sh/numa-topology-policy";

// Policies of Koordinator, which are those of the kubelet's topology manager.
enum class NumaPolicy : uint8_t { kNone, kBestEffort, kRestricted, kSingleNode };

struct NumaSpec {
  NumaPolicy policy = NumaPolicy::kNone;
  // singleNUMANodeExclusive: pods in one zone and pods spread over several keep apart. Else that is
  // preferred.
  bool exclusive_required = false;

  bool operator==(const NumaSpec&) const = default;
};

// Fails with Koordinator's text, "invalid NUMATopologySpec annotation, err: ..."; an enumeration
// value that is not known is an error too. Empty: not set.
[[nodiscard]] Result<NumaSpec> parse_numa_spec(std::string_view annotation);

// A value that is not known, and "None", are no policy.
[[nodiscard]] NumaPolicy numa_policy_of_label(std::string_view label);

[[nodiscard]] std::string_view name_of(NumaPolicy policy);

}  // namespace plimsoll::devices

#pragma once
// The arguments of DynamicResources (kubescheduler.config.k8s.io/v1 DynamicResourcesArgs).

#include <plimsoll/host.hpp>

#include <cstdint>
#include <string_view>

namespace plimsoll::dra {

struct ClaimArgs {
  static constexpr const char* kDefaults =
      R"({"filterTimeout":"10s","bindingTimeout":"10m0s","deviceOrder":"reference"})";
  int64_t filter_timeout_ms = 10'000;  // accepted; a node's search is bounded by work, not by time
  int64_t binding_timeout_ms = 600'000;
  // Which of the valid solutions a pod gets: the first in kube-scheduler's order; of those with the
  // most devices in the zones where the kubelet will put the pod's CPUs and memory the first; only
  // one with all of them there.
  enum class Order : uint8_t { kReference, kTopology, kRequire };
  Order order = Order::kReference;  // deviceOrder
  // featureGates: what kube-scheduler's flag of that name says of these; both are off there.
  bool list_attributes = false;   // DRAListTypeAttributes
  bool node_allocatable = false;  // DRANodeAllocatableResources (KEP-5517)
};

// Throws `path: problem` lines.
[[nodiscard]] ClaimArgs parse_claim_args(const sdk::Host& host, std::string_view args_json);

}  // namespace plimsoll::dra

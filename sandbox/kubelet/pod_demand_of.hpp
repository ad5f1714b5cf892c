#pragma once
// A pod's amounts as the kubelet library wants them.

#include <nlohmann/json_fwd.hpp>

#include "plugins/topology/kubelet/pod_demand.hpp"
#include "sandbox/kubelet/node_kind.hpp"
#include "sandbox/kubelet/pod_amounts.hpp"

namespace plimsoll::sandbox {

// `pod` is where `amounts` came from. Prepared.
[[nodiscard]] topology::kubelet::PodDemand pod_demand_of(const nlohmann::json& pod,
                                                         const PodAmounts& amounts,
                                                         ResourceIndex& resources);

}  // namespace plimsoll::sandbox

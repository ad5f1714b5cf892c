#pragma once
// Converts a pod's amounts for the kubelet library.

#include <nlohmann/json_fwd.hpp>

#include "lab/sandbox/admission/pod_amounts.hpp"
#include "lab/sandbox/kubelet/node_kind.hpp"
#include "plugins/topology/kubelet/pod_demand.hpp"

namespace plimsoll::sandbox {

// `pod` is the source of `amounts`. The result is prepared.
[[nodiscard]] topology::kubelet::PodDemand pod_demand_of(const nlohmann::json& pod,
                                                         const PodAmounts& amounts,
                                                         ResourceIndex& resources);

}  // namespace plimsoll::sandbox

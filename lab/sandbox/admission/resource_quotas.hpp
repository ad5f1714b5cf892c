#pragma once
// kube-apiserver's admission plugin ResourceQuota for pods and claims, with what the quota
// controller does for it: status.used is counted when it is missing, and counted again before an
// object is refused, as pods end and go. Any thread.

#include <nlohmann/json_fwd.hpp>

#include "framework/api/requests.hpp"
#include "lab/sandbox/store/api_status.hpp"
#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::sandbox {

// Counts a new object in the ResourceQuotas of its namespace, by the order of their names. 403 if
// one has no room for it, or if a container of the pod does not say what a quota limits.
// `resources` are those of the pod.
[[nodiscard]] ApiResult<void> charge_pod(ObjectStore& store, const nlohmann::json& pod,
                                         const PodResources& resources);
[[nodiscard]] ApiResult<void> charge_claim(ObjectStore& store, const nlohmann::json& claim);

}  // namespace plimsoll::sandbox

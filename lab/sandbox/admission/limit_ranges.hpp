#pragma once
// kube-apiserver's admission plugin LimitRanger (plugin/pkg/admission/limitranger), and the
// defaults of a LimitRange itself. Any thread.

#include <nlohmann/json_fwd.hpp>

#include "framework/api/requests.hpp"
#include "lab/sandbox/store/api_status.hpp"
#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::sandbox {

// SetDefaults_LimitRangeItem: of the type Container, default is max, and defaultRequest is default,
// or else min, where they are missing.
void set_limit_range_defaults(nlohmann::json& range);

// Gives the containers of a new pod the requests and limits that they do not have themselves, by
// the LimitRanges of its namespace in the order of their names. Limits that the containers have
// became requests before.
void add_limit_range_defaults(const ObjectStore& store, nlohmann::json& pod);

// 403 if a new pod or claim is not within min, max and maxLimitRequestRatio of a LimitRange of its
// namespace. `resources` are those of the pod.
[[nodiscard]] ApiResult<void> check_pod_limits(const ObjectStore& store, const nlohmann::json& pod,
                                               const PodResources& resources);
[[nodiscard]] ApiResult<void> check_claim_limits(const ObjectStore& store,
                                                 const nlohmann::json& claim);

}  // namespace plimsoll::sandbox

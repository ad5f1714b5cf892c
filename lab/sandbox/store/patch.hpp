#pragma once
// The three patch formats of the Kubernetes API, applied to an object in place.

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "lab/sandbox/store/api_status.hpp"

namespace plimsoll::sandbox {

// JSON merge patch (RFC 7386).
void apply_merge_patch(nlohmann::json& object, const nlohmann::json& patch);

// Strategic merge patch: like a merge patch, but lists of objects are merged by the list's merge
// key (conditions by type, containers by name, taints by key, ...), lists of finalizers as sets.
// The directives $patch, $deleteFromPrimitiveList and $retainKeys are supported; $setElementOrder
// is accepted and has no effect on the order.
void apply_strategic_merge_patch(nlohmann::json& object, const nlohmann::json& patch);

// JSON patch (RFC 6902). Fails with 422 if an operation does not apply.
ApiResult<void> apply_json_patch(nlohmann::json& object, const nlohmann::json& patch);

// Selects the format by content type; 415 for one that is not supported. `builtin` says whether the
// kind is one of Kubernetes' own (strategic merge patch is not defined for custom resources).
ApiResult<void> apply_patch(nlohmann::json& object, std::string_view content_type,
                            const nlohmann::json& patch, bool builtin);

}  // namespace plimsoll::sandbox

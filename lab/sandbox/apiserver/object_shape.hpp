#pragma once
// The minimum shape that every reader of a stored object relies on.

#include <nlohmann/json_fwd.hpp>

#include "lab/sandbox/apiserver/api_status.hpp"

namespace plimsoll::sandbox {

// Checks that metadata, spec and status are objects where present, and that labels and annotations
// map strings to strings or null (set_object_defaults makes "" of it). Fails with 400 and the path.
ApiResult<void> check_shape(const nlohmann::json& object);

// A member that is an object; an empty object if there is none.
[[nodiscard]] const nlohmann::json& object_in(const nlohmann::json& owner, const char* key);

}  // namespace plimsoll::sandbox

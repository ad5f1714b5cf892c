#pragma once
// The least that every reader of a stored object relies on.

#include <nlohmann/json_fwd.hpp>

#include "sandbox/apiserver/api_status.hpp"

namespace plimsoll::sandbox {

// metadata, spec and status are objects where present; labels and annotations map strings to
// strings. 400 with the path otherwise.
ApiResult<void> check_shape(const nlohmann::json& object);

}  // namespace plimsoll::sandbox

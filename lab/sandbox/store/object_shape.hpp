#pragma once
// The minimum shape that every reader of a stored object relies on, and how a typed decoder reads
// what is null or missing.

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "lab/sandbox/store/api_status.hpp"

namespace plimsoll::sandbox {

// Checks that metadata, spec and status are objects where present, and that labels and annotations
// map strings to strings or null (admit_object makes "" of it). Fails with 400 and the path.
ApiResult<void> check_shape(const nlohmann::json& object);

// A member that is an object; an empty object if there is none.
[[nodiscard]] const nlohmann::json& object_in(const nlohmann::json& owner, const char* key);

// Calls `change` for each item of a member that is a list.
void for_each_in(nlohmann::json& owner, const char* key,
                 const std::function<void(nlohmann::json& item)>& change);

// Compact JSON text; bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string json_text(const nlohmann::json& value);

// Sets a field that is missing, null or "".
void set_default(nlohmann::json& object, const char* key, nlohmann::json value);

// What is null in the labels, annotations, parameters, and simple selectors of an object becomes
// "", as typed decoders read it.
void settle_texts(nlohmann::json& object);

// The same for amounts, of which null is "0" (Quantity.UnmarshalJSON), and which are rounded up to
// thousandths (SetDefaults_ResourceList).
void settle_amounts(nlohmann::json& owner, const char* map);

}  // namespace plimsoll::sandbox

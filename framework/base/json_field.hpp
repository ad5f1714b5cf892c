#pragma once
// Reads single fields of JSON from others. A field that is missing or of another type counts as
// empty. Pure; any thread.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace plimsoll {

// The text of a field; empty if `object` is not an object, or if the field is missing or not a
// string.
[[nodiscard]] std::string text_at(const nlohmann::json& object, const char* key);

}  // namespace plimsoll

#pragma once
// Reading single fields of JSON that somebody else wrote: what is missing or of another type is as
// if it were empty. Pure; any thread.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace plimsoll {

// The text of a field; empty if `object` is no object, has no such field, or it is no string.
[[nodiscard]] std::string text_at(const nlohmann::json& object, const char* key);

}  // namespace plimsoll

#pragma once
// Values deep in a JSON object. Pure; any thread.

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace plimsoll {

// The value at this path, or null.
[[nodiscard]] const nlohmann::json& value_at(const nlohmann::json& object,
                                             std::initializer_list<const char*> path);
// The text at this path; empty if there is none.
[[nodiscard]] std::string text_in(const nlohmann::json& object,
                                  std::initializer_list<const char*> path);

}  // namespace plimsoll

#pragma once
// Formats an explanation for people, from its JSON (explain_json.hpp).

#include <cstddef>
#include <string>
#include <string_view>

namespace plimsoll::cli {

// Shows at most `max_nodes` fitting nodes, best first; nodes rejected for the same reason are
// grouped. `json` is the result of explanation_json.
[[nodiscard]] std::string explain_text(std::string_view json, size_t max_nodes);

}  // namespace plimsoll::cli

#pragma once
// An explanation for people, from its JSON (explain_json.hpp).

#include <cstddef>
#include <string>
#include <string_view>

namespace plimsoll::cli {

// At most `max_nodes` of the nodes that fit, best first; nodes that are refused for the same reason
// are put together. `json` is what explanation_json made.
[[nodiscard]] std::string explain_text(std::string_view json, size_t max_nodes);

}  // namespace plimsoll::cli

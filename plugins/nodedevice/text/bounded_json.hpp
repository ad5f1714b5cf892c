#pragma once
// JSON texts that anybody may have written. A value may be nested so deeply that copying, printing
// or destroying it needs more stack than there is: such a text is refused before it is parsed.
// Pure; any thread.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace plimsoll::devices {

// Objects and lists within one another. Kubernetes' own objects have about 20, managedFields
// included.
inline constexpr int kMaxJsonDepth = 64;

// A discarded value (is_discarded()) if it is not JSON, or nested more deeply.
[[nodiscard]] nlohmann::json parse_bounded_json(std::string_view text);

// Why it is discarded, for people.
[[nodiscard]] std::string json_problem(std::string_view text);

}  // namespace plimsoll::devices

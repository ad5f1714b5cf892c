#pragma once
// Kubernetes quantities as they stand in JSON texts, to and from whole units. Pure; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::devices {

// The value in whole units, rounded up as Quantity.Value does ("1500m" is 2, "-0.5" is 0),
// saturating. Nothing: the text is not a quantity.
[[nodiscard]] std::optional<int64_t> parse_quantity(std::string_view text);

// The shortest text that Kubernetes itself would write: 15000 as "15k".
[[nodiscard]] std::string decimal_text(int64_t value);
// The same with binary suffixes: 17179869184 as "16Gi".
[[nodiscard]] std::string binary_text(int64_t value);

}  // namespace plimsoll::devices

#pragma once
// Amounts of resources for people, who compare them: one decimal at most, with a unit.

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

// Whether a resource is counted in bytes.
[[nodiscard]] bool is_in_bytes(std::string_view resource);

// The unit that suits an amount, in base units (thousandths of a CPU): 1,024 to this power. 0 of
// what is not in bytes.
[[nodiscard]] int unit_for(std::string_view resource, int64_t amount);

// "1.5", "16Gi", "100.3Gi"; rounded down. `unit`: as unit_for has it.
[[nodiscard]] std::string readable_amount(std::string_view resource, int64_t amount, int unit);
[[nodiscard]] std::string readable_amount(std::string_view resource, int64_t amount);

}  // namespace plimsoll

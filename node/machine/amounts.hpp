#pragma once
// Resource lists as integers: milli units for cpu, whole units (rounded up) for everything else.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"

namespace plimsoll::node {

using Amounts = std::map<std::string, std::int64_t>;

inline constexpr std::int64_t kMilli = 1000;  // of a CPU

// One quantity of a resource, given as a JSON string or number.
[[nodiscard]] Result<std::int64_t> parse_amount(std::string_view resource,
                                                const nlohmann::json& quantity);

// A resource list ({"cpu": "2", "memory": "1Gi"}); null is an empty one. Malformed quantities fail
// with the resource's name.
[[nodiscard]] Result<Amounts> parse_amounts(const nlohmann::json& list);

// "1500m", "2", "1073741824".
[[nodiscard]] std::string format_amount(std::string_view resource, std::int64_t amount);

// into += amounts / into = max(into, amounts), by resource.
void add_amounts(Amounts& into, const Amounts& amounts);
void max_amounts(Amounts& into, const Amounts& amounts);

// The amount of a resource, 0 if it is not listed.
[[nodiscard]] std::int64_t amount_of(const Amounts& amounts, std::string_view resource);

}  // namespace plimsoll::node

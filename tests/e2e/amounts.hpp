#pragma once
// Quantities as the recount sees them: an implementation of its own, so that an error in the
// scheduler's cannot hide itself.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace plimsoll::test {

// Resource name -> amount: milli for cpu, whole units for all others.
using Amounts = std::map<std::string, std::int64_t>;

// "500m", "4Gi", "1e3", ...; what is no whole unit is rounded up. Throws std::invalid_argument for
// anything else: in a test that is a broken test.
[[nodiscard]] std::int64_t amount_of(std::string_view resource, std::string_view quantity);
// A ResourceList; null is an empty one.
[[nodiscard]] Amounts amounts_of(const nlohmann::json& resource_list);

// 0 if the name is not in it.
[[nodiscard]] std::int64_t get(const Amounts& amounts, const std::string& resource);
void add(Amounts& to, const Amounts& more);
// Each resource becomes the greater of both.
void raise(Amounts& to, const Amounts& least);
// Whether every resource of `wanted` that is not zero is there.
[[nodiscard]] bool fits(const Amounts& wanted, const Amounts& there);
// What is left of `all` after `used`; below 0 where too much is used. Only names in `all`.
[[nodiscard]] Amounts left_of(const Amounts& all, const Amounts& used);
// "cpu=500, memory=1024", for messages.
[[nodiscard]] std::string to_string(const Amounts& amounts);

}  // namespace plimsoll::test

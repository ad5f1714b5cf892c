#pragma once
// Claims, classes and slices as values, out of their v1 JSON: as the vectors write them, no more.

#include <nlohmann/json.hpp>

#include "plugins/dynamicresources/values/claim.hpp"
#include "plugins/dynamicresources/values/slice.hpp"

namespace plimsoll::dra::test {

using Json = nlohmann::json;

// An object's member that is an object; an empty one if it is missing.
[[nodiscard]] const Json& entries(const Json& object, const char* key);

[[nodiscard]] Slice slice_of(const Json& object);
[[nodiscard]] Claim claim_of(const Json& object);
[[nodiscard]] DeviceClass class_of(const Json& object);
[[nodiscard]] Quantity quantity_of(const Json& value);

// The other way: what is compared. Quantities in nanos, values of selectors sorted.
[[nodiscard]] Json json_of(const Allocation& allocation);
// The same of a vector's AllocationResult.
[[nodiscard]] Json comparable(const Json& allocation);

}  // namespace plimsoll::dra::test

#pragma once
// Claims, classes and slices as values, out of the SDK's structs (<plimsoll/claims.h>). Pure.

#include <plimsoll/claims.h>

#include <string>
#include <vector>

#include "plugins/dynamicresources/values/claim.hpp"
#include "plugins/dynamicresources/values/slice.hpp"

namespace plimsoll::dra {

// Without the taints of rules. An amount that cannot be parsed does not occur: the slice is then
// unreadable as a whole.
[[nodiscard]] Slice read_slice(const plimsoll_resource_slice& object);
[[nodiscard]] DeviceClass read_class(const plimsoll_device_class& object);
// What the claim asks for.
[[nodiscard]] Claim read_claim(const plimsoll_resource_claim& object);
// What its status says it has.
[[nodiscard]] std::vector<DeviceResult> read_results(const plimsoll_resource_claim& object);
// Nothing in the status differs that a scheduler reads.
[[nodiscard]] bool same_status(const plimsoll_resource_claim& a, const plimsoll_resource_claim& b);
// The UID of the owner that controls the object; empty: none does.
[[nodiscard]] std::string_view controller_uid(const plimsoll_meta& meta);
// The pod for whose extended resources a claim was made, by UID; empty: it is another claim.
[[nodiscard]] std::string_view pod_of_extended(const plimsoll_meta& meta);
[[nodiscard]] NodeSelector read_selector(const plimsoll_list& terms);

}  // namespace plimsoll::dra

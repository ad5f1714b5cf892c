#pragma once
// Calls of Koordinator's allocator that narrow down what may be given, as its reservations and
// preemption do. There are no reservations here; the same limits are put on the node instead, and
// what is given within them is compared.

#include <set>
#include <string>

#include "tests/conformance/device_rules.hpp"

namespace plimsoll::conformance {

// Whether the call has any: "required" or "preferred" minors, "requiredDeviceResources",
// "preemptibleDeviceResources".
[[nodiscard]] bool has_limits(const Json& test_case);

// Brings the node into the state that the call describes: devices that are not required cannot be
// given, of required resources no more than they say is left, and preemptible amounts are free
// again.
void apply_limits(const Json& test_case, DeviceScene& scene);

// As judge_step. Besides: the minors may differ where both give, or both refuse, and ours is right
// by itself: which of the allowed devices is better, the reference decides by reservations.
[[nodiscard]] std::set<std::string> judge_limited(const DeviceStep& step, Findings& findings);

}  // namespace plimsoll::conformance

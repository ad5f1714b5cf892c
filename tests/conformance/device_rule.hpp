#pragma once
// The rules one by one (private to device_rules.cpp): by which input a decision comes under each,
// and whether the rule explains both answers.

#include <set>
#include <string>

#include "tests/conformance/device_right.hpp"
#include "tests/conformance/device_rules.hpp"

namespace plimsoll::conformance {

inline constexpr const char* kShared = "W1 shared devices by what is really free on them";
inline constexpr const char* kExclusive = "W2 PCIeLevel keeps away from PCIe ids in use";
inline constexpr const char* kPartitions = "W3 partitions of higher allocationScore first";
inline constexpr const char* kPercent = "W4 bytes decide, not percent that were cut off";
inline constexpr const char* kJoint = "W6 joint allocation tries other PCIe ids";
inline constexpr const char* kLimits =
    "W7 reserved and preemptible devices: choice within the limits";
inline constexpr const char* kMissing = "W8 a resource that a device does not report is not there";

// ---- both answers, and the GPUs in them
[[nodiscard]] int gpu_type();
// Null: the pod asks for no GPU.
[[nodiscard]] const devices::TypeRequest* gpu_request(const DeviceStep& step);
[[nodiscard]] Json answer(const Json& filter, const Json& allocation);
[[nodiscard]] std::set<int> minors_in(const Json& allocation);
[[nodiscard]] std::set<int> minors_of(const DeviceStep& step);

// ---- W1: one shared GPU, on a node where each has a topology. The reference's scores of devices
// in use are all the same.
[[nodiscard]] bool comes_under_shared(const DeviceStep& step);
[[nodiscard]] bool shared_explains(const DeviceStep& step, std::set<std::string>& rules);

// ---- W2: what the allocator does without the policy is what the reference does with it.
[[nodiscard]] bool comes_under_exclusive(const DeviceStep& step);
[[nodiscard]] bool exclusive_explains(const DeviceStep& step, const Json& reference);

// ---- W3: whole GPUs, and a table with partitions of different scores.
[[nodiscard]] bool comes_under_partitions(const DeviceStep& step);
// The reference gives the first partition by rising scores, or cannot follow to it with the other
// types. Ours is the first by falling scores, or if that does not do for all types another.
[[nodiscard]] bool partitions_explain(const DeviceStep& step, std::set<std::string>& rules);

// ---- W4: a GPU asked for in bytes that are no whole percent of the card.
// Replaces the percent in the reference's answer by the right ones, if they are what it would give;
// returns how many it replaced.
[[nodiscard]] size_t correct_percent(const DeviceStep& step, Json& allocation);
// The pod asks for percent, and what others have in bytes is more than the percent that are on
// record: the reference gives more bytes than the card has.
[[nodiscard]] bool is_overcommitted(const DeviceStep& step, const Json& allocation);

// ---- W6: types that have to be at the same PCIe ids; the reference makes one attempt.
[[nodiscard]] bool comes_under_joint(const DeviceStep& step);
[[nodiscard]] bool joint_explains(const DeviceStep& step);

// ---- W8: the reference takes a resource that a device does not report to be there.
[[nodiscard]] bool comes_under_missing(const DeviceStep& step);

}  // namespace plimsoll::conformance

#pragma once
// What may be given to a pod, spelled out device by device without any code of the allocator.

#include <string>

#include "tests/conformance/device_rules.hpp"

namespace plimsoll::conformance {

struct DeviceWant {
  devices::Amounts per_device;
  int64_t count = 1;
};

// Null: the pod has no hint for that type.
[[nodiscard]] const devices::TypeHint* hint_of(const DeviceStep& step, int type);
// How many devices of a type, and what of each, after the hints that change that.
[[nodiscard]] DeviceWant want_of(const DeviceStep& step, int type);
// With bytes and percent of a GPU's memory both filled in: bytes rounded down, percent rounded up
// but never beyond what the card has left.
[[nodiscard]] devices::Amounts amounts_due(int type, const devices::Amounts& asked,
                                           const devices::DeviceState& device);
// Why the pod cannot have this device; empty: it can. The reference does not care for PCIe ids in
// use, whatever exclusivePolicy says.
enum class Exclusive { kHonoured, kIgnored };
[[nodiscard]] std::string problem_with(const DeviceStep& step, int type,
                                       const devices::Amounts& asked,
                                       const devices::DeviceState& device,
                                       Exclusive exclusive = Exclusive::kHonoured);
// Enough devices that the pod can have one by one, within one part of the node if it requires that.
[[nodiscard]] bool is_possible(const DeviceStep& step, int type);

}  // namespace plimsoll::conformance

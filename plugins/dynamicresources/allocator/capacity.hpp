#pragma once
// How much of a device's capacity a request takes (KEP-5075; structured/internal/incubating,
// consumable_capacity.go). Pure.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/dynamicresources/values/device.hpp"

namespace plimsoll::dra {

// An amount as it goes into sums: what no device has (beyond 2^100 nanos) counts as that much, so
// that 100 million of them can be added.
[[nodiscard]] constexpr Quantity::Nanos countable(const Quantity& amount) {
  constexpr Quantity::Nanos kMost = Quantity::Nanos{1} << 100;
  return amount.nanos() > kMost ? kMost : amount.nanos() < -kMost ? -kMost : amount.nanos();
}

enum class CapacityFault : uint8_t { kNone, kNotRepresentable, kNegative };

struct Consumption {
  std::vector<Quantity> amounts;  // in the order of the device's capacities
  bool fits = false;              // the device as a whole has room for them, and its policies agree
  CapacityFault fault = CapacityFault::kNone;
  std::string error;  // where there is a fault: `capacity "memory": ...`
};

// `requests` by the names that the device itself uses. A name that the device lacks: it does not
// fit. A fault: what is asked for, or what a policy makes of it, cannot be counted with; that is an
// error for the pod.
[[nodiscard]] Consumption consumption(const Device& device,
                                      const std::map<std::string, Quantity>& requests);

}  // namespace plimsoll::dra

#pragma once
// The devices of one type on one node once more, in little room: what can be asked of thousands of
// nodes for every pod. Bit i and column i are the device at position i.
//
// A plain value, brought up to date by NodeState whenever a device changes.

#include <bit>
#include <cstdint>
#include <vector>

#include "plugins/nodedevice/devices/device_types.hpp"

namespace plimsoll::devices {

inline constexpr size_t kMaxSummarised = 64;

struct TypeSummary {
  bool valid = false;      // there are at most kMaxSummarised devices
  bool uniform = false;    // all that are healthy have the same total, which is `total`
  bool complete = false;   // every device is in the Device object: positions are those there
  bool reported = false;   // some device is in the Device object
  uint32_t count = 0;      // devices
  uint64_t available = 0;  // healthy, and neither withheld nor held as a whole
  uint64_t healthy = 0;
  uint64_t in_use = 0;  // somebody has a share of it
  Amounts total;
  // What is left of each, by dimension: `count` numbers for the first that any device reports, then
  // for the next.
  std::vector<int64_t> free;
  // Over all devices.
  Amounts total_sum;
  Amounts free_sum;

  // Only of dimensions that are present in total_sum.
  [[nodiscard]] const int64_t* free_of(size_t dim) const {
    const auto before = std::popcount(total_sum.present & ((1U << dim) - 1U));
    return free.data() + static_cast<size_t>(before) * count;
  }
};

}  // namespace plimsoll::devices

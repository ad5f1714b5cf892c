#pragma once
// Sets of NUMA zones as bit masks (bit i: the zone with id i), and the order in which they are
// tried. Pure; any thread.

#include <cstdint>
#include <functional>

namespace plimsoll::devices {

using ZoneSet = uint64_t;
inline constexpr ZoneSet kAnyZone = ~ZoneSet{0};

// More sets are not tried: with 12 zones and fewer all are.
inline constexpr int kMaxZoneSets = 4096;

[[nodiscard]] constexpr ZoneSet zone_bit(int zone) {
  return zone >= 0 && zone < 64 ? ZoneSet{1} << zone : 0;
}

// Calls `use` with every set of `width` zones of `zones`, the lowest first as the kubelet counts
// (the smaller number), until it returns true; returns whether it did. `left` is lowered with each
// set; at 0 the rest is not tried.
bool for_each_zone_set(ZoneSet zones, int width, int& left,
                       const std::function<bool(ZoneSet)>& use);

}  // namespace plimsoll::devices

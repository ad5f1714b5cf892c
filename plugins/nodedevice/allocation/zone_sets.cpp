#include "plugins/nodedevice/allocation/zone_sets.hpp"

#include <bit>
#include <vector>

namespace plimsoll::devices {

bool for_each_zone_set(ZoneSet zones, int width, int& left,
                       const std::function<bool(ZoneSet)>& use) {
  const int count = std::popcount(zones);
  if (width > count) return false;
  if (width == 0) return left-- > 0 && use(0);
  std::vector<ZoneSet> bits;
  for (ZoneSet rest = zones; rest != 0; rest &= rest - 1) bits.push_back(rest & (~rest + 1));
  // Positions of `bits` in the set, ascending; the next set raises the lowest that can be raised,
  // so sets come by the size of their number.
  std::vector<size_t> chosen(static_cast<size_t>(width));
  for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = i;
  while (left-- > 0) {
    ZoneSet set = 0;
    for (const size_t position : chosen) set |= bits[position];
    if (use(set)) return true;
    size_t i = 0;
    const auto limit = [&](size_t at) {
      return at + 1 < chosen.size() ? chosen[at + 1] : bits.size();
    };
    while (i < chosen.size() && chosen[i] + 1 == limit(i)) ++i;
    if (i == chosen.size()) return false;
    ++chosen[i];
    for (size_t below = 0; below < i; ++below) chosen[below] = below;
  }
  return false;
}

}  // namespace plimsoll::devices

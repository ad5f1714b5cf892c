#pragma once
// Walking zones and sets of zones.

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "plugins/topology/kubelet/merge.hpp"
#include "plugins/topology/kubelet/node.hpp"

namespace plimsoll::topology::kubelet {

// Sets of zones that are looked at one by one where there are more than kExactZones.
inline constexpr uint64_t kMaxMasks = 50'000;

[[nodiscard]] constexpr ZoneMask column_bit(uint32_t column) {
  return ZoneMask{1} << column;
}

// As std::has_single_bit, which counts all bits, by a call where the processor is not known to do
// it.
[[nodiscard]] constexpr bool is_single(ZoneMask mask) {
  return mask != 0 && (mask & (mask - 1)) == 0;
}

template <typename Visit>
void for_each_column(ZoneMask mask, Visit&& visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<uint32_t>(std::countr_zero(mask)));
}

[[nodiscard]] inline int64_t sum_over(std::span<const int64_t> by_column, ZoneMask mask) {
  int64_t sum = 0;
  for_each_column(mask, [&](uint32_t column) { sum += by_column[column]; });
  return sum;
}

// The zones that have `need` each.
[[nodiscard]] inline ZoneMask zones_with(const int64_t* cells, uint32_t zones, int64_t need) {
  ZoneMask mask = 0;
  for (uint32_t column = 0; column < zones; ++column) {
    mask |= ZoneMask{cells[column] >= need} << column;
  }
  return mask;
}

// How many sets of `size` zones there are; saturates above kMaxMasks.
[[nodiscard]] constexpr uint64_t choices(uint32_t zones, uint32_t size) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < size; ++i) {
    count = count * (zones - i) / (i + 1);
    if (count > kMaxMasks) return kMaxMasks + 1;
  }
  return count;
}

// Calls visit(mask) with each set of `size` of the zones `nodes`, ascending by number.
template <typename Visit>
void for_each_mask_of(ZoneMask nodes, uint32_t size, Visit&& visit) {
  const auto zones = static_cast<uint32_t>(std::popcount(nodes));
  if (size == 0 || size > zones) return;
  if (size == zones) return visit(nodes);
  std::array<ZoneMask, 64> bits{};
  uint32_t next = 0;
  for_each_column(nodes, [&](uint32_t column) { bits[next++] = column_bit(column); });
  // size < zones <= 64, so the packed number never needs the bit that would wrap.
  const ZoneMask last = ((ZoneMask{1} << size) - 1) << (zones - size);
  for (ZoneMask packed = (ZoneMask{1} << size) - 1;;) {
    ZoneMask mask = 0;
    for_each_column(packed, [&](uint32_t i) { mask |= bits[i]; });
    visit(mask);
    if (packed == last) return;
    const ZoneMask low = packed & -packed;
    const ZoneMask carry = packed + low;
    packed = carry | ((packed ^ carry) >> 2) / low;
  }
}

// Calls visit(mask) with each non-empty set of the zones `nodes`, small ones first. With more than
// kExactZones zones only as many sizes as kMaxMasks allows, and then all zones at once.
template <typename Visit>
void for_each_mask(ZoneMask nodes, Visit&& visit) {
  const auto zones = static_cast<uint32_t>(std::popcount(nodes));
  uint64_t seen = 0;
  for (uint32_t size = 1; size <= zones; ++size) {
    if (zones > kExactZones) {
      seen += choices(zones, size);
      if (seen > kMaxMasks) return visit(nodes);
    }
    for_each_mask_of(nodes, size, visit);
  }
}

}  // namespace plimsoll::topology::kubelet

#include "framework/placement/kept_score.hpp"

namespace plimsoll {

void KeptScore::count(int64_t value) {
  if (!normalizes) return;
  if (at_low == 0 && at_high == 0 && !extremes_stale) {
    low = high = value;
    at_low = at_high = 1;
    return;
  }
  if (extremes_stale) return;
  if (value < low) {
    low = value;
    at_low = 0;
  }
  if (value > high) {
    high = value;
    at_high = 0;
  }
  if (value == low) ++at_low;
  if (value == high) ++at_high;
}

void KeptScore::uncount(int64_t value) {
  if (!normalizes || extremes_stale) return;
  if (value == low && --at_low == 0) extremes_stale = true;
  if (value == high && --at_high == 0) extremes_stale = true;
}

void KeptScore::find_extremes(std::span<const uint32_t> slots) {
  extremes_stale = false;
  at_low = at_high = 0;
  raw.visit([&](const auto* scores) {
    for (const uint32_t slot : slots) count(scores[slot]);
  });
}

}  // namespace plimsoll

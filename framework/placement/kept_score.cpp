#include "framework/placement/kept_score.hpp"

#include "framework/runtime/score_loops.hpp"

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

bool KeptScore::add_raw(NodeRows rows, int64_t* totals) const {
  static_assert(kMinScore == 0);
  uint64_t outside = 0;  // without a branch: nearly always none is
  raw.visit([&](const auto* scores) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t score = scores[rows.slot(i)];
      outside |= static_cast<uint64_t>(score) > kMaxScore ? 1 : 0;
      totals[i] +=
          static_cast<int64_t>(static_cast<uint64_t>(weight) * static_cast<uint64_t>(score));
    }
  });
  return outside == 0;
}

}  // namespace plimsoll

#pragma once
// The loops over the scores of all nodes, compiled for several processor types.

#include <cstddef>
#include <cstdint>

namespace plimsoll {

// After normalizing (fwk.MinNodeScore, MaxNodeScore).
inline constexpr int64_t kMinScore = 0;
inline constexpr int64_t kMaxScore = 100;

// Whether every score is between 0 and `most`, inclusive.
[[nodiscard]] bool all_within(const int64_t* scores, size_t count, int64_t most);
// The highest score; `count` must be at least 1.
[[nodiscard]] int64_t highest_of(const int64_t* scores, size_t count);
// totals[i] += weight * scores[i].
void add_weighted(const int64_t* scores, size_t count, int64_t weight, int64_t* totals);

}  // namespace plimsoll

#pragma once
// The loops over the scores of all nodes, compiled for several kinds of processor.

#include <cstddef>
#include <cstdint>

namespace plimsoll {

// Whether every score is from 0 to `most`.
[[nodiscard]] bool all_within(const int64_t* scores, size_t count, int64_t most);
// The highest of at least one.
[[nodiscard]] int64_t highest_of(const int64_t* scores, size_t count);
// totals[i] += weight * scores[i].
void add_weighted(const int64_t* scores, size_t count, int64_t weight, int64_t* totals);

}  // namespace plimsoll

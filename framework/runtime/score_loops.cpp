#include "framework/runtime/score_loops.hpp"

// The compiler makes one version for each processor type; the program selects one when it starts.
// ThreadSanitizer is not ready at that time, and these loops have no races for it to find.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define PLIMSOLL_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define PLIMSOLL_EACH_PROCESSOR
#endif

namespace plimsoll {

// Without a branch: nearly always all scores are within the range.
PLIMSOLL_EACH_PROCESSOR
bool all_within(const int64_t* scores, size_t count, int64_t most) {
  uint64_t outside = 0;
  for (size_t i = 0; i < count; ++i) {
    outside |= static_cast<uint64_t>(scores[i]) > static_cast<uint64_t>(most) ? 1 : 0;
  }
  return outside == 0;
}

PLIMSOLL_EACH_PROCESSOR
int64_t highest_of(const int64_t* scores, size_t count) {
  int64_t highest = scores[0];
  for (size_t i = 1; i < count; ++i) highest = scores[i] > highest ? scores[i] : highest;
  return highest;
}

PLIMSOLL_EACH_PROCESSOR
void add_weighted(const int64_t* __restrict scores, size_t count, int64_t weight,
                  int64_t* __restrict totals) {
  for (size_t i = 0; i < count; ++i) totals[i] += weight * scores[i];
}

}  // namespace plimsoll

#pragma once
// The inner loops over node columns, compiled for several kinds of processor. Whole numbers and
// IEEE divisions only, in the order of the code that looks at one node: all of them give the same
// results as it does.

#include <cstddef>
#include <cstdint>
#include <limits>

namespace plimsoll::builtin {

// The amounts of one resource on neighbouring nodes, and what the pod adds.
struct LoadColumn {
  const int64_t* allocatable;
  const int64_t* allocated;
  int64_t add;
};

// The greatest number, if it is more: sums of a node stay there while some pod asks for all there
// can be.
[[nodiscard]] inline int64_t sum_of(int64_t a, int64_t b) {
  const auto sum = static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  return (~(a | b) & sum) < 0 ? std::numeric_limits<int64_t>::max() : sum;
}

// Marks a score that the code for one node has to compute: the node has no such resource, or
// amounts beyond what a double holds exactly.
inline constexpr int64_t kLeftOut = -1;

// lacks[i] |= need > allocatable - requested.
void mark_insufficient(size_t nodes, int64_t need, const int64_t* allocatable,
                       const int64_t* requested, uint8_t* lacks);
// lacks[i] |= whether there is no room for one more pod.
void mark_too_many_pods(size_t nodes, const uint32_t* pods, const int64_t* room, uint8_t* lacks);

// The length of the run of consecutive numbers at the beginning; at least one number is given.
[[nodiscard]] size_t run_length(const uint32_t* numbers, size_t count);

// The first mark that is not 0 from here on; count: there is none.
[[nodiscard]] size_t next_marked(const uint8_t* marks, size_t from, size_t count);

// These return whether any node is left out.
// NodeResourcesFit of two resources of equal weight.
bool score_least_allocated(size_t nodes, const LoadColumn& first, const LoadColumn& second,
                           int64_t* scores);
bool score_most_allocated(size_t nodes, const LoadColumn& first, const LoadColumn& second,
                          int64_t* scores);
// NodeResourcesBalancedAllocation of two resources.
bool score_balanced(size_t nodes, const LoadColumn& first, const LoadColumn& second,
                    int64_t* scores);

// PodTopologySpread. Go's math.Round, of sums that are not negative.
void round_all(const double* sums, size_t count, int64_t* scores);
// From 100 for the least score down, in proportion to the most; 100 for all if that is 0.
void fewer_is_better(int64_t least, int64_t most, size_t count, int64_t* scores);

}  // namespace plimsoll::builtin

#pragma once
// The inner loops over node columns, compiled for several kinds of processor. Whole numbers and
// IEEE divisions only, in the order of the code that looks at one node: all of them give the same
// results as it does.

#include <cstddef>
#include <cstdint>

namespace plimsoll::builtin {

// The amounts of one resource on neighbouring nodes, and what the pod adds.
struct LoadColumn {
  const int64_t* allocatable;
  const int64_t* allocated;
  int64_t add;
};

// A score that these loops leave to the code that looks at one node: no resource of this kind
// there, or amounts beyond what a double holds exactly.
inline constexpr int64_t kLeftOut = -1;

// lacks[i] |= whether need is more than allocatable less requested.
void mark_insufficient(size_t nodes, int64_t need, const int64_t* allocatable,
                       const int64_t* requested, uint8_t* lacks);
// lacks[i] |= whether there is no room for one more pod.
void mark_too_many_pods(size_t nodes, const uint32_t* pods, const int64_t* room, uint8_t* lacks);

// NodeResourcesFit of two resources of equal weight.
void score_least_allocated(size_t nodes, const LoadColumn& first, const LoadColumn& second,
                           int64_t* scores);
void score_most_allocated(size_t nodes, const LoadColumn& first, const LoadColumn& second,
                          int64_t* scores);
// NodeResourcesBalancedAllocation of two resources.
void score_balanced(size_t nodes, const LoadColumn& first, const LoadColumn& second,
                    int64_t* scores);

}  // namespace plimsoll::builtin

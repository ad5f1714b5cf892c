#pragma once
// Cost and memory of an object of n entries are linear in n, and the memory returns when the object
// is gone. For every list and map of every kind of object:
//
//   expect_linear("labels of a pod", [&](size_t entries, size_t round) {
//     const std::string json = pod_with_labels(entries, round);
//     return Growing{[=] { sink.upsert(json); }, [=] { sink.remove(); }};
//   });
//
// What is compared are ratios with wide margins: CPU time of this process, which others on the
// machine do not add to, the least of several rounds; and bytes that operator new gave
// (allocation_count.hpp), without what is held from the round before. Link plimsoll_test_growth.

#include <cstddef>
#include <functional>
#include <string>

namespace plimsoll::test {

struct Growing {
  std::function<void()> take;  // measured: the object is read and handed over
  std::function<void()> drop;  // it goes; afterwards nothing of it may be left
};

// `make(entries, round)` builds the object outside of what is measured. No name in it may be one of
// another round: what is remembered by name must not look as if it had returned.
using MakeGrowing = std::function<Growing(size_t entries, size_t round)>;

struct GrowthLimits {
  size_t few = 1'000;
  size_t many = 30'000;
  // 30,000 entries cost at most so much of what 1,000 cost: 30 if that is linear, 75 where others
  // use the caches, 900 if it is quadratic ...
  double cpu_ratio = 150;
  double cpu_floor_seconds = 0.1;  // ... or this, which says nothing
  double bytes_ratio = 60;         // of what is held while the object is there
  double bytes_floor = 1 << 20;
  // What the last rounds may leave besides what the first ones did: rooms that are kept grow with
  // the largest object, not with the number of objects.
  double left_floor = 256 << 10;
};

// Fails the test, with figures, if it is not so.
void expect_linear(const std::string& what, const MakeGrowing& make, GrowthLimits limits = {});

}  // namespace plimsoll::test

// Every decision from what is kept of a pod's class, made again without: in a cluster whose nodes
// change all the time, with pods that are copies of a few. Filters, reasons, scores and the node
// chosen must be the same each time.
//
//   PLIMSOLL_TEST_SEED=n        begins with this seed
//   PLIMSOLL_CLASS_DECISIONS=n  so many decisions instead of the usual number

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "framework/base/log.hpp"
#include "tests/cycle/crowded_life.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::testing {
namespace {

constexpr uint64_t kDecisions = test::cases(30'000);
constexpr uint64_t kDecisionsInFull = 200'000;
constexpr uint32_t kSeed = 7;

TEST(ClassDecisions, AreThoseOfAWalkOverAllNodes) {
  log_to_stderr(LogLevel::kError, LogFormat::kText);
  const uint64_t wanted = test::number_from_environment(
      "PLIMSOLL_CLASS_DECISIONS", test::in_full_length() ? kDecisionsInFull : kDecisions);
  uint64_t seed = test::test_seed(kSeed);
  ClassCache::Stats total;
  int storage_writes = 0;
  for (; total.checked < wanted; ++seed) {
    CrowdedLife life(seed);
    for (int steps = 0; steps < 200 && total.checked + life.classes().checked < wanted; ++steps) {
      life.step();
      ASSERT_FALSE(life.stuck()) << "seed " << seed << ": it does not settle";
      ASSERT_EQ(life.classes().different, 0U) << "seed " << seed << ", step " << steps;
    }
    const ClassCache::Stats seen = life.classes();
    total.hits += seen.hits;
    total.misses += seen.misses;
    total.checked += seen.checked;
    storage_writes += life.storage_writes();
  }
  std::cout << total.checked << " decisions made twice, " << total.hits
            << " attempts with a table, " << total.misses << " without; " << storage_writes
            << " writes to claims and volumes" << std::endl;
  EXPECT_GT(total.hits, total.misses);
  EXPECT_GT(storage_writes, 0);
}

}  // namespace
}  // namespace plimsoll::testing

// The whole loop under random events: pods, nodes, topologies, devices and budgets come, change and
// go, writes fail or get lost, the watch is late or cut; preemption and Permit take part. At every
// quiet point the scheduler is what a fresh one would be, and keeps no pod waiting that has a
// place.
//
//   PLIMSOLL_TEST_SEED=n      begins with this seed (that of a failure repeats it)
//   PLIMSOLL_RANDOM_ROUNDS=n  so many lives instead of the usual few

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "framework/base/log.hpp"
#include "tests/cycle/random_life.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::testing {
namespace {

constexpr uint32_t kFirstSeed = 53;
constexpr uint64_t kRounds = test::cases(50);
constexpr int kRests = 6;          // in a life
constexpr size_t kMostSteps = 60;  // between them

// A life; false: something went wrong, and was said.
bool live(uint64_t seed, QuietPoint::Totals& checked, RandomCluster::Totals& written,
          ClassCache::Stats& cached) {
  RandomLife life(seed);
  Dice pace(seed + 1);
  for (int rest = 0; rest < kRests && life.wrongs().empty(); ++rest) {
    for (size_t steps = 1 + pace.below(kMostSteps); steps > 0 && life.wrongs().empty(); --steps) {
      life.step();
    }
    if (life.wrongs().empty()) life.rest();
  }
  const QuietPoint::Totals& seen = life.checked();
  checked.points += seen.points;
  checked.waiting += seen.waiting;
  checked.texts += seen.texts;
  checked.nominated += seen.nominated;
  checked.zones += seen.zones;
  const ClassCache::Stats classes = life.stats().classes;
  cached.hits += classes.hits;
  cached.misses += classes.misses;
  cached.checked += classes.checked;
  const RandomCluster::Totals& writes = life.totals();
  written.binds += writes.binds;
  written.failed_binds += writes.failed_binds;
  written.patches += writes.patches;
  written.preempted += writes.preempted;
  written.refused_pods += writes.refused_pods;
  written.in_one_zone += writes.in_one_zone;
  written.storage_writes += writes.storage_writes;
  if (life.wrongs().empty()) return true;
  std::string text = "PLIMSOLL_TEST_SEED=" + std::to_string(seed) + "\n";
  for (const std::string& wrong : life.wrongs()) text += "  " + wrong + "\n";
  text += "after\n";
  for (const std::string& line : life.journal()) text += "  " + line + "\n";
  ADD_FAILURE() << text;
  return false;
}

TEST(RandomEvents, AtEveryQuietPointItIsWhatAFreshOneWouldBe) {
  if (std::getenv("PLIMSOLL_RANDOM_LOG") == nullptr) {
    log_to_stderr(LogLevel::kError, LogFormat::kText);  // of lives that are full of failures
  } else {
    log_to_stderr(LogLevel::kDebug, LogFormat::kText);
  }
  const uint64_t first = test::test_seed(kFirstSeed);
  const uint64_t rounds = test::number_from_environment("PLIMSOLL_RANDOM_ROUNDS", kRounds);
  QuietPoint::Totals checked;
  RandomCluster::Totals written;
  ClassCache::Stats cached;
  for (uint64_t seed = first; seed < first + rounds; ++seed) {
    if (!live(seed, checked, written, cached)) return;
  }
  std::cout << checked.points << " quiet points, " << checked.waiting << " waiting pods, "
            << checked.texts << " texts, " << checked.nominated << " nominations, " << checked.zones
            << " zone amounts; " << written.binds << " binds, " << written.failed_binds
            << " of them failed, " << written.patches << " conditions, " << written.preempted
            << " pods preempted, " << written.refused_pods << " refused by kubelets, "
            << written.in_one_zone << " with devices where their CPUs had to be, "
            << written.storage_writes << " writes to claims and volumes; " << cached.hits
            << " attempts from what was kept of the pod's class, all " << cached.checked
            << " decisions made again, " << cached.misses << " without" << std::endl;
  // What is never drawn shows nothing.
  if (rounds < kRounds) return;
  EXPECT_GT(checked.waiting, 0);
  EXPECT_GT(checked.texts, 0);
  EXPECT_GT(written.failed_binds, 0);
  EXPECT_GT(written.preempted, 0);
  EXPECT_GT(written.storage_writes, 0);
  EXPECT_GT(cached.checked, 0U);
}

}  // namespace
}  // namespace plimsoll::testing

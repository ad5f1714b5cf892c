// Random lives of a node under all policies and scopes: a pod that the ledger lets through is
// admitted by its kubelet, whatever the delays.

#include <iostream>

#include "tests/plugins/topology/node_life.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology {
namespace {

LifeTotals run(LifeOptions options, uint32_t usual_seed, uint32_t seeds) {
  LifeTotals sum;
  const uint32_t first = test::test_seed(usual_seed);
  for (uint32_t seed = first; seed < first + seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    NodeLife life(seed, options);
    for (int i = 0; i < 300 && !::testing::Test::HasFailure(); ++i) life.step();
    if (!::testing::Test::HasFailure()) life.quiesce();
    const LifeTotals& totals = life.totals();
    if (options.facts) {
      EXPECT_EQ(totals.refused, 0);
    }
    sum.placed += totals.placed;
    sum.admitted += totals.admitted;
    sum.refused += totals.refused;
    sum.overtaken += totals.overtaken;
    sum.asked += totals.asked;
    sum.foreign += totals.foreign;
    sum.held_back += totals.held_back;
    for (const auto& [reason, count] : totals.reasons) sum.reasons[reason] += count;
  }
  std::cout << sum.asked << " asked, " << sum.placed << " let through, " << sum.admitted
            << " admitted, " << sum.refused << " refused, " << sum.overtaken << " overtaken, "
            << sum.held_back << " held back, " << sum.foreign << " of others\n";
  for (const auto& [reason, count] : sum.reasons)
    std::cout << "  " << count << ": " << reason << "\n";
  EXPECT_LE(sum.overtaken * (options.strange ? 5 : 200), sum.admitted);
  return sum;
}

constexpr uint32_t kSeeds = test::cases(60);

TEST(LedgerProperty, WithFactsEveryPodIsAdmitted) {
  const LifeTotals totals = run({.deletions = false}, 0, kSeeds);
  EXPECT_GT(totals.admitted, 5 * kSeeds);
}

TEST(LedgerProperty, WithFactsAndDeletionsToo) {
  const LifeTotals totals = run({}, 1000, 2 * kSeeds);
  EXPECT_GT(totals.admitted, 16 * kSeeds);
}

TEST(LedgerProperty, AfterCrashesToo) {
  const LifeTotals totals = run({.crashes = true}, 2000, 2 * kSeeds);
  EXPECT_GT(totals.admitted, 16 * kSeeds);
}

TEST(LedgerProperty, AfterEventsThatNobodyToldToo) {
  const LifeTotals totals = run({.crashes = true, .gaps = true}, 6000, 2 * kSeeds);
  EXPECT_GT(totals.admitted, 16 * kSeeds);
}

// Foreign and static pods, used names, finished and resized pods, lost reports, changes of policy,
// kubelets that are away: whatever happens, what is folded forward is what a replay gives.
TEST(LedgerProperty, InStrangeLivesToo) {
  const LifeTotals totals = run({.crashes = true, .gaps = true, .strange = true}, 8000, kSeeds);
  EXPECT_GT(totals.admitted, 3 * kSeeds);
  EXPECT_GT(totals.foreign, kSeeds);
}

TEST(LedgerProperty, InStrangeLivesOnCountsToo) {
  run({.facts = false, .crashes = true, .strange = true}, 9000, kSeeds);
  run({.facts = false, .fingerprints = false, .strange = true}, 9500, kSeeds);
}

TEST(LedgerProperty, WithFactsThatDoNotNamePodsToo) {
  const LifeTotals totals = run({.holdings = false, .crashes = true}, 7000, kSeeds);
  EXPECT_GT(totals.admitted, 5 * kSeeds);
}

// Where there is nothing that counts leave out, they are as good as facts.
TEST(LedgerProperty, OnCountsThatSayAllToo) {
  const LifeTotals totals = run({.facts = false, .plain = true}, 5000, 2 * kSeeds);
  EXPECT_GT(totals.admitted, 16 * kSeeds);
  EXPECT_EQ(totals.refused, 0);
}

// Reports of other exporters: what they count tells them apart, and whether they say it at all.
TEST(LedgerProperty, OtherExportersCostNoAdmissionAndNobodyStandsStill) {
  for (const LifeOptions options :
       {LifeOptions{.facts = false, .finishes = true, .plain = true},
        LifeOptions{.facts = false, .exclusive = true, .plain = true},
        LifeOptions{.facts = false, .exclusive = true, .finishes = true, .plain = true},
        LifeOptions{.facts = false, .fingerprints = false, .plain = true},
        LifeOptions{.facts = false, .fingerprints = false, .finishes = true, .plain = true}}) {
    const LifeTotals totals = run(options, 10000, kSeeds);
    EXPECT_EQ(totals.refused, 0);
    EXPECT_GT(totals.admitted, 4 * kSeeds);
  }
}

// Counts do not say which CPUs are free, what init containers left, how memory is grouped.
void expect_few_refused(const LifeTotals& totals) {
  EXPECT_LE(totals.refused * 100, 12 * totals.admitted);
}

TEST(LedgerProperty, OnCountsFewAreRefused) {
  expect_few_refused(run({.facts = false}, 3000, kSeeds));
}

TEST(LedgerProperty, OnCountsWithoutFingerprintsFewAreRefused) {
  expect_few_refused(run({.facts = false, .fingerprints = false}, 4000, kSeeds));
}

}  // namespace
}  // namespace plimsoll::topology

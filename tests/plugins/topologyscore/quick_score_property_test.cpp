// What is said of many nodes at once is what the whole algorithm and the plain formulas say of
// each.

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "plugins/topology/ledger/ledger.hpp"
#include "plugins/topology/score/zone_score.hpp"
#include "tests/plugins/topology/kubelet/random_pod.hpp"
#include "tests/plugins/topology/topology_scene.hpp"
#include "tests/plugins/topologyscore/random_zones.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology {
namespace {

using kubelet::chance;
using kubelet::pick;

constexpr std::array kStrategies{Strategy::kLeastAllocated, Strategy::kMostAllocated,
                                 Strategy::kBalancedAllocation, Strategy::kLeastNumaNodes,
                                 Strategy::kPreserveLargeZones};

ReportSpec random_report(std::mt19937& random, int node) {
  constexpr const char* kPolicies[] = {"none", "best-effort", "restricted", "single-numa-node"};
  ReportSpec spec;
  spec.node = "n" + std::to_string(node);
  spec.policy = kPolicies[pick(random, 4)];
  spec.scope = chance(random, 50) ? "container" : "pod";
  // Less than what is available; of CPUs beyond what doubles divide exactly; and in between.
  constexpr const char* kAllocatable[] = {"16", "64Gi", "1Ti"};
  spec.allocatable = kAllocatable[pick(random, 3)];
  const uint32_t zones = 1 + pick(random, 8);
  const bool pages = chance(random, 40);
  const bool devices = chance(random, 40);
  for (uint32_t zone = 0; zone < zones; ++zone) {
    spec.zones.push_back(random_zone(random, static_cast<int>(zone), pages, devices, 5));
  }
  return spec;
}

PodSpec small_pod(std::mt19937& random, int number) {
  PodSpec pod;
  pod.name = "p" + std::to_string(number);
  if (chance(random, 10)) pod.init.push_back(random_requests(random));
  if (chance(random, 5)) pod.sidecars.push_back(random_requests(random));
  const uint32_t apps = chance(random, 75) ? 1 : 2;
  for (uint32_t i = 0; i < apps; ++i) pod.apps.push_back(random_requests(random));
  pod.burstable = chance(random, 10);
  pod.limits = R"({"example.com/gpu":"1"})";
  if (!pod.burstable && chance(random, 5)) pod.pod_requests = R"({"cpu":"12","memory":"40Gi"})";
  return pod;
}

void expect_same(const plimsoll_numa_use& quick, const plimsoll_numa_use& whole,
                 const plimsoll_numa_node& node, uint32_t column) {
  EXPECT_EQ(quick.promised, whole.promised);
  EXPECT_EQ(quick.width, whole.width);
  EXPECT_EQ(quick.widest, whole.widest);
  EXPECT_EQ(quick.used, whole.used);
  EXPECT_EQ(quick.needed, whole.needed);
  EXPECT_EQ(quick.zones, whole.zones);
  for (uint32_t row = 0; row < node.resource_count; ++row) {
    const size_t cell = size_t{row} * node.zone_count + column;
    EXPECT_EQ(quick.taken[row], whole.taken[row]) << row;
    EXPECT_EQ(quick.free[cell], whole.free[cell]) << row;
  }
}

struct Seen {
  int landed = 0;
  int others = 0;
  int admitted = 0;
  int refused = 0;
  int beside_others = 0;
};

// `under_way`: bindings, by slot.
void compare(const Ledger& ledger, std::span<const uint32_t> slots, const plimsoll_pod& pod,
             const std::array<int, 4>& under_way, Seen& seen) {
  Inquiry asked(pod);
  if (!asked.matters()) return;
  Inquiry thorough(pod);
  thorough.scratch.use_full_lists(true);
  std::vector<Judgement> judgements(slots.size());
  ledger.ask().judge_many(slots, asked, judgements);
  std::vector<plimsoll_numa_landing> landings(slots.size());
  ledger.ask().land_many(slots, &asked, landings);
  OneZoneUse room;
  const NodeCpu cpu{12'000};
  for (size_t i = 0; i < slots.size(); ++i) {
    const Judgement whole = ledger.ask().judge(slots[i], thorough);
    // The short way looks at where the others are, too.
    if (whole.verdict == Verdict::kUncertain && judgements[i].fits() && under_way[slots[i]] > 0) {
      ++seen.beside_others;
      continue;
    }
    EXPECT_EQ(judgements[i].verdict, whole.verdict);
    ++(whole.fits() ? seen.admitted : seen.refused);
    const plimsoll_numa_landing& landing = landings[i];
    ASSERT_EQ(landing.node, ledger.ask().node(slots[i]));
    if (landing.taking == nullptr) {
      ++seen.others;
      continue;
    }
    ++seen.landed;
    const plimsoll_numa_use* use = ledger.ask().use(slots[i], thorough);
    ASSERT_NE(use, nullptr);
    expect_same(*room.find(landing), *use, *landing.node, landing.column);
    for (const Strategy type : kStrategies) {
      const ScoringStrategy strategy{type, {{"cpu", 3}, {"memory", 1}}};
      const ZoneScore score(strategy, pod, true);
      EXPECT_EQ(score.on(landing, cpu, room), score.on(landing.node, use, cpu))
          << static_cast<int>(type);
    }
  }
}

// Nodes on which pods come: bound, on their way, and gone again.
TEST(QuickScoreProperty, NodesAtOnceAreAsOneByOne) {
  Seen seen;
  const uint32_t first = test::test_seed();
  for (uint32_t seed = first; seed < first + 500 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    TopologyScene scene;
    Ledger ledger(scene.index());
    const std::array<uint32_t, 4> slots{0, 1, 2, 3};
    for (uint32_t slot = 0; slot < 3; ++slot) {  // the fourth has no report
      ledger.node_added("n" + std::to_string(slot), slot);
      ledger.report(scene.nrt(random_report(random, static_cast<int>(slot))), kYear2026Ms);
    }
    ledger.node_added("n3", 3);
    std::array<int, 4> under_way{};
    for (int number = 0; number < 12 && !::testing::Test::HasFailure(); ++number) {
      SCOPED_TRACE("pod " + std::to_string(number));
      PodSpec spec = small_pod(random, number);
      const PodRef pod = scene.pod(spec);
      compare(ledger, slots, *pod, under_way, seen);
      const uint32_t slot = pick(random, 4);
      if (!ledger.reserve(*pod, slot, kYear2026Ms).complete) continue;
      if (chance(random, seed % 4 == 0 ? 60 : 20)) {  // stays on its way
        ++under_way[slot];
        continue;
      }
      spec.node = "n" + std::to_string(slot);
      ledger.pod_assigned(*scene.pod(spec), spec.node, kYear2026Ms);
      if (chance(random, 10)) ledger.pod_removed(*scene.pod(spec), kYear2026Ms);
    }
  }
  EXPECT_GT(seen.landed, 1000);
  EXPECT_GT(seen.others, 1000);
  EXPECT_GT(seen.admitted, 1000);
  EXPECT_GT(seen.refused, 1000);
  EXPECT_LT(seen.beside_others, 500);
}

TEST(QuickScoreProperty, NodeScoreIsScoreNode) {
  int above_none = 0;
  const uint32_t first = test::test_seed();
  for (uint32_t seed = first; seed < first + 1500 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    TopologyScene scene;
    ReportSpec report = random_report(random, 0);
    if (chance(random, 70)) report.policy = "single-numa-node";
    const NumaNode node = scene.node(report);
    const PodRef pod = scene.pod(small_pod(random, 0));
    const PodRequest request(*pod);
    Scratch scratch;
    for (Strategy type : kStrategies) {
      if (type == Strategy::kPreserveLargeZones) continue;
      ScoringStrategy strategy{type, {{"cpu", 1}, {"memory", 1 + pick(random, 5)}}};
      if (chance(random, 10)) strategy.resources[0].weight = int64_t{1} << (30 + pick(random, 33));
      const NodeScore score(strategy, request);
      const int64_t expected = score_node(strategy, request, &node.view(), scratch);
      EXPECT_EQ(score.on(&node.view(), scratch), expected) << static_cast<int>(type);
      above_none += expected > 0 ? 1 : 0;
      EXPECT_EQ(score.on(nullptr, scratch), score_node(strategy, request, nullptr, scratch));
    }
  }
  EXPECT_GT(above_none, 1000);
}

// Quotients as near below a whole number as can be.
TEST(QuickScoreProperty, PercentIsRoundedDown) {
  std::mt19937_64 random(test::test_seed());
  for (int round = 0; round < 200'000; ++round) {
    const int bits = 1 + static_cast<int>(random() % 50);
    const auto whole = static_cast<int64_t>(1 + random() % (uint64_t{1} << bits));
    const auto percent = static_cast<__int128>(random() % 101);
    for (int64_t off = -1; off <= 1; ++off) {
      const auto part = static_cast<int64_t>(percent * whole / 100) + off;
      if (part < 0 || part > whole) continue;
      ASSERT_EQ(percent_of(part, whole), static_cast<int64_t>(__int128{part} * 100 / whole))
          << part << " of " << whole;
    }
  }
}

}  // namespace
}  // namespace plimsoll::topology

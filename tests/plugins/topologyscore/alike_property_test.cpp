// What columns say of many nodes is what the whole algorithm and the plain formulas say of each.

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "plugins/topology/ledger/ledger.hpp"
#include "plugins/topology/score/alike_scores.hpp"
#include "plugins/topology/score/zone_score.hpp"
#include "tests/plugins/topology/kubelet/random_pod.hpp"
#include "tests/plugins/topology/topology_scene.hpp"
#include "tests/plugins/topologyscore/random_zones.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology {
namespace {

using kubelet::chance;
using kubelet::pick;

constexpr uint32_t kNodes = 160;  // more than are asked about one by one

// What nodes of one kind have in common.
struct Machine {
  ReportSpec spec;
  uint32_t zones = 2;
  bool pages = false;
  bool devices = false;
  bool few_sizes = true;
  bool even = false;  // its zones have the same free
};

Machine random_machine_kind(std::mt19937& random) {
  constexpr const char* kPolicies[] = {"none", "best-effort", "restricted", "single-numa-node",
                                       "single-numa-node"};
  Machine machine;
  machine.spec.policy = kPolicies[pick(random, 5)];
  machine.spec.scope = chance(random, 60) ? "container" : "pod";
  machine.zones = 1 + pick(random, 8);
  machine.pages = chance(random, 40);
  machine.devices = chance(random, 40);
  machine.few_sizes = chance(random, 50);
  machine.even = chance(random, 50);
  return machine;
}

ReportSpec report_of(std::mt19937& random, const Machine& machine, uint32_t slot) {
  ReportSpec spec = machine.spec;
  spec.node = "n" + std::to_string(slot);
  spec.allocatable = machine.few_sizes ? "60Gi" : std::to_string(40 + pick(random, 24)) + "Gi";
  if (chance(random, 3)) spec.allocatable = "1Ti";  // of CPUs more than columns take
  if (chance(random, 3)) spec.allocatable = "16";   // less than what is available
  const uint32_t gap = chance(random, 3) ? pick(random, machine.zones) : machine.zones;
  const auto seed = random();
  std::mt19937 repeated(seed);
  for (uint32_t zone = 0; zone < machine.zones; ++zone) {
    const auto id = static_cast<int>(zone < gap ? zone : zone + 1);
    if (machine.even) repeated.seed(seed);
    spec.zones.push_back(random_zone(repeated, id, machine.pages, machine.devices, 2));
  }
  return spec;
}

PodSpec alike_pod(std::mt19937& random, int number) {
  PodSpec pod;
  pod.name = "p" + std::to_string(number);
  if (chance(random, 5)) pod.init.push_back(random_requests(random, 3));
  pod.apps.push_back(random_requests(random, 3));
  if (chance(random, 5)) pod.apps.push_back(random_requests(random, 3));
  pod.burstable = chance(random, 5);
  pod.limits = R"({"example.com/gpu":"1"})";
  if (!pod.burstable && chance(random, 3)) pod.pod_requests = R"({"cpu":"12","memory":"40Gi"})";
  return pod;
}

struct AlikeSeen {
  size_t admitted = 0;
  size_t landed = 0;
  size_t scored = 0;
  size_t above_none = 0;
};

// What a group says of the columns that repeat (plimsoll_numa_alike::distinct).
void check_distinct(const plimsoll_numa_alike& nodes) {
  constexpr size_t kBlock = PLIMSOLL_NUMA_BLOCK;
  const size_t cells = size_t{nodes.zone_count} * nodes.resource_count;
  for (size_t i = 0; i < nodes.count; ++i) {
    const size_t distinct = nodes.distinct[i / kBlock];
    ASSERT_GE(distinct, 1U);
    ASSERT_LE(distinct, nodes.zone_count);
    const double* own = nodes.free + i / kBlock * cells * kBlock + i % kBlock;
    for (size_t cell = 0; cell < cells; ++cell) {
      if (cell % nodes.zone_count < distinct) continue;
      ASSERT_EQ(own[cell * kBlock], own[(cell - 1) * kBlock]) << nodes.slots[i];
    }
  }
}

void compare_verdicts(const Ledger& ledger, std::span<const uint32_t> slots, Inquiry& asked,
                      Inquiry& thorough, AlikeSeen& seen) {
  std::vector<uint8_t> admitted(slots.size());
  ledger.ask().admits_many(slots, asked, admitted.data());
  for (size_t i = 0; i < slots.size(); ++i) {
    if (admitted[i] == 0) continue;
    ++seen.admitted;
    EXPECT_TRUE(ledger.ask().judge(slots[i], thorough).fits()) << slots[i];
  }
}

void compare_scores(const Ledger& ledger, std::span<const uint32_t> slots, const plimsoll_pod& pod,
                    Inquiry& asked, Inquiry& thorough, std::mt19937& random, AlikeSeen& seen) {
  const PodRequest request(pod);
  Scratch scratch;
  std::vector<int64_t> scores(slots.size());
  for (const Strategy type : {Strategy::kLeastAllocated, Strategy::kMostAllocated}) {
    const ScoringStrategy strategy{type,
                                   {{"cpu", 1 + pick(random, 3)}, {"memory", 1 + pick(random, 5)}}};
    const ZoneScore zone_score(strategy, pod, true);
    ASSERT_TRUE(zone_score.covers_alike());
    AlikeScores landed(slots);
    ledger.ask().alike(kNodes, &asked, [&](const plimsoll_numa_alike& alike) {
      check_distinct(alike);
      if (alike.taking == nullptr) return;
      landed.put(alike, [&](const auto& group, uint8_t* out) { zone_score.on_alike(group, out); });
    });
    std::vector<bool> known(slots.size(), true);
    const auto forget = [&](std::span<const uint32_t> places) {
      for (const uint32_t place : places) known[place] = false;
    };
    landed.fill(scores, forget);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (!known[i]) continue;
      ++seen.landed;
      const plimsoll_numa_use* use = ledger.ask().use(slots[i], thorough);
      ASSERT_NE(use, nullptr);
      EXPECT_EQ(scores[i], zone_score.on(ledger.ask().node(slots[i]), use, NodeCpu())) << slots[i];
    }
    const NodeScore node_score(strategy, request);
    if (!node_score.covers_alike()) continue;
    AlikeScores of_all(slots);
    ledger.ask().alike(kNodes, nullptr, [&](const plimsoll_numa_alike& alike) {
      of_all.put(alike, [&](const auto& group, uint8_t* out) { node_score.on_alike(group, out); });
    });
    known.assign(slots.size(), true);
    of_all.fill(scores, forget);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (!known[i]) continue;
      ++seen.scored;
      seen.above_none += scores[i] > 0 ? 1 : 0;
      EXPECT_EQ(scores[i], score_node(strategy, request, ledger.ask().node(slots[i]), scratch))
          << slots[i];
    }
  }
}

// Nodes that come, report, are given pods and lose them, report again and go.
TEST(AlikeProperty, ColumnsAreAsOneByOne) {
  AlikeSeen seen;
  const uint32_t first = test::test_seed();
  for (uint32_t seed = first; seed < first + 25 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    TopologyScene scene;
    Ledger ledger(scene.index());
    std::vector<Machine> machines;
    for (int kind = 0; kind < 3; ++kind) machines.push_back(random_machine_kind(random));
    const auto report = [&](uint32_t slot) {
      ledger.report(scene.nrt(report_of(random, machines[pick(random, 3)], slot)), kYear2026Ms);
    };
    std::vector<uint32_t> slots(kNodes);
    std::iota(slots.begin(), slots.end(), 0);
    for (const uint32_t slot : slots) {
      ledger.node_added("n" + std::to_string(slot), slot);
      if (!chance(random, 2)) report(slot);
    }
    const bool in_order = chance(random, 50);
    if (!in_order) std::shuffle(slots.begin(), slots.end(), random);
    for (int number = 0; number < 40 && !::testing::Test::HasFailure(); ++number) {
      SCOPED_TRACE("pod " + std::to_string(number));
      PodSpec spec = alike_pod(random, number);
      const PodRef pod = scene.pod(spec);
      Inquiry asked(*pod);
      Inquiry thorough(*pod);
      thorough.scratch.use_full_lists(true);
      if (asked.matters()) {
        if (chance(random, 80)) compare_verdicts(ledger, slots, asked, thorough, seen);
        compare_scores(ledger, slots, *pod, asked, thorough, random, seen);
      }
      const uint32_t slot = pick(random, kNodes);
      if (ledger.reserve(*pod, slot, kYear2026Ms).complete && chance(random, 80)) {
        spec.node = "n" + std::to_string(slot);
        ledger.pod_assigned(*scene.pod(spec), spec.node, kYear2026Ms);
        if (chance(random, 20)) ledger.pod_removed(*scene.pod(spec), kYear2026Ms);
      }
      const uint32_t other = pick(random, kNodes);
      const std::string name = "n" + std::to_string(other);
      if (chance(random, 30)) report(other);
      if (chance(random, 5)) ledger.report_deleted(name);
      if (chance(random, 5)) {
        ledger.node_removed(name);
        ledger.node_added(name, other);
      }
    }
  }
  EXPECT_GT(seen.admitted, 10'000U);
  EXPECT_GT(seen.landed, 10'000U);
  EXPECT_GT(seen.scored, 10'000U);
  EXPECT_GT(seen.above_none, 1'000U);
}

}  // namespace
}  // namespace plimsoll::topology

// The zones that scores look at, against the kubelet's algorithm and what Reserve then promises.

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "plugins/topology/ledger/ledger.hpp"
#include "plugins/topology/possible/arrival.hpp"
#include "plugins/topology/verdict/zone_use.hpp"
#include "tests/plugins/topology/kubelet/random_pod.hpp"
#include "tests/plugins/topology/topology_scene.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology {
namespace {

using kubelet::chance;
using kubelet::pick;

class ZoneUseProperty : public testing::Test {
 protected:
  // What is left in a row of the answer, less what there was.
  static std::vector<int64_t> lost(const plimsoll_numa_node& node, const plimsoll_numa_use& use,
                                   uint32_t row) {
    std::vector<int64_t> lost(node.zone_count);
    for (uint32_t column = 0; column < node.zone_count; ++column) {
      const size_t cell = size_t{row} * node.zone_count + column;
      lost[column] = node.free[cell] - use.free[cell];
    }
    return lost;
  }

  std::mt19937 random_{test::test_seed()};
};

std::vector<int64_t> difference(std::span<const int64_t> before, std::span<const int64_t> after,
                                int64_t unit) {
  std::vector<int64_t> amounts(before.size());
  for (size_t i = 0; i < amounts.size(); ++i) amounts[i] = (before[i] - after[i]) * unit;
  return amounts;
}

// Zones of a container that has no device near several.
uint64_t zones_of(const kubelet::ContainerGrant& grant) {
  uint64_t zones = 0;
  for (uint32_t column = 0; column < grant.cpus.size(); ++column) {
    if (grant.cpus[column] > 0) zones |= uint64_t{1} << column;
  }
  for (const kubelet::MemoryBlock& block : grant.memory) {
    if (block.bytes > 0) zones |= block.zones;
  }
  for (const kubelet::DeviceGrant& device : grant.devices) zones |= device.zones;
  return zones;
}

void expect_same(const plimsoll_numa_use& a, const plimsoll_numa_use& b,
                 const plimsoll_numa_node& node) {
  EXPECT_EQ(a.promised, b.promised);
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.widest, b.widest);
  EXPECT_EQ(a.used, b.used);
  EXPECT_EQ(a.needed, b.needed);
  EXPECT_EQ(a.zones, b.zones);
  for (uint32_t row = 0; row < node.resource_count; ++row) {
    EXPECT_EQ(a.taken[row], b.taken[row]) << row;
    for (uint32_t column = 0; column < node.zone_count; ++column) {
      const size_t cell = size_t{row} * node.zone_count + column;
      EXPECT_EQ(a.free[cell], b.free[cell]) << row << " " << column;
    }
  }
}

// Machines and pods of all kinds, as much known of them as may be.
TEST_F(ZoneUseProperty, IsWhatAdmissionGives) {
  kubelet::Scratch scratch;
  kubelet::Scratch other;
  ZoneUse zones;
  ZoneUse quick_zones;
  int at_a_glance = 0;
  int admitted = 0;
  int refused = 0;
  int wide = 0;
  for (int round = 0; round < 1'000 && !HasFailure(); ++round) {
    kubelet::Resources resources;
    const kubelet::Machine machine =
        kubelet::random_machine(kubelet::random_spec(random_), resources, random_);
    const kubelet::Known known{chance(random_, 70), chance(random_, 70), chance(random_, 70),
                               chance(random_, 70)};
    kubelet::Node node = kubelet::limited(machine.model, machine.state, known);
    NrtObject nrt;
    nrt.zones = machine.zones;
    nrt.manager.policy = node.model.managers.policy;
    nrt.manager.scope = node.model.managers.scope;
    const NumaNode counts(nrt, resources.intern(), 0);
    const plimsoll_numa_node& view = counts.view();
    const kubelet::PodDemand pod = kubelet::random_pod(node.model, random_, false);
    kubelet::NodeState after = node.state;
    const kubelet::Admission given = admit_and_start(node.model, after, pod, other);
    const plimsoll_numa_use* use = zones.find(node.model, node.state, view, pod, scratch);
    ASSERT_EQ(use != nullptr, given.admitted()) << round;
    kubelet::QuickPlace place;
    const kubelet::QuickVerdict quick =
        kubelet::QuickPlan(node.model, pod)
            .place(node.state.counts(), {node.model, node.state}, place);
    if (quick.answer == kubelet::QuickVerdict::kRefused) {
      EXPECT_FALSE(given.admitted()) << round;
    }
    if (quick.answer == kubelet::QuickVerdict::kAdmitted) {
      ++at_a_glance;
      ASSERT_TRUE(given.admitted()) << round;
      expect_same(*use, *quick_zones.find(node.model, node.state.counts(), view, place), view);
    }
    if (use == nullptr) {
      ++refused;
      continue;
    }
    ++admitted;
    const bool none = node.model.managers.policy == Policy::kNone;
    EXPECT_EQ(use->promised, none ? 0u : 1u);
    const uint32_t cpu = row_of(view, kubelet::kCpuResource);
    if (cpu != kNoRow) {
      EXPECT_EQ(lost(view, *use, cpu),
                difference(node.state.cpu(node.model), after.cpu(node.model), 1000));
    }
    for (uint32_t row = 0; row < node.model.memory.size(); ++row) {
      const uint32_t at = row_of(view, node.model.memory[row].resource);
      if (at == kNoRow) continue;
      EXPECT_EQ(lost(view, *use, at),
                difference(node.state.memory(node.model, row), after.memory(node.model, row), 1));
    }
    for (uint32_t row = 0; row < node.model.devices.size(); ++row) {
      const uint32_t at = row_of(view, node.model.devices[row].resource);
      if (at == kNoRow) continue;
      EXPECT_EQ(lost(view, *use, at),
                difference(node.state.devices(node.model, row), after.devices(node.model, row), 1));
    }
    bool several = false;
    for (const auto& facts : node.model.device_facts) several = several || !facts.single_zone;
    if (several) continue;
    const bool whole = !none && node.model.managers.scope == Scope::kPod;
    uint32_t width = 0;
    uint64_t together = 0;
    for (const kubelet::DeviceGrant& device : given.allocation.devices) together |= device.zones;
    for (const kubelet::ContainerGrant& grant : given.containers) {
      together |= zones_of(grant);
      width = std::max(width, static_cast<uint32_t>(std::popcount(zones_of(grant))));
    }
    EXPECT_EQ(use->width, whole ? static_cast<uint32_t>(std::popcount(together)) : width) << round;
    wide += width > 1 ? 1 : 0;
  }
  EXPECT_GT(admitted, 200);
  EXPECT_GT(refused, 100);
  EXPECT_GT(wide, 20);
  EXPECT_GT(at_a_glance, 20);
}

std::string random_requests(std::mt19937& random) {
  std::string json = R"({"cpu":")" + std::to_string(1 + pick(random, 16)) + R"(","memory":")" +
                     std::to_string(1 + pick(random, 64)) + "Gi\"";
  if (chance(random, 20)) {
    json += R"(,"hugepages-2Mi":")" + std::to_string(1 + pick(random, 32)) + "Gi\"";
  }
  if (chance(random, 30)) {
    json += R"(,"example.com/gpu":")" + std::to_string(1 + pick(random, 3)) + "\"";
  }
  return json + "}";
}

PodSpec random_pod(std::mt19937& random, int number) {
  PodSpec pod;
  pod.name = "p" + std::to_string(number);
  if (chance(random, 20)) pod.init.push_back(random_requests(random));
  if (chance(random, 20)) pod.sidecars.push_back(random_requests(random));
  for (uint32_t i = 0; i < 1 + pick(random, 2); ++i) pod.apps.push_back(random_requests(random));
  pod.burstable = chance(random, 15);
  pod.limits = R"({"example.com/gpu":"2"})";
  if (!pod.burstable && chance(random, 10)) pod.pod_requests = R"({"cpu":"32","memory":"256Gi"})";
  return pod;
}

// On a node with promises, from facts or from counts.
TEST_F(ZoneUseProperty, IsWhatReservePromises) {
  int promised = 0;
  int held_back = 0;
  for (int round = 0; round < 400 && !HasFailure(); ++round) {
    kubelet::Resources resources;
    const kubelet::Machine machine =
        kubelet::random_machine(kubelet::random_spec(random_), resources, random_);
    kubelet::Report report = kubelet::report_of(machine, resources);
    if (chance(random_, 50)) report.free.clear();
    if (chance(random_, 50)) report.machine.clear();
    TopologyScene scene;
    Ledger ledger(scene.index());
    ledger.node_added("n1", 0);
    ledger.report(kubelet::parsed(report), kYear2026Ms);
    // Elsewhere a kubelet may give the same CPU away twice.
    const kubelet::NodeModel& model = *ledger.ask().likely_state(0).model;
    if (model.layout && !model.layout->even()) continue;
    for (int number = 0; number < 6; ++number) {
      const PodRef pod = scene.pod(random_pod(random_, number));
      Inquiry asked(*pod);
      const plimsoll_numa_node* view = ledger.ask().node(0);
      ASSERT_NE(view, nullptr);
      const plimsoll_numa_use* use = ledger.ask().use(0, asked);
      if (use == nullptr) {
        EXPECT_FALSE(ledger.ask().judge(0, asked).fits()) << round << " " << number;
        ++held_back;
        continue;
      }
      const std::vector<int64_t> left(use->free,
                                      use->free + size_t{view->zone_count} * view->resource_count);
      if (!ledger.reserve(*pod, 0, kYear2026Ms).complete) {
        ++held_back;
        continue;
      }
      ++promised;
      const plimsoll_numa_node* then = ledger.ask().node(0);
      for (uint32_t row = 0; row < then->resource_count; ++row) {
        const bool memory = then->resources[row] == scene.resource("memory") ||
                            then->resources[row] == scene.resource("hugepages-2Mi");
        for (uint32_t column = 0; column < then->zone_count; ++column) {
          const size_t cell = size_t{row} * then->zone_count + column;
          // How a block lies on its zones follows from what is free: reports say less than that.
          if (memory) continue;
          EXPECT_EQ(left[cell], then->free[cell]) << round << " " << number;
        }
      }
    }
  }
  EXPECT_GT(promised, 150);
  EXPECT_GT(held_back, 100);
}

}  // namespace
}  // namespace plimsoll::topology

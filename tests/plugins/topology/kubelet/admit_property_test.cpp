// Random machines, pods that come and go: what must hold whatever they are.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "plugins/topology/kubelet/admit.hpp"
#include "tests/plugins/topology/kubelet/random_pod.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology::kubelet {
namespace {

int64_t sum(std::span<const int64_t> cells) {
  int64_t total = 0;
  for (int64_t cell : cells) total += cell;
  return total;
}

void expect_nothing_negative(const NodeModel& model, const NodeState& state) {
  for (int64_t cell : state.cpu(model)) EXPECT_GE(cell, 0);
  for (uint32_t row = 0; row < model.memory.size(); ++row) {
    for (int64_t cell : state.memory(model, row)) EXPECT_GE(cell, 0);
  }
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    for (int64_t cell : state.devices(model, row)) EXPECT_GE(cell, 0);
  }
}

// What was given back is there again; bytes may lie in other zones than before.
void expect_given_back(const NodeModel& model, const NodeState& before, const NodeState& after) {
  EXPECT_EQ(sum(before.cpu(model)), sum(after.cpu(model)));
  for (uint32_t column = 0; column < model.zones(); ++column) {
    EXPECT_EQ(before.cpu(model)[column], after.cpu(model)[column]);
    if (before.knows_groups()) {
      EXPECT_EQ(before.assignments(model, column), after.assignments(model, column));
    }
  }
  EXPECT_EQ(before.cpu_ids(model), after.cpu_ids(model));
  for (uint32_t row = 0; row < model.memory.size(); ++row) {
    EXPECT_EQ(sum(before.memory(model, row)), sum(after.memory(model, row)));
  }
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    for (uint32_t column = 0; column < model.zones(); ++column) {
      EXPECT_EQ(before.devices(model, row)[column], after.devices(model, row)[column]);
    }
  }
}

void expect_same(const Admission& a, const Admission& b) {
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.stage, b.stage);
  EXPECT_EQ(a.fault, b.fault);
  EXPECT_EQ(a.container, b.container);
  EXPECT_EQ(message_of(a, "r"), message_of(b, "r"));
  for (size_t i = 0; i < a.containers.size(); ++i) {
    EXPECT_EQ(a.containers[i].has_hint, b.containers[i].has_hint);
    EXPECT_EQ(a.containers[i].hint, b.containers[i].hint);
    EXPECT_EQ(a.containers[i].cpus, b.containers[i].cpus);
  }
  EXPECT_EQ(a.allocation.cpus, b.allocation.cpus);
}

void expect_enough(const PodDemand& pod, const NodeModel& model, const Admission& got) {
  if (pod.pod_level || !pod.guaranteed || !model.cpu_static) return;
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    EXPECT_EQ(sum(got.containers[i].cpus), pod.containers[i].whole_cpus());
  }
}

struct Totals {
  uint32_t admitted = 0;
  std::map<Reason, uint32_t> refused;
};

// One node's life.
void live(Node node, std::mt19937& random, bool absurd, Totals& totals) {
  const NodeModel& model = node.model;
  // Elsewhere the kubelet may give away CPUs that are not free.
  const bool even = !model.layout || model.layout->even();
  Scratch quick;
  Scratch thorough;
  thorough.use_full_lists(true);
  std::vector<Allocation> pods;
  for (int step = 0; step < 12 && !::testing::Test::HasFailure(); ++step) {
    if (!pods.empty() && random() % 4 == 0) {
      const size_t which = random() % pods.size();
      release(model, node.state, pods[which]);
      pods.erase(pods.begin() + static_cast<int64_t>(which));
    }
    const PodDemand pod = random_pod(model, random, absurd);
    const NodeState before = node.state;
    NodeState again = before;
    const Reason verdict_only = verdict(model, before, pod, quick);
    const Reason thorough_verdict = verdict(model, before, pod, thorough);
    Admission got = admit(model, node.state, pod, quick);
    EXPECT_EQ(got.reason, verdict_only);
    EXPECT_EQ(got.reason, thorough_verdict);
    expect_same(got, admit(model, again, pod, thorough));
    EXPECT_EQ(again, node.state);
    expect_nothing_negative(model, node.state);
    if (!got.admitted()) {
      ++totals.refused[got.reason];
      EXPECT_TRUE(got.allocation.empty());
      EXPECT_FALSE(message_of(got, "r").empty());
      if (even) expect_given_back(model, before, node.state);
      continue;
    }
    ++totals.admitted;
    if (even) {
      expect_enough(pod, model, got);
      NodeState back = node.state;
      Allocation allocation = got.allocation;
      started(model, back, allocation);
      release(model, back, allocation);
      expect_given_back(model, before, back);
    }
    pods.push_back(std::move(got.allocation));
  }
}

Totals live_many(uint32_t seeds, const Known& known, bool absurd) {
  Totals totals;
  const uint32_t first = test::test_seed();
  for (uint32_t seed = first; seed < first + seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Resources resources;
    MachineSpec spec = random_spec(random);
    spec.zones = 1 + spec.zones % 6;
    const Machine machine = random_machine(spec, resources, random);
    live(limited(machine.model, machine.state, known), random, absurd, totals);
  }
  // Nothing is shown if nobody gets in or nobody is turned away.
  EXPECT_GT(totals.admitted, seeds / 2);
  EXPECT_GT(totals.refused[Reason::kTopologyAffinityError], seeds / 10);
  EXPECT_GT(totals.refused[Reason::kUnexpectedAdmissionError], seeds / 50);
  return totals;
}

TEST(AdmitProperty, WithEveryFact) {
  live_many(400, {}, false);
}
TEST(AdmitProperty, WithAbsurdAmounts) {
  live_many(200, {}, true);
}
TEST(AdmitProperty, WithoutIdsOfFreeCpus) {
  live_many(200, {.cpu_ids = false}, false);
}
TEST(AdmitProperty, WithoutLayout) {
  live_many(200, {.layout = false}, true);
}
TEST(AdmitProperty, WithoutMemoryGroups) {
  live_many(200, {.groups = false}, false);
}
TEST(AdmitProperty, WithoutListsOfDevices) {
  live_many(200, {.devices = false}, false);
}
TEST(AdmitProperty, WithCountsAlone) {
  live_many(300, {.layout = false, .cpu_ids = false, .groups = false, .devices = false}, true);
}

}  // namespace
}  // namespace plimsoll::topology::kubelet

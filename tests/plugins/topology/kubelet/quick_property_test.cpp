// What the quick verdict says is what the whole algorithm says.

#include "plugins/topology/kubelet/quick.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/plugins/topology/kubelet/random_pod.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology::kubelet {
namespace {

int64_t upto(std::mt19937& random, int64_t most) {
  return std::uniform_int_distribution<int64_t>(1, std::max<int64_t>(most, 1))(random);
}

// Machines as they are mostly: every device in one zone, options off.
Machine ordinary_machine(Resources& resources, std::mt19937& random) {
  MachineSpec spec = random_spec(random);
  spec.hybrid = chance(random, 5);
  Machine machine = random_machine(spec, resources, random);
  NodeModel& model = machine.model;
  if (chance(random, 80)) model.managers.cpu_options = {};
  if (chance(random, 30)) model.managers.cpu_options.full_pcpus_only = true;
  for (DeviceType& type : model.devices) {
    if (chance(random, 10)) continue;
    for (Device& device : type.devices) {
      device.zones = ZoneMask{1} << pick(random, spec.zones);
    }
  }
  model.prepare();
  if (chance(random, 80)) {
    for (uint32_t zone = 0; zone < model.zones(); ++zone) {
      machine.state.set_group(model, zone, machine.state.assignments(model, zone),
                              ZoneMask{1} << zone);
    }
  }
  return machine;
}

// Pods as they are mostly: every container asks for CPUs and memory, rarely for more than a zone
// has.
PodDemand ordinary_pod(const NodeModel& model, std::mt19937& random) {
  PodDemand pod;
  pod.guaranteed = chance(random, 85);
  const uint32_t containers = chance(random, 50) ? 1 : 1 + pick(random, 4);
  for (uint32_t i = 0; i < containers; ++i) {
    ContainerDemand& made = pod.containers.emplace_back();
    made.name = "c" + std::to_string(i);
    if (containers > 1) made.kind = static_cast<ContainerKind>(pick(random, 3));
    const int64_t parts = chance(random, 10) ? 1 : 2 * int64_t{containers};
    made.cpu_milli = 1000 * upto(random, 2 * model.cpu.most / parts);
    if (chance(random, 10)) made.cpu_milli -= 500;
    made.cpu_limit_milli = made.cpu_milli;
    for (uint32_t row = 0; row < model.memory.size(); ++row) {
      if (row > 0 && !chance(random, 40)) continue;
      made.memory.push_back(
          {model.memory[row].resource, upto(random, 2 * model.memory_by_type[row].most / parts)});
    }
    made.memory_limit = made.memory.front().amount;
    for (uint32_t row = 0; row < model.devices.size(); ++row) {
      if (!chance(random, 40)) continue;
      made.devices.push_back(
          {model.devices[row].resource, upto(random, model.device_facts[row].totals.most / parts)});
    }
  }
  pod.prepare();
  return pod;
}

struct Seen {
  uint32_t asked = 0;
  uint32_t unsure = 0;
  uint32_t admitted = 0;
  uint32_t at_once = 0;  // by QuickPlan::zone_of
  std::map<Stage, uint32_t> refused;
};

void compare(const NodeModel& model, const NodeState& state, const PodDemand& pod,
             const Admission& thorough, Seen& seen) {
  const QuickPlan plan(model, pod);
  const Brief brief(model, state);
  const QuickVerdict quick = plan.verdict(state.counts(), brief);
  ++seen.asked;
  if (plan.is_plain() && !plan.says_nothing(brief) &&
      plan.zone_of(state.counts()) != QuickPlan::kNoZone) {
    ++seen.at_once;
    EXPECT_TRUE(thorough.admitted()) << message_of(thorough, "r");
    EXPECT_EQ(quick.answer, QuickVerdict::kAdmitted);
  }
  if (quick.answer == QuickVerdict::kUnsure) {
    ++seen.unsure;
  } else if (quick.answer == QuickVerdict::kAdmitted) {
    ++seen.admitted;
    EXPECT_TRUE(thorough.admitted()) << message_of(thorough, "r");
  } else {
    ++seen.refused[quick.stage];
    EXPECT_EQ(quick.reason, thorough.reason);
    EXPECT_EQ(quick.stage, thorough.stage);
    EXPECT_EQ(quick.container, thorough.container);
    if (quick.stage == Stage::kDevice) {
      EXPECT_EQ(quick.resource, thorough.resource);
    }
  }
}

constexpr uint32_t kManySeeds = 1500;

Seen compare_many(uint32_t seeds, const Known& known, bool exact_memory) {
  Seen seen;
  const uint32_t first = test::test_seed();
  for (uint32_t seed = first; seed < first + seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Resources resources;
    const Machine machine = ordinary_machine(resources, random);
    Node node = limited(machine.model, machine.state, known);
    node.state.set_memory_exact(exact_memory);
    Scratch scratch;
    for (int step = 0; step < 16 && !::testing::Test::HasFailure(); ++step) {
      const PodDemand pod = chance(random, 85) ? ordinary_pod(node.model, random)
                                               : random_pod(node.model, random, true);
      SCOPED_TRACE("step " + std::to_string(step));
      const NodeState before = node.state;
      compare(node.model, before, pod, admit(node.model, node.state, pod, scratch), seen);
      if (chance(random, 50)) node.state = before;
    }
  }
  EXPECT_GT(seen.admitted, seen.asked / 20);
  EXPECT_GT(seen.at_once, seen.asked / 50);
  EXPECT_GT(seen.refused[Stage::kMerge], seen.asked / 20);
  if (seeds >= kManySeeds) {
    EXPECT_GT(seen.refused[Stage::kMemory], 0u);  // there are few
  }
  EXPECT_GT(seen.refused[Stage::kCpu], 0u);
  ::testing::Test::RecordProperty("unsure", static_cast<int>(seen.unsure));
  ::testing::Test::RecordProperty("asked", static_cast<int>(seen.asked));
  return seen;
}

TEST(QuickVerdict, SaysTheSameWithEveryFact) {
  const Seen seen = compare_many(kManySeeds, {}, true);
  EXPECT_GT(seen.refused.at(Stage::kDevice), 0u);
}
TEST(QuickVerdict, SaysTheSameWithoutIdsOfFreeCpus) {
  compare_many(500, {.cpu_ids = false}, true);
}
TEST(QuickVerdict, SaysTheSameWithoutGroups) {
  compare_many(500, {.groups = false}, false);
}
TEST(QuickVerdict, SaysTheSameOnCounts) {
  compare_many(kManySeeds, {.layout = false, .cpu_ids = false, .groups = true, .devices = false},
               false);
}

// Where mostly everything is on counts or with all facts, it must mostly know.
TEST(QuickVerdict, IsMostlySure) {
  for (const bool facts : {true, false}) {
    std::mt19937 random(test::test_seed());
    Seen seen;
    for (uint32_t round = 0; round < 300; ++round) {
      Resources resources;
      MachineSpec spec;
      spec.zones = 2 + pick(random, 7);
      spec.cores_per_zone = 8;
      Machine machine = random_machine(spec, resources, random);
      if (!machine.model.layout->even()) continue;  // sockets of different size
      machine.model.managers.cpu_options = {};
      machine.model.managers.prefer_closest = false;
      for (DeviceType& type : machine.model.devices) {
        for (Device& device : type.devices) {
          device.zones = ZoneMask{1} << pick(random, spec.zones);
        }
      }
      for (MemoryType& type : machine.model.memory) {
        type.allocatable.assign(spec.zones, int64_t{64} << 30);
      }
      machine.model.prepare();
      for (uint32_t zone = 0; zone < spec.zones; ++zone) {
        machine.state.set_group(machine.model, zone, machine.state.assignments(machine.model, zone),
                                ZoneMask{1} << zone);
        for (uint32_t row = 0; row < machine.model.memory.size(); ++row) {
          machine.state.memory(machine.model, row)[zone] = upto(random, int64_t{64} << 30);
        }
      }
      const Node node = limited(machine.model, machine.state,
                                {.layout = facts, .cpu_ids = facts, .devices = facts});
      PodDemand pod;
      pod.guaranteed = true;
      ContainerDemand& container = pod.containers.emplace_back();
      container.cpu_milli = container.cpu_limit_milli = 1000 * upto(random, 8);
      container.memory = {{kMemoryResource, upto(random, int64_t{48} << 30)}};
      container.devices = {{node.model.devices[0].resource, 1}};
      pod.prepare();
      NodeState after = node.state;
      Scratch scratch;
      compare(node.model, node.state, pod, admit(node.model, after, pod, scratch), seen);
    }
    EXPECT_GT(seen.asked, 100u);
    EXPECT_LT(seen.unsure, seen.asked / 5) << (facts ? "facts" : "counts");
  }
}

}  // namespace
}  // namespace plimsoll::topology::kubelet

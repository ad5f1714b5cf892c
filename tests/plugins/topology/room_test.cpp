// Random machines and pods: what is said of pods that fit with less is true with more.

#include "plugins/topology/possible/room.hpp"

#include <gtest/gtest.h>

#include <iostream>

#include "plugins/topology/kubelet/admit.hpp"
#include "plugins/topology/possible/arrival.hpp"
#include "tests/plugins/topology/kubelet/random_pod.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology {
namespace {

using kubelet::chance;
using kubelet::ContainerDemand;
using kubelet::ContainerKind;
using kubelet::NodeModel;
using kubelet::NodeState;
using kubelet::pick;
using kubelet::PodDemand;

// A small pod: whole CPUs, memory, devices, of which each container may ask.
PodDemand small_pod(const NodeModel& model, std::mt19937& random) {
  PodDemand pod;
  pod.guaranteed = chance(random, 85);
  const uint32_t containers = 1 + pick(random, 3);
  for (uint32_t i = 0; i < containers; ++i) {
    ContainerDemand made;
    made.kind = i == 0 && containers > 1 && chance(random, 25)
                    ? (chance(random, 50) ? ContainerKind::kInit : ContainerKind::kSidecar)
                    : ContainerKind::kApp;
    made.cpu_milli = chance(random, 80) ? 1000 * (1 + pick(random, 4)) : 500;
    for (const kubelet::MemoryType& type : model.memory) {
      if (type.resource != kubelet::kMemoryResource && !chance(random, 25)) continue;
      const int64_t most = *std::max_element(type.allocatable.begin(), type.allocatable.end());
      made.memory.push_back({type.resource, most / 16 * (1 + pick(random, 12))});
    }
    for (const kubelet::DeviceType& type : model.devices) {
      if (chance(random, 30)) made.devices.push_back({type.resource, 1 + pick(random, 2)});
    }
    pod.containers.push_back(std::move(made));
  }
  pod.prepare();
  return pod;
}

struct Life {
  explicit Life(uint32_t seed) : random(seed) {
    kubelet::Resources resources;
    kubelet::MachineSpec spec;
    spec.zones = 2 + pick(random, 3);
    spec.cores_per_zone = 4 + pick(random, 9);
    spec.hybrid = chance(random, 5);
    spec.threads = 1 + pick(random, 2);
    spec.devices = 2 + pick(random, 8);
    kubelet::Machine machine = random_machine(spec, resources, random);
    kubelet::NodeModel& model = machine.model;
    model.managers.cpu_options = {};
    model.managers.cpu_options.full_pcpus_only = chance(random, 10);
    model.managers.cpu = kubelet::ManagerPolicy::kStatic;
    model.managers.memory =
        chance(random, 60) ? kubelet::ManagerPolicy::kNone : kubelet::ManagerPolicy::kStatic;
    if (chance(random, 60)) model.managers.policy = Policy::kSingleNumaNode;
    if (chance(random, 60)) model.managers.scope = Scope::kContainer;
    model.prepare();
    NodeState empty(model);
    empty.set_cpu_ids(model, model.layout->all() - *model.reserved);
    for (uint32_t column = 0; column < model.zones(); ++column) {
      empty.set_group(model, column, 0, kubelet::ZoneMask{1} << column);
      for (uint32_t row = 0; row < model.memory.size(); ++row) {
        empty.memory(model, row)[column] = model.memory[row].allocatable[column];
      }
    }
    for (uint32_t row = 0; row < model.devices.size(); ++row) {
      empty.set_device_ids(model, row, model.device_facts[row].healthy);
    }
    kubelet::Known known;
    if (chance(random, 40)) known = {false, false, chance(random, 50), false};
    node = limited(model, empty, known);
    const uint32_t pods = 4 + pick(random, 12);
    for (uint32_t i = 0; i < pods; ++i) {
      const PodDemand pod = small_pod(node.model, random);
      kubelet::Admission given = admit(node.model, node.state, pod, scratch);
      if (given.admitted() && !given.allocation.empty()) held.push_back(given.allocation);
    }
  }

  // The node once some of its pods, any, are gone.
  NodeState with_some_gone() {
    NodeState state = node.state;
    for (const kubelet::Allocation& one : held) {
      if (chance(random, 40)) release(node.model, state, one);
    }
    return state;
  }

  NodeState with_all_gone() const {
    NodeState state = node.state;
    for (const kubelet::Allocation& one : held) release(node.model, state, one);
    return state;
  }

  std::mt19937 random;
  kubelet::Node node;
  kubelet::Scratch scratch;
  std::vector<kubelet::Allocation> held;
};

constexpr uint32_t kMachines = 250;

TEST(Room, WhatIsSaidToFitWithMoreDoes) {
  int checked = 0;
  int told = 0;
  int broken = 0;
  const uint32_t first = test::test_seed();
  for (uint32_t seed = first; seed < first + kMachines && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life life(seed);
    const NodeModel& model = life.node.model;
    for (int i = 0; i < 40; ++i) {
      const PodDemand pod = small_pod(model, life.random);
      if (!admits(model, life.node.state, pod, life.scratch)) continue;
      const bool sure = fits_with_more(model, pod);
      ++checked;
      told += sure ? 1 : 0;
      for (int k = 0; k < 6; ++k) {
        const bool fits = admits(model, life.with_some_gone(), pod, life.scratch);
        if (sure) {
          EXPECT_TRUE(fits) << "policy " << static_cast<int>(model.managers.policy) << " scope "
                            << static_cast<int>(model.managers.scope);
        }
        broken += fits ? 0 : 1;
      }
    }
  }
  std::cout << checked << " pods fit, of " << told << " it was said that they fit with more; "
            << broken << " times another did not\n";
  EXPECT_GT(told * 2, checked) << "it is said of most";
  EXPECT_GT(broken, 0) << "there is something to be said";
}

TEST(Room, PodsThatAreSureOfRoomAreAdmittedInAnyOrderAndIfMoreIsFreed) {
  int several = 0;
  int whole_cores = 0;
  const uint32_t first = test::test_seed(1000);
  for (uint32_t seed = first; seed < first + kMachines && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life life(seed);
    const NodeModel& model = life.node.model;
    for (int i = 0; i < 40; ++i) {
      const PodDemand pod = small_pod(model, life.random);
      const PodDemand other = small_pod(model, life.random);
      const std::vector<const PodDemand*> all = {&pod, &other};
      if (!are_sure_of_room(model, life.node.state, all, 2, life.scratch)) continue;
      several += fits_with_more(model, pod) ? 0 : 1;
      whole_cores += model.managers.cpu_options.full_pcpus_only ? 1 : 0;
      for (int k = 0; k < 4; ++k) {
        NodeState state = life.with_some_gone();
        EXPECT_TRUE(admit(model, state, k % 2 == 0 ? other : pod, life.scratch).admitted());
        EXPECT_TRUE(admits(model, state, k % 2 == 0 ? pod : other, life.scratch));
      }
    }
  }
  EXPECT_GT(several, 50);
  EXPECT_GT(whole_cores, 10);
}

TEST(Room, APodFitsWhereEachZoneHasRoomForAllOfItOrNeverWill) {
  int told = 0;
  int more = 0;  // of which nothing else says that they fit with more
  const uint32_t first = test::test_seed(2000);
  for (uint32_t seed = first; seed < first + 4 * kMachines && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life life(seed);
    const NodeModel& model = life.node.model;
    for (int i = 0; i < 40; ++i) {
      const PodDemand pod = small_pod(model, life.random);
      const PodDemand* const alone[] = {&pod};
      if (!counts_suffice(model, life.node.state, alone) ||
          !each_zone_has_room_or_never_will(model, life.node.state, pod)) {
        continue;
      }
      ++told;
      more += fits_with_more(model, pod) ? 0 : 1;
      EXPECT_TRUE(admits(model, life.node.state, pod, life.scratch));
      for (int k = 0; k < 6; ++k) {
        EXPECT_TRUE(admits(model, life.with_some_gone(), pod, life.scratch));
      }
    }
  }
  std::cout << told << " pods have room in each zone or never, " << more
            << " of them of several containers that share\n";
  EXPECT_GT(told, 100);
  EXPECT_GT(more, 10);
}

TEST(Room, APodThatLandsAlikeWithLeastAndWithMostLandsThereWithAnythingBetween) {
  int told = 0;
  int restricted = 0;
  int moved = 0;
  const uint32_t first = test::test_seed(3000);
  for (uint32_t seed = first; seed < first + 4 * kMachines && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life life(seed);
    const NodeModel& model = life.node.model;
    for (int i = 0; i < 20; ++i) {
      const std::vector<PodDemand> pods = {small_pod(model, life.random),
                                           small_pod(model, life.random)};
      NodeState least = life.node.state;
      NodeState most = life.with_all_gone();
      for (size_t known = 0; known < pods.size(); ++known) {
        if (!lands_alike(model, pods[known], least, most, life.scratch)) break;
        ++told;
        restricted += model.managers.policy == Policy::kRestricted ? 1 : 0;
        NodeState sure = life.node.state;
        std::vector<kubelet::ContainerGrant> grants;
        for (size_t k = 0; k <= known; ++k) {
          grants = admit_and_start(model, sure, pods[k], life.scratch).containers;
        }
        for (int k = 0; k < 4; ++k) {
          NodeState state = life.with_some_gone();
          kubelet::Admission admission;
          for (size_t before = 0; before <= known; ++before) {
            admission = admit_and_start(model, state, pods[before], life.scratch);
          }
          ASSERT_TRUE(admission.admitted());
          for (size_t c = 0; c < grants.size(); ++c) {
            EXPECT_EQ(admission.containers[c].hint, grants[c].hint);
            EXPECT_EQ(admission.containers[c].cpus, grants[c].cpus);
          }
        }
      }
      const kubelet::Admission now = [&] {
        NodeState state = life.node.state;
        return admit_and_start(model, state, pods[0], life.scratch);
      }();
      NodeState state = life.with_all_gone();
      const kubelet::Admission then = admit_and_start(model, state, pods[0], life.scratch);
      if (!now.admitted() || !then.admitted()) continue;
      for (size_t c = 0; c < now.containers.size(); ++c) {
        moved += now.containers[c].hint == then.containers[c].hint ? 0 : 1;
      }
    }
  }
  std::cout << told << " pods land alike, " << restricted << " of them under restricted; " << moved
            << " containers do not\n";
  EXPECT_GT(told, 200);
  EXPECT_GT(restricted, 50);
  EXPECT_GT(moved, 50) << "there is something to be said";
}

// Memory is tied to zones only where a manager does it; fractions of a CPU nowhere.
TEST(Room, AHoldOnZonesIsWhatManagersGive) {
  NodeModel model;
  model.zone_ids = {0, 1};
  model.cpu_totals = {8, 8};
  model.managers.cpu = kubelet::ManagerPolicy::kStatic;
  model.managers.memory = kubelet::ManagerPolicy::kNone;
  model.memory.push_back({kubelet::kMemoryResource, {16, 16}});
  model.devices.push_back({7, {}, {2, 2}});
  model.prepare();
  PodDemand pod;
  pod.guaranteed = true;
  pod.containers.resize(1);
  pod.containers[0].cpu_milli = 500;
  pod.containers[0].memory = {{kubelet::kMemoryResource, 1}};
  pod.containers[0].devices = {{9, 1}};
  pod.prepare();
  EXPECT_FALSE(may_hold(model, pod));
  PodDemand whole = pod;
  whole.containers[0].cpu_milli = 1000;
  whole.prepare();
  EXPECT_TRUE(may_hold(model, whole));
  whole.guaranteed = false;
  EXPECT_FALSE(may_hold(model, whole));
  whole.containers[0].devices = {{7, 1}};
  EXPECT_TRUE(may_hold(model, whole));
  model.managers.memory = kubelet::ManagerPolicy::kStatic;
  model.prepare();
  EXPECT_TRUE(may_hold(model, pod));
}

}  // namespace
}  // namespace plimsoll::topology

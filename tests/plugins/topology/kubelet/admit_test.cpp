// Admissions on nodes at the edge of what there is.

#include "plugins/topology/kubelet/admit.hpp"
#include "plugins/topology/kubelet/cpu_take.hpp"

#include <gtest/gtest.h>

namespace plimsoll::topology::kubelet {
namespace {

constexpr int64_t kGibibyte = int64_t{1} << 30;
constexpr uint32_t kGpu = 7;

struct Scene {
  NodeModel model;
  NodeState state;
  Scratch scratch;

  // Zones with 4 CPUs, 8 GiB and one device each, all free.
  Scene(Policy policy, Scope scope, uint32_t zones) {
    for (uint32_t zone = 0; zone < zones; ++zone) model.zone_ids.push_back(3 * zone);
    model.managers.policy = policy;
    model.managers.scope = scope;
    model.cpu_totals.assign(zones, 4);
    model.memory.push_back({kMemoryResource, std::vector<int64_t>(zones, 8 * kGibibyte)});
    model.devices.push_back({kGpu, {}, std::vector<int64_t>(zones, 1)});
    model.prepare();
    state = NodeState(model);
    for (uint32_t column = 0; column < zones; ++column) {
      state.cpu(model)[column] = 4;
      state.memory(model, 0)[column] = 8 * kGibibyte;
      state.devices(model, 0)[column] = 1;
    }
  }
  Admission admit(const PodDemand& pod) {
    const Reason expected = verdict(model, state, pod, scratch);
    Admission got = kubelet::admit(model, state, pod, scratch);
    EXPECT_EQ(got.reason, expected);
    return got;
  }
};

ContainerDemand container(int64_t cpus, int64_t gib, int64_t gpus) {
  ContainerDemand made;
  made.name = "c";
  made.cpu_milli = made.cpu_limit_milli = 1000 * cpus;
  made.memory = {{kMemoryResource, gib * kGibibyte}};
  made.memory_limit = gib * kGibibyte;
  if (gpus >= 0) made.devices = {{kGpu, gpus}};
  return made;
}

PodDemand pod_of(std::vector<ContainerDemand> containers) {
  PodDemand pod;
  pod.guaranteed = true;
  pod.containers = std::move(containers);
  pod.prepare();
  return pod;
}

TEST(Admit, ANodeWithoutZonesHasNothingToPin) {
  for (const Policy policy :
       {Policy::kNone, Policy::kBestEffort, Policy::kRestricted, Policy::kSingleNumaNode}) {
    Scene scene(policy, Scope::kContainer, 0);
    // No zone has CPUs or memory, so neither manager acts; the resource has no healthy device.
    EXPECT_TRUE(scene.admit(pod_of({container(2, 1, -1)})).admitted());
    EXPECT_EQ(scene.admit(pod_of({container(2, 1, 1)})).fault, Fault::kNoHealthyDevice);
  }
}

TEST(Admit, APodThatAsksForNothingIsAdmitted) {
  for (const Scope scope : {Scope::kContainer, Scope::kPod}) {
    Scene scene(Policy::kSingleNumaNode, scope, 2);
    const NodeState before = scene.state;
    EXPECT_TRUE(scene.admit(pod_of({})).admitted());
    PodDemand best_effort = pod_of({container(0, 0, -1)});
    best_effort.guaranteed = false;
    best_effort.prepare();
    EXPECT_TRUE(scene.admit(best_effort).admitted());
    EXPECT_EQ(scene.state, before);
  }
}

TEST(Admit, PinsToTheLowestZoneThatHasEverything) {
  Scene scene(Policy::kSingleNumaNode, Scope::kContainer, 4);
  scene.state.devices(scene.model, 0)[0] = 0;
  scene.state.cpu(scene.model)[1] = 1;
  const Admission got = scene.admit(pod_of({container(3, 2, 1)}));
  ASSERT_TRUE(got.admitted());
  EXPECT_EQ(got.containers[0].hint.mask, ZoneMask{4});
  EXPECT_EQ(got.containers[0].cpus, (std::vector<int64_t>{0, 0, 3, 0}));
  EXPECT_EQ(got.containers[0].memory[0].zones, ZoneMask{4});
  EXPECT_EQ(got.containers[0].devices[0].by_zone, (std::vector<int64_t>{0, 0, 1, 0}));
  EXPECT_EQ(scene.state.cpu(scene.model)[2], 1);
  release(scene.model, scene.state, got.allocation);
  EXPECT_EQ(scene.state.cpu(scene.model)[2], 4);
}

// An init container's CPUs and devices are reused, so the pod never takes more than the larger.
TEST(Admit, AppContainersReuseWhatInitContainersHeld) {
  Scene scene(Policy::kRestricted, Scope::kContainer, 2);
  ContainerDemand init = container(4, 4, 1);
  init.kind = ContainerKind::kInit;
  const Admission got = scene.admit(pod_of({init, container(3, 8, 1)}));
  ASSERT_TRUE(got.admitted());
  EXPECT_EQ(got.allocation.cpus, (std::vector<int64_t>{4, 0}));
  EXPECT_EQ(got.allocation.devices[0].count, 1);
  EXPECT_EQ(scene.state.memory(scene.model, 0)[0], 0);
  EXPECT_EQ(got.containers[0].memory[0].bytes, 0);
  EXPECT_EQ(got.containers[1].memory[0].bytes, 8 * kGibibyte);
}

// 64 zones: single zones and pairs are found, and nothing takes a time that doubles with each.
// Only with pod-level resources there is such a container.
TEST(Admit, AContainerWithoutMemoryIsRefusedUpTo1_36) {
  for (const uint16_t minor : std::initializer_list<uint16_t>{0, 36, 37}) {
    Scene scene(Policy::kSingleNumaNode, Scope::kContainer, 2);
    scene.model.managers.pod_level_resource_managers = true;
    scene.model.managers.kubelet_minor = minor;
    ContainerDemand bare;
    bare.name = "b";
    PodDemand pod = pod_of({container(2, 4, -1), bare});
    pod.pod_level = true;
    pod.pod_cpu_milli = 4000;
    pod.pod_memory = {{kMemoryResource, 8 * kGibibyte}};
    pod.prepare();
    const Admission got = scene.admit(pod);
    if (minor < 37) {
      EXPECT_EQ(got.stage, Stage::kMemory) << minor;
      EXPECT_EQ(got.container, 1U) << minor;
      continue;
    }
    ASSERT_TRUE(got.admitted());
    EXPECT_EQ(got.containers[0].memory.size(), 1U);
    EXPECT_TRUE(got.containers[1].memory.empty());
    EXPECT_EQ(scene.state.memory(scene.model, 0)[0], 4 * kGibibyte);
  }
}

// policy_static.go: getContainerRequestedResources and getPodRequestedResources fail on a quantity
// that is no int64. Then there are no hints, and Allocate fails; AllocatePod does not look at it.
TEST(Admit, MemoryThatIsNoWholeNumberOfBytesIsRefusedByTheMemoryManagerOnly) {
  for (const Policy policy :
       {Policy::kNone, Policy::kBestEffort, Policy::kRestricted, Policy::kSingleNumaNode}) {
    for (const Scope scope : {Scope::kContainer, Scope::kPod}) {
      Scene scene(policy, scope, 2);
      PodDemand pod = pod_of({container(2, 1, -1), container(1, 1, -1)});
      pod.containers[1].memory_unreadable = true;
      pod.prepare();
      const Admission got = scene.admit(pod);
      EXPECT_EQ(got.reason, Reason::kUnexpectedAdmissionError);
      EXPECT_EQ(got.fault, Fault::kNotInt64);
      EXPECT_EQ(got.container, 1U);
      EXPECT_EQ(message_of(got, "memory"),
                "Allocate failed due to [memorymanager] failed to represent quantity as int64, "
                "which is unexpected");
      pod.guaranteed = false;
      pod.prepare();
      EXPECT_TRUE(scene.admit(pod).admitted());
    }
  }
  Scene scene(Policy::kSingleNumaNode, Scope::kContainer, 2);
  for (int64_t& bytes : scene.model.memory[0].allocatable) bytes = 0;
  scene.model.prepare();
  PodDemand pod = pod_of({container(2, 1, -1)});
  pod.containers[0].memory_unreadable = true;
  EXPECT_TRUE(scene.admit(pod).admitted()) << "nobody pins memory";
}

TEST(Admit, PodLevelMemoryThatIsNoWholeNumberOfBytesIsNotPinned) {
  Scene scene(Policy::kBestEffort, Scope::kPod, 2);
  scene.model.managers.pod_level_resource_managers = true;
  PodDemand pod = pod_of({container(2, 1, -1), container(1, 1, -1)});
  pod.pod_level = true;
  pod.pod_cpu_milli = 4000;
  pod.pod_memory = {{kMemoryResource, 3 * kGibibyte}};
  pod.containers[1].memory_unreadable = true;
  pod.prepare();
  EXPECT_EQ(scene.admit(pod).reason, Reason::kEmptyPodSharedPoolError)
      << "validatePodScopeResources fails";
  pod.pod_memory_unreadable = true;
  const Admission got = scene.admit(pod);
  ASSERT_TRUE(got.admitted());
  EXPECT_EQ(got.containers[0].memory.size() + got.containers[1].memory.size(), 0U);
  EXPECT_EQ(scene.state.memory(scene.model, 0)[0], 8 * kGibibyte);
}

// Two sockets of two zones of 8 CPUs each, of which 2, 8, 6 and 6 are free; 10 are asked for.
// kubernetes 1.37: cpu_assignment.go, takeByTopologyNUMADistributed.
TEST(Admit, ZonesOfOneSocketComeFirstSince1_37) {
  std::vector<CpuPlace> places;
  for (uint32_t cpu = 0; cpu < 32; ++cpu) places.push_back({cpu, cpu / 8, cpu / 16, cpu, cpu / 8});
  const CpuLayout layout(places);
  CpuSet available;
  for (const auto& [zone, count] : {std::pair(0, 2), {1, 8}, {2, 6}, {3, 6}}) {
    for (int i = 0; i < count; ++i) available.add(static_cast<uint32_t>(8 * zone + i));
  }
  Managers managers;
  managers.cpu_options.distribute_cpus_across_numa = true;
  const auto by_zone = [&](bool align, uint16_t minor) {
    managers.cpu_options.align_by_socket = align;
    managers.kubelet_minor = minor;
    CpuSet taken;
    EXPECT_TRUE(take_cpus(layout, managers, available, 10, taken));
    std::vector<int> counts(4);
    taken.for_each([&](uint32_t cpu) { ++counts[cpu / 8]; });
    return counts;
  };
  EXPECT_EQ(by_zone(true, 37), (std::vector{0, 0, 5, 5}));
  const std::vector<int> most_alike = by_zone(true, 36);
  EXPECT_EQ(most_alike[1], 5);
  EXPECT_EQ(most_alike[2] + most_alike[3], 5);
  EXPECT_EQ(by_zone(false, 37), most_alike);
  // Where only the first socket is left, its zones carry what the smaller one can, and the rest
  // comes from the larger one. Up to 1.36 there is no even split, and zones are packed.
  for (uint32_t cpu = 16; cpu < 32; ++cpu) available -= CpuSet::parse(std::to_string(cpu)).value();
  EXPECT_EQ(by_zone(true, 37), (std::vector{2, 8, 0, 0}));
}

TEST(Admit, ManyZonesStayAffordable) {
  for (const Policy policy : {Policy::kBestEffort, Policy::kRestricted, Policy::kSingleNumaNode}) {
    Scene scene(policy, Scope::kContainer, 64);
    for (uint32_t column = 0; column < 64; ++column) scene.state.cpu(scene.model)[column] = 1;
    scene.state.cpu(scene.model)[40] = scene.state.cpu(scene.model)[60] = 4;
    const Admission one = scene.admit(pod_of({container(2, 1, 1)}));
    ASSERT_TRUE(one.admitted());
    EXPECT_EQ(one.containers[0].hint.mask, ZoneMask{1} << 40);
    release(scene.model, scene.state, one.allocation);
    const Admission two = scene.admit(pod_of({container(8, 16, 2)}));
    ASSERT_EQ(two.admitted(), policy != Policy::kSingleNumaNode);
    if (two.admitted()) {
      EXPECT_EQ(two.containers[0].hint.mask, ZoneMask{1} << 40 | ZoneMask{1} << 60);
    }
    // Far too wide a request for any set of a size that can be looked at.
    EXPECT_EQ(scene.admit(pod_of({container(200, 1, -1)})).admitted(), false);
  }
}

TEST(Admit, TheMessageIsTheKubelets) {
  Scene scene(Policy::kBestEffort, Scope::kContainer, 2);
  const Admission got = scene.admit(pod_of({container(9, 1, -1)}));
  EXPECT_EQ(to_string(got.reason), "UnexpectedAdmissionError");
  // Four come from the zone that memory prefers, the other five are not there.
  EXPECT_EQ(message_of(got, ""),
            "Allocate failed due to not enough cpus available to satisfy request: requested=5, "
            "available=4, which is unexpected");
}

TEST(CpuSetText, IsTheLinuxListBothWays) {
  for (const char* text : {"", "0", "0-3,8", "5,7,9-2047"}) {
    const auto set = CpuSet::parse(text);
    ASSERT_TRUE(set.has_value()) << text;
    EXPECT_EQ(set->text(), text);
  }
  for (const char* text : {",", "1,", "3-1", "a", "1-", "-1", " 1", "2048", "1-4294967296"}) {
    EXPECT_FALSE(CpuSet::parse(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace plimsoll::topology::kubelet

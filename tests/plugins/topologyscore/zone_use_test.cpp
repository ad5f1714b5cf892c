// The zones that scores look at are those that the kubelet gives: what facts of a node change.

#include "plugins/topology/verdict/zone_use.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "plugins/topology/ledger/ledger.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr const char* kExampleGpu = "example.com/gpu";

// A machine of zones with 8 CPUs each, one thread per core.
NrtObject machine(Policy policy, uint32_t zones, Scope scope = Scope::kContainer) {
  NrtObject nrt;
  nrt.name = "n1";
  nrt.resource_version = "1";
  nrt.manager.policy = policy;
  nrt.manager.scope = scope;
  nrt.machine_facts = "v1.0\n";
  nrt.free_facts = "v1.0\n";
  for (uint32_t id = 0; id < zones; ++id) {
    NrtZone zone;
    zone.id = id;
    zone.resources.push_back({"cpu", 8000, 8000, 8000});
    nrt.zones.push_back(zone);
    const std::string name = std::to_string(id);
    nrt.machine_facts += "cpus " + name + "/" + name + "/" + name + " " + std::to_string(8 * id) +
                         "-" + std::to_string(8 * id + 7) + "\n";
  }
  return nrt;
}

void set(NrtObject& nrt, const char* attribute, const char* value) {
  nrt.attributes.push_back({attribute, value});
}

void add(NrtObject& nrt, const char* resource, std::vector<int64_t> available, int64_t most) {
  for (size_t i = 0; i < available.size(); ++i) {
    nrt.zones[i].resources.push_back({resource, most, most, available[i]});
  }
}

class ZoneUseTest : public testing::Test {
 protected:
  void report(const NrtObject& nrt) {
    ledger_.emplace(scene_.index());
    ledger_->node_added("n1", 0);
    ledger_->report(nrt, kYear2026Ms);
    for (const std::string& note : ledger_->take_notes()) ADD_FAILURE() << note;
  }
  // False: refused.
  bool rate(const PodSpec& pod) {
    inquiry_.emplace(*scene_.pod(pod));
    use_ = ledger_->ask().use(0, *inquiry_);
    return use_ != nullptr;
  }
  bool rate(const NrtObject& nrt, const PodSpec& pod) {
    report(nrt);
    return rate(pod);
  }
  [[nodiscard]] int64_t left(std::string_view resource, uint32_t column) {
    const plimsoll_numa_node& view = *ledger_->ask().node(0);
    return use_->free[size_t{row_of(view, scene_.resource(resource))} * view.zone_count + column];
  }
  [[nodiscard]] uint64_t taken(std::string_view resource) {
    return use_->taken[row_of(*ledger_->ask().node(0), scene_.resource(resource))];
  }

  TopologyScene scene_;
  std::optional<Ledger> ledger_;
  std::optional<Inquiry> inquiry_;
  const plimsoll_numa_use* use_ = nullptr;
};

PodSpec containers(const std::vector<std::string>& requests) {
  PodSpec pod;
  pod.apps = requests;
  return pod;
}

// Counts say that zones 0 and 1 have room; a block over both keeps others out.
TEST_F(ZoneUseTest, GroupsOfZonesForMemory) {
  NrtObject nrt = machine(Policy::kRestricted, 4);
  add(nrt, "memory", {28 * kGiB, 28 * kGiB, 32 * kGiB, 32 * kGiB}, 32 * kGiB);
  NrtObject grouped = nrt;
  grouped.free_facts +=
      "zone 0 assignments=1 cells=0,1 memory=30064771072\n"
      "zone 1 assignments=1 cells=0,1 memory=30064771072\n"
      "zone 2 assignments=0 cells=2 memory=34359738368\n"
      "zone 3 assignments=0 cells=3 memory=34359738368\n";
  const PodSpec narrow = guaranteed("p", 4, "4Gi");
  ASSERT_TRUE(rate(nrt, narrow));
  EXPECT_EQ(use_->zones, 0b0001u);
  ASSERT_TRUE(rate(grouped, narrow));
  EXPECT_EQ(use_->zones, 0b0100u);
  EXPECT_EQ(left("memory", 2), 28 * kGiB);
  EXPECT_EQ(left("cpu", 2), 4000);
  // A block over both may join them.
  const PodSpec wide = guaranteed("p", 12, "40Gi");
  ASSERT_TRUE(rate(nrt, wide));
  EXPECT_EQ(use_->zones, 0b1100u);
  ASSERT_TRUE(rate(grouped, wide));
  EXPECT_EQ(use_->zones, 0b0011u);
  EXPECT_EQ(taken("memory"), 0b0011u);
  EXPECT_EQ(use_->width, 2u);
  EXPECT_TRUE(is_aligned(*use_));
}

TEST_F(ZoneUseTest, PreferClosestNumaNodes) {
  NrtObject nrt = machine(Policy::kRestricted, 4);
  for (NrtZone& zone : nrt.zones) {
    for (uint32_t to = 0; to < 4; ++to) {
      const bool near = (zone.id >= 2) == (to >= 2) && to >= 2;
      zone.costs.push_back({to, zone.id == to ? 10 : near ? 12 : 40});
    }
  }
  const PodSpec pod = guaranteed("p", 12);
  ASSERT_TRUE(rate(nrt, pod));
  EXPECT_EQ(use_->widest, 0b0011u);
  set(nrt, "topologyManagerOptionPreferClosestNumaNodes", "true");
  ASSERT_TRUE(rate(nrt, pod));
  EXPECT_EQ(use_->widest, 0b1100u);
  EXPECT_EQ(left("cpu", 0), 8000);
}

TEST_F(ZoneUseTest, PodLevelResourcesAreTiedOnlyWhereAKubeletManagesThem) {
  NrtObject nrt = machine(Policy::kSingleNumaNode, 2, Scope::kPod);
  add(nrt, "memory", {32 * kGiB, 32 * kGiB}, 32 * kGiB);
  add(nrt, kExampleGpu, {0, 2}, 2);
  PodSpec pod = containers({"{}", "{}"});
  pod.pod_requests = R"({"cpu":"6","memory":"4Gi"})";
  ASSERT_TRUE(rate(nrt, pod));
  EXPECT_EQ(use_->width, 0u);
  EXPECT_EQ(use_->zones, 0u);
  // Devices are, in any case.
  PodSpec with_gpu = containers({R"({"example.com/gpu":"1"})"});
  with_gpu.pod_requests = pod.pod_requests;
  ASSERT_TRUE(rate(nrt, with_gpu));
  EXPECT_EQ(use_->zones, 0b10u);
  EXPECT_EQ(left("cpu", 1), 8000);

  set(nrt, "kubeletFeatureGates", "PodLevelResourceManagers=true");
  ASSERT_TRUE(rate(nrt, pod));
  EXPECT_EQ(use_->zones, 0b01u);
  EXPECT_EQ(use_->width, 1u);
  EXPECT_TRUE(is_aligned(*use_));
  EXPECT_EQ(left("cpu", 0), 2000);
  EXPECT_EQ(left("memory", 0), 28 * kGiB);
}

TEST_F(ZoneUseTest, ContainersTakeTheirZonesOneAfterTheOther) {
  const NrtObject nrt = machine(Policy::kBestEffort, 2);
  const std::string six = R"({"cpu":"6","memory":"1"})";
  ASSERT_TRUE(rate(nrt, containers({six, six})));
  EXPECT_EQ(use_->zones, 0b11u);
  EXPECT_EQ(use_->width, 1u);
  EXPECT_TRUE(is_aligned(*use_));
  // The third finds two CPUs in each.
  ASSERT_TRUE(rate(nrt, containers({six, six, R"({"cpu":"3","memory":"1"})"})));
  EXPECT_EQ(use_->width, 2u);
  EXPECT_EQ(use_->needed, 1u);
  EXPECT_FALSE(is_aligned(*use_));
  EXPECT_EQ(left("cpu", 0) + left("cpu", 1), 1000);
  // One hint for all of them.
  ASSERT_TRUE(rate(machine(Policy::kBestEffort, 2, Scope::kPod), containers({six, six})));
  EXPECT_EQ(use_->width, 2u);
  EXPECT_EQ(use_->needed, 2u);
  EXPECT_FALSE(rate(machine(Policy::kSingleNumaNode, 2, Scope::kPod), containers({six, six})));
}

// What they held stays the pod's, and ties what comes after them to its zone.
TEST_F(ZoneUseTest, InitContainers) {
  NrtObject nrt = machine(Policy::kBestEffort, 2);
  add(nrt, kExampleGpu, {0, 2}, 2);
  PodSpec pod = containers({R"({"cpu":"4","memory":"1"})"});
  pod.init = {R"({"cpu":"6","memory":"1"})"};
  ASSERT_TRUE(rate(nrt, pod));
  EXPECT_EQ(use_->zones, 0b01u);
  EXPECT_EQ(left("cpu", 0), 2000);
  pod.apps = {R"({"cpu":"4","memory":"1","example.com/gpu":"1"})"};
  ASSERT_TRUE(rate(nrt, pod));
  EXPECT_EQ(taken("cpu"), 0b01u);
  EXPECT_EQ(taken(kExampleGpu), 0b10u);
  EXPECT_EQ(use_->width, 2u);
  EXPECT_FALSE(is_aligned(*use_));
}

// Reserved CPUs count as size, though nobody gets them: one zone is called for, two are used.
TEST_F(ZoneUseTest, ReservedCpus) {
  const auto reserved = [](Policy policy) {
    NrtObject nrt = machine(policy, 2);
    set(nrt, "reservedCPUs", "0,8");
    for (NrtZone& zone : nrt.zones) {
      zone.resources[0].allocatable = zone.resources[0].available = 7000;
    }
    nrt.free_facts += "cpus 1-7,9-15\n";
    return nrt;
  };
  const PodSpec pod = guaranteed("p", 8);
  ASSERT_TRUE(rate(reserved(Policy::kBestEffort), pod));
  EXPECT_EQ(use_->used, 2u);
  EXPECT_EQ(use_->needed, 1u);
  EXPECT_FALSE(is_aligned(*use_));
  EXPECT_FALSE(rate(reserved(Policy::kRestricted), pod));
  ASSERT_TRUE(rate(reserved(Policy::kRestricted), guaranteed("p", 9)));
  EXPECT_TRUE(is_aligned(*use_));

  // Whole cores only: the siblings of reserved CPUs are free, but of no use.
  NrtObject cores = reserved(Policy::kBestEffort);
  cores.machine_facts = "v1.0\ncpus 0/0/0 0-3+4-7\ncpus 1/1/1 8-11+12-15\n";
  ASSERT_TRUE(rate(cores, guaranteed("p", 14)));
  set(cores, "cpuManagerPolicyOptions", "full-pcpus-only=true");
  EXPECT_FALSE(rate(cores, guaranteed("p", 14)));
  ASSERT_TRUE(rate(cores, guaranteed("p", 12)));
}

// Of pods of any QoS class. Those near two zones are where the hint says.
TEST_F(ZoneUseTest, DevicesOfPodsThatAreNotGuaranteed) {
  NrtObject nrt = machine(Policy::kRestricted, 3);
  add(nrt, kExampleGpu, {1, 3, 2}, 3);
  PodSpec pod = containers({R"({"cpu":"2","example.com/gpu":"2"})"});
  pod.burstable = true;
  pod.limits = R"({"example.com/gpu":"2"})";
  ASSERT_TRUE(rate(nrt, pod));
  EXPECT_EQ(use_->zones, 0b010u);
  EXPECT_EQ(left("cpu", 1), 8000);
  nrt.zones[0].resources[1] = {kExampleGpu, 2, 2, 2};
  nrt.machine_facts += "devices example.com/gpu 0,1:a,b 1:c 2:d,e,f\n";
  nrt.free_facts += "devices example.com/gpu 0,1,2,4,5\n";
  ASSERT_TRUE(rate(nrt, pod));
  EXPECT_EQ(use_->widest, 0b001u);
  EXPECT_TRUE(is_aligned(*use_));
  EXPECT_EQ(taken(kExampleGpu), 0b011u);  // zone 1 has two less as well
  EXPECT_EQ(left(kExampleGpu, 1), 1);
}

TEST_F(ZoneUseTest, UnderPolicyNoneNothingIsPromised) {
  ASSERT_TRUE(rate(machine(Policy::kNone, 2), guaranteed("p", 4)));
  EXPECT_EQ(use_->width, 1u);
  EXPECT_EQ(use_->promised, 0u);
  EXPECT_FALSE(is_aligned(*use_));
}

TEST_F(ZoneUseTest, PromisesCount) {
  report(machine(Policy::kSingleNumaNode, 2));
  PodSpec first = guaranteed("first", 6);
  ASSERT_TRUE(ledger_->reserve(*scene_.pod(first), 0, kYear2026Ms).complete);
  ASSERT_TRUE(rate(guaranteed("p", 4)));
  EXPECT_EQ(use_->zones, 0b10u);
  EXPECT_EQ(left("cpu", 0), 2000);
  ASSERT_TRUE(rate(guaranteed("p", 2)));
  EXPECT_EQ(use_->zones, 0b01u);
  EXPECT_FALSE(rate(guaranteed("p", 9)));
}

}  // namespace
}  // namespace plimsoll::topology

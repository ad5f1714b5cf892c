// View Predicted: scores on the zones that a pod will use.

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "tests/plugins/topologyscore/cpu_report.hpp"
#include "tests/plugins/topologyscore/zone_scene.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology {
namespace {

constexpr Strategy kShares[] = {Strategy::kLeastAllocated, Strategy::kMostAllocated,
                                Strategy::kBalancedAllocation, Strategy::kPreserveLargeZones};
constexpr const char* kGpu = "vendor.com/gpu";

class ZoneScoreTest : public testing::Test {
 protected:
  int64_t score(Strategy type, const PodSpec& pod, const CountedNode* node) {
    ScoringStrategy strategy;
    strategy.type = type;
    return scene_.score(strategy, *scene_.pod(pod), node);
  }
  int64_t score(Strategy type, const PodSpec& pod, const ReportSpec& report) {
    const CountedNode node = scene_.counted(report);
    return score(type, pod, &node);
  }
  // False: refused.
  bool use(const PodSpec& pod, const ReportSpec& report) {
    node_ = scene_.counted(report);
    use_ = scene_.use(kubelet::PodDemand(*scene_.pod(pod)), node_);
    return use_ != nullptr;
  }
  [[nodiscard]] int64_t free_cpu(uint32_t column) const {
    const plimsoll_numa_node& view = node_.zones.view();
    const uint32_t row = row_of(view, PLIMSOLL_RESOURCE_CPU);
    return use_->free[size_t{row} * view.zone_count + column] / 1000;
  }

  ZoneScene scene_;
  CountedNode node_;
  const plimsoll_numa_use* use_ = nullptr;
};

PodSpec gpus(int count) {
  PodSpec pod;
  pod.apps = {R"({"vendor.com/gpu":")" + std::to_string(count) + R"("})"};
  pod.burstable = true;
  pod.limits = pod.apps[0];
  return pod;
}

TEST_F(ZoneScoreTest, SharesAreOfTheUsedZoneAndOfWhatItCanAllocate) {
  // 4 of zone 1's 16 CPUs stay free; zone 0 cannot hold the pod and has no say.
  const ReportSpec report = cpus({2, 8}, "single-numa-node");
  const PodSpec pod = guaranteed("p", 4);
  EXPECT_EQ(score(Strategy::kLeastAllocated, pod, report), 25 + 25 * 75 / 100);
  EXPECT_EQ(score(Strategy::kMostAllocated, pod, report), 25 + 75 * 75 / 100);
}

TEST_F(ZoneScoreTest, ContainersTakeTheirShareOneAfterTheOther) {
  PodSpec pod;
  pod.apps = {R"({"cpu":"6","memory":"1"})", R"({"cpu":"6","memory":"1"})"};
  const ReportSpec report = cpus({8, 16}, "single-numa-node");
  ASSERT_TRUE(use(pod, report));
  EXPECT_EQ(free_cpu(0), 2);
  EXPECT_EQ(free_cpu(1), 10);
  EXPECT_EQ(use_->width, 1u);
  EXPECT_EQ(use_->zones, 0b11u);
  EXPECT_EQ(score(Strategy::kLeastAllocated, pod, report), 25 + 37 * 75 / 100);  // 12 of 32

  ReportSpec together = report;
  together.scope = "pod";
  ASSERT_TRUE(use(pod, together));
  EXPECT_EQ(free_cpu(0), 8);
  EXPECT_EQ(free_cpu(1), 4);
}

TEST_F(ZoneScoreTest, FinishedInitContainersLeaveTheirShareToThePod) {
  PodSpec pod;
  pod.init = {R"({"cpu":"8","memory":"1"})"};
  pod.apps = {R"({"cpu":"6","memory":"1"})"};
  ASSERT_TRUE(use(pod, cpus({10, 16}, "single-numa-node")));
  EXPECT_EQ(free_cpu(0), 2);
  EXPECT_EQ(free_cpu(1), 16);
  // Not enough is left to reuse for another zone to be allowed.
  pod.apps = {R"({"cpu":"12","memory":"1"})"};
  EXPECT_FALSE(use(pod, cpus({10, 16}, "single-numa-node")));
}

TEST_F(ZoneScoreTest, WidePodsGetTheSmallestLowestSetOfZones) {
  const PodSpec pod = guaranteed("p", 20);
  EXPECT_FALSE(use(pod, cpus({16, 16}, "single-numa-node")));
  ASSERT_TRUE(use(pod, cpus({2, 9, 12, 8}, "best-effort")));
  EXPECT_EQ(use_->widest, 0b0110u);
  EXPECT_TRUE(is_aligned(*use_));
  EXPECT_EQ(free_cpu(1), 0);
  EXPECT_EQ(free_cpu(2), 1);
  // Three zones where two would do: best-effort takes them, restricted refuses.
  ASSERT_TRUE(use(pod, cpus({8, 8, 8, 1}, "best-effort")));
  EXPECT_EQ(use_->widest, 0b0111u);
  EXPECT_EQ(use_->used, 3u);
  EXPECT_EQ(use_->needed, 2u);
  EXPECT_FALSE(is_aligned(*use_));
  EXPECT_FALSE(use(pod, cpus({8, 8, 8, 1}, "restricted")));
  EXPECT_EQ(score(Strategy::kMostAllocated, pod, cpus({8, 8, 8, 1}, "restricted")), 0);
  EXPECT_FALSE(use(pod, cpus({8, 8, 3, 0}, "best-effort")));
}

TEST_F(ZoneScoreTest, NodesWithManyZonesAreBoundedWork) {
  const std::vector<int> half(64, 2);
  ASSERT_TRUE(use(guaranteed("p", 16), cpus(half, "best-effort")));
  EXPECT_EQ(use_->width, 8u);
  std::vector<int> odd(64, 1);
  for (size_t i = 33; i < 64; i += 2) odd[i] = 2;
  ASSERT_TRUE(use(guaranteed("p", 60), cpus(odd, "best-effort")));
  EXPECT_GE(use_->width, 44u);
}

// However full the one and empty the other.
TEST_F(ZoneScoreTest, AlignedPlacementsScoreAboveOthers) {
  for (const Strategy type : kShares) {
    const PodSpec pod = guaranteed("p", 8);
    for (const int free : {8, 12, 16}) {
      const int64_t aligned = score(type, pod, cpus({0, free}, "best-effort"));
      for (const int part : {4, 6, 7}) {
        EXPECT_GT(aligned, score(type, pod, cpus({part, part}, "best-effort")));
      }
      EXPECT_GT(aligned, score(type, pod, cpus({0, free}, "none")));
      EXPECT_GT(aligned, kUnaligned);
    }
  }
}

// Pods of any QoS class: devices are aligned for all.
TEST_F(ZoneScoreTest, DevicesInOneZoneScoreAboveDevicesInTwo) {
  ReportSpec one = cpus({1, 1}, "best-effort");
  ReportSpec two = cpus({16, 16}, "best-effort");
  one.allocatable = two.allocatable = "16";
  one.zones[0].available.push_back({kGpu, "0"});
  one.zones[1].available.push_back({kGpu, "2"});
  two.zones[0].available.push_back({kGpu, "1"});
  two.zones[1].available.push_back({kGpu, "1"});
  for (const Strategy type : kShares) {
    EXPECT_GT(score(type, gpus(2), one), score(type, gpus(2), two)) << static_cast<int>(type);
  }
  EXPECT_EQ(score(Strategy::kLeastNumaNodes, gpus(2), one), 100);
  EXPECT_LT(score(Strategy::kLeastNumaNodes, gpus(2), two), 50);
}

TEST_F(ZoneScoreTest, LeastNumaNodesCountsZonesAndThenDistance) {
  const auto at = [&](int zones, int distance, const char* policy = "restricted") {
    NrtObject nrt = scene_.nrt(cpus({16, 16, 16, 16}, policy));
    for (NrtZone& zone : nrt.zones) {
      for (uint32_t to = 0; to < 4; ++to) {
        zone.costs.push_back({to, zone.id == to ? 10 : distance});
      }
    }
    const CountedNode node = scene_.counted(nrt);
    return score(Strategy::kLeastNumaNodes, guaranteed("p", zones * 16), &node);
  };
  EXPECT_EQ(at(1, 20), 100);
  EXPECT_EQ(at(2, 20), 41);   // 50 - 1/2 of the way to 33
  EXPECT_EQ(at(2, 40), 37);   // 3/4 of it
  EXPECT_EQ(at(2, 0), 50);    // nothing is closer than local
  EXPECT_EQ(at(2, 255), 33);  // not reported
  EXPECT_EQ(at(3, 20), 29);
  EXPECT_EQ(at(4, 20), 22);
  EXPECT_EQ(at(1, 20, "none"), 51);  // the zone is not promised
}

TEST_F(ZoneScoreTest, BalancedAllocationLooksAtCpuAndMemoryOfTheUsedZone) {
  const auto at = [&](const char* cpu, const char* memory) {
    ReportSpec report;
    report.allocatable = "100";
    report.zones = {{0, {{"cpu", cpu}, {"memory", memory}}}};
    PodSpec pod;
    pod.apps = {R"({"cpu":"10","memory":"10"})"};
    return score(Strategy::kBalancedAllocation, pod, report);
  };
  EXPECT_EQ(at("60", "60"), 100);
  EXPECT_EQ(at("100", "20"), 25 + 60 * 75 / 100);  // 10 % and 90 % full: deviation 0.4
  EXPECT_GT(at("60", "40"), at("60", "20"));
}

TEST_F(ZoneScoreTest, WhatIsNotTiedToZonesHasAResult) {
  PodSpec ordinary = guaranteed("p", 4);
  ordinary.burstable = true;
  const ReportSpec report = cpus({16}, "single-numa-node");
  ReportSpec unlisted;
  unlisted.zones = {{0, {{kGpu, "2"}}}};
  const ReportSpec no_zones;
  for (const Strategy type : {Strategy::kLeastAllocated, Strategy::kMostAllocated,
                              Strategy::kBalancedAllocation, Strategy::kLeastNumaNodes}) {
    EXPECT_EQ(score(type, ordinary, report), 100);
    EXPECT_EQ(score(type, ordinary, nullptr), 100);
    EXPECT_EQ(score(type, guaranteed("p", 4), nullptr), 0);
    EXPECT_EQ(score(type, guaranteed("p", 4), unlisted), 0);
    EXPECT_EQ(score(type, guaranteed("p", 4), no_zones), 0);
  }
}

// Random nodes with gaps, missing rows, overdrawn cells and nonsense, and random pods.
TEST_F(ZoneScoreTest, ScoresStayInRangeAndFollowWhatIsFree) {
  std::mt19937 random(test::test_seed());
  const auto pick = [&](int n) { return static_cast<int>(random() % n); };
  const char* policies[] = {"none", "best-effort", "restricted", "single-numa-node"};
  for (int round = 0; round < 400; ++round) {
    ReportSpec report;
    report.policy = policies[pick(4)];
    report.scope = pick(2) == 0 ? "pod" : "container";
    report.allocatable = std::to_string(pick(4) == 0 ? pick(3) : 16);
    int id = pick(3);
    for (int zone = 0, count = pick(9); zone < count; ++zone, id += 1 + pick(3)) {
      ZoneSpec spec{id, {}};
      for (const char* name : {"cpu", "memory", "hugepages-2Mi", kGpu}) {
        if (pick(8) != 0) spec.available.push_back({name, std::to_string(pick(20) - 2)});
      }
      report.zones.push_back(spec);
    }
    PodSpec pod;
    const auto container = [&] {
      std::string requests = R"({"cpu":")" + std::to_string(pick(20)) + R"(","memory":"1")";
      if (pick(2) == 0) requests += R"(,"vendor.com/gpu":")" + std::to_string(pick(5)) + "\"";
      return requests + "}";
    };
    for (int i = pick(3); i > 0; --i) pod.init.push_back(container());
    for (int i = pick(2); i > 0; --i) pod.sidecars.push_back(container());
    for (int i = 1 + pick(3); i > 0; --i) pod.apps.push_back(container());
    pod.burstable = pick(4) == 0;
    if (pod.burstable && pick(2) == 0) pod.limits = R"({"vendor.com/gpu":"1"})";
    const PodRef object = scene_.pod(pod);
    NrtObject nrt = scene_.nrt(report);
    const CountedNode node = scene_.counted(nrt);
    const NodeCpu cpu{(pick(40) - 5) * int64_t{1000}};
    for (const Strategy type :
         {Strategy::kLeastAllocated, Strategy::kMostAllocated, Strategy::kBalancedAllocation,
          Strategy::kLeastNumaNodes, Strategy::kPreserveLargeZones}) {
      ScoringStrategy strategy;
      strategy.type = type;
      strategy.resources = {{"cpu", int64_t{1} << pick(63)}, {kGpu, -pick(5)}};
      const int64_t value = scene_.score(strategy, *object, &node, cpu);
      ASSERT_GE(value, 0) << report.policy;
      ASSERT_LE(value, 100) << report.policy;
      ASSERT_EQ(value, scene_.score(strategy, *object, &node, cpu)) << "the memory of a call shows";
    }
    // One CPU less in the only zone that is used: Least falls or stays, Most rises or stays.
    const kubelet::PodDemand demand(*object);
    const plimsoll_numa_use* use = scene_.use(demand, node);
    if (use == nullptr || std::popcount(use->zones) != 1) continue;
    const uint64_t zones = use->zones;
    const uint32_t only = node.zones.view().zone_ids[std::countr_zero(zones)];
    bool less = false;
    for (NrtZone& zone : nrt.zones) {
      for (ZoneResource& resource : zone.resources) {
        if (zone.id != only || resource.name != "cpu") continue;
        less = resource.available <= resource.allocatable;
        resource.available -= 1000;
      }
    }
    if (!less) continue;
    const CountedNode fuller = scene_.counted(nrt);
    use = scene_.use(demand, fuller);
    if (use == nullptr || use->zones != zones) continue;
    ScoringStrategy least;
    ScoringStrategy most;
    most.type = Strategy::kMostAllocated;
    ASSERT_LE(scene_.score(least, *object, &fuller, cpu), scene_.score(least, *object, &node, cpu));
    ASSERT_GE(scene_.score(most, *object, &fuller, cpu), scene_.score(most, *object, &node, cpu));
  }
}

}  // namespace
}  // namespace plimsoll::topology

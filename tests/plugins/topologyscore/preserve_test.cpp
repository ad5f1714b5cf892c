// What PreserveLargeZones says a pod destroys.

#include "plugins/topology/score/preserve.hpp"

#include <gtest/gtest.h>

#include "tests/plugins/topologyscore/cpu_report.hpp"
#include "tests/plugins/topologyscore/zone_scene.hpp"

namespace plimsoll::topology {
namespace {

constexpr const char* kVendorGpu = "vendor.com/gpu";

class PreserveTest : public testing::Test {
 protected:
  int64_t score(const PodSpec& pod, const ReportSpec& report, int64_t requested = 0) {
    const CountedNode node = scene_.counted(report);
    ScoringStrategy strategy;
    strategy.type = Strategy::kPreserveLargeZones;
    return scene_.score(strategy, *scene_.pod(pod), &node, {requested * 1000});
  }
  ZoneScene scene_;
};

PodSpec ordinary(int count) {
  PodSpec pod = guaranteed("ordinary", count);
  pod.burstable = true;
  return pod;
}

TEST_F(PreserveTest, TheFormulaByHand) {
  // 4 of 16 CPUs, widths 16, 8, 4 and 2: an untouched zone loses 16 + 8 + 4 + 4 of each. Fair would
  // be 4 * 4; nothing is gone yet: (100 * 16 / (16 + 32) + 0) / 2, in the upper band.
  EXPECT_EQ(score(guaranteed("p", 4), cpus({16})), 25 + 16 * 75 / 100);
  // With 4 free, worth 4 + 4 of 64: all of that is lost, (100 * 16 / (16 + 8) + 87) / 2.
  EXPECT_EQ(score(guaranteed("p", 4), cpus({4})), 25 + 76 * 75 / 100);
}

TEST_F(PreserveTest, BrokenZonesBeforeUntouchedOnes) {
  const PodSpec pod = guaranteed("p", 4);
  const int64_t untouched = score(pod, cpus({16, 16}));
  const int64_t half = score(pod, cpus({8, 16}));
  const int64_t quarter = score(pod, cpus({4, 16}));
  EXPECT_LT(untouched, half);
  EXPECT_LT(half, quarter);
  // A request that no width can use: 3 of 5 leaves 2, 3 of 4 leaves 1.
  EXPECT_LT(score(guaranteed("p", 3), cpus({16})), score(guaranteed("p", 3), cpus({7})));
  // Wide pods go where there is least to lose, too.
  EXPECT_LT(score(guaranteed("p", 16), cpus({16, 16})), score(guaranteed("p", 16), cpus({16, 0})));
}

TEST_F(PreserveTest, UntouchedNodesAreKeptForPodsWiderThanAZone) {
  const PodSpec pod = guaranteed("p", 4);
  // The same zone is used and the same widths of it are lost, but here two zones go together.
  const int64_t pair = score(pod, cpus({16, 16}, "restricted"));
  const int64_t no_pair = score(pod, cpus({16, 15}, "restricted"));
  EXPECT_LT(pair, no_pair);
  EXPECT_LT(pair, score(pod, cpus({16, 16}, "single-numa-node")));
}

TEST_F(PreserveTest, OrdinaryPodsLiveOnDebris) {
  const PodSpec pod = ordinary(4);
  const int64_t untouched = score(pod, cpus({16, 16}));
  const int64_t broken = score(pod, cpus({6, 16}), 10);
  EXPECT_LT(untouched, broken);
  // 6 and 6 free of which pods of width 4 can use 4 each: 4 are debris for them, not for width 2.
  EXPECT_LT(broken, score(pod, cpus({6, 6}), 20));
  // No alignment, nothing to lose.
  EXPECT_EQ(score(pod, cpus({16, 16}, "none")), 100);
  ReportSpec no_cpu;
  no_cpu.zones = {{0, {{"memory", "64Gi"}}}};
  EXPECT_EQ(score(pod, no_cpu), 100);
  // Other ordinary pods have taken their part already: less is left to lose.
  EXPECT_LT(score(pod, cpus({16, 16})), score(pod, cpus({16, 16}), 20));
  PodSpec empty;
  empty.apps = {"{}"};
  empty.burstable = true;
  EXPECT_LT(score(empty, cpus({16, 16})), score(empty, cpus({1, 1}), 30));
}

TEST_F(PreserveTest, CpusBesideFreeDevicesAreKeptForThem) {
  const auto with_gpus = [](const char* free) {
    ReportSpec report = cpus({16, 16});
    for (ZoneSpec& zone : report.zones) zone.available.push_back({kVendorGpu, free});
    return report;
  };
  const PodSpec pod = guaranteed("p", 4);
  EXPECT_LT(score(pod, with_gpus("16")), score(pod, cpus({16, 16})));
  EXPECT_LT(score(pod, with_gpus("16")), score(pod, with_gpus("4")));
  EXPECT_EQ(score(pod, with_gpus("0")), score(pod, cpus({16, 16})));
  EXPECT_LT(score(ordinary(4), with_gpus("16")), score(ordinary(4), with_gpus("0")));
}

TEST_F(PreserveTest, WholeSetsOfDevicesAreKept) {
  const auto node = [](const char* gpus0, const char* gpus1) {
    ReportSpec report;
    report.allocatable = "8";
    report.zones = {{0, {{kVendorGpu, gpus0}}}, {1, {{kVendorGpu, gpus1}}}};
    return report;
  };
  PodSpec pod;
  pod.apps = {R"({"vendor.com/gpu":"1"})"};
  pod.limits = pod.apps[0];
  pod.burstable = true;
  EXPECT_LT(score(pod, node("8", "8")), score(pod, node("5", "8")));
  EXPECT_LT(score(pod, node("5", "8")), score(pod, node("1", "0")));
}

TEST_F(PreserveTest, AlignmentComesBeforeTheCost) {
  // Spread over debris it would cost little, but it is spread.
  const PodSpec pod = guaranteed("p", 8);
  EXPECT_GT(score(pod, cpus({16, 16}, "best-effort")), score(pod, cpus({4, 4}, "best-effort")));
  EXPECT_EQ(score(pod, cpus({16, 16}, "none")), 24);
  EXPECT_EQ(score(pod, cpus({4, 4})), 0);  // refused
}

}  // namespace
}  // namespace plimsoll::topology

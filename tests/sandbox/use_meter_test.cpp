#include "lab/sandbox/kubelet/use_meter.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "lab/sandbox/kubelet/dice.hpp"

namespace plimsoll::sandbox {
namespace {

node::NodeReport zones(std::int64_t free0, std::int64_t free1) {
  node::NodeReport report;
  for (const std::int64_t free : {free0, free1}) {
    node::ZoneReport& zone = report.zones.emplace_back();
    zone.allocatable = {{"cpu", 8000}, {"off", 0}};
    zone.available = {{"cpu", free}, {"off", 0}};
  }
  return report;
}

TEST(UseMeter, AveragesAreFromTheFirstMarkToTheLast) {
  UseMeter meter;
  meter.update("a", zones(0, 0), 0);  // what ran before, and ended before the first mark
  meter.update("a", zones(4000, 8000), 5);
  meter.mark(10);
  meter.update("a", zones(0, 8000), 10);     // 8000 used for 30 s, all in one zone
  meter.update("a", zones(4000, 4000), 40);  // as much, evenly, for 10 s
  meter.mark(50);
  meter.update("a", zones(4000, 2000), 50);  // at the same moment
  meter.update("a", zones(0, 0), 51);        // and what comes later does not count
  meter.update("a", zones(8000, 8000), 1000);
  const auto result = meter.result();
  ASSERT_EQ(result.size(), 1U) << "what no zone gives away is left out";
  const ZoneUse& cpu = result.at("cpu");
  EXPECT_EQ(cpu.allocatable, 16000);
  EXPECT_EQ(cpu.used, 0);
  EXPECT_EQ(cpu.peak, 10000);
  EXPECT_DOUBLE_EQ(cpu.mean, 8000) << "over the 40 seconds between the marks";
  EXPECT_DOUBLE_EQ(cpu.fullest, 0);
  EXPECT_DOUBLE_EQ(cpu.spread, 0.75) << "1 for 30 of 40 seconds";
}

// A resource of a node that comes later has been used since then, but the time is everybody's.
TEST(UseMeter, AveragesOfAllResourcesAreOverTheSameTime) {
  UseMeter meter;
  meter.update("a", zones(8000, 8000), 0);
  meter.mark(100);
  node::NodeReport gpus;
  gpus.zones.push_back({0, {}, {{"gpu", 4}}, {{"gpu", 0}}, {}});
  meter.update("b", gpus, 110);
  meter.mark(120);
  EXPECT_DOUBLE_EQ(meter.result().at("gpu").mean, 2);
  EXPECT_DOUBLE_EQ(meter.result().at("cpu").mean, 0);
}

TEST(UseMeter, OfOneMomentWhatIsUsedThenCounts) {
  UseMeter meter;
  EXPECT_TRUE(meter.result().empty());
  meter.update("a", zones(0, 8000), 5);
  EXPECT_DOUBLE_EQ(meter.result().at("cpu").mean, 8000) << "without a mark: now";
  EXPECT_DOUBLE_EQ(meter.result().at("cpu").spread, 1);
  meter.mark(7);
  meter.update("a", zones(4000, 8000), 7);
  meter.update("a", zones(8000, 8000), 9);
  EXPECT_DOUBLE_EQ(meter.result().at("cpu").mean, 4000);
  EXPECT_DOUBLE_EQ(meter.result().at("cpu").spread, 0.5);
}

TEST(UseMeter, AddsNodesAndForgetsThem) {
  UseMeter meter;
  meter.update("a", zones(0, 0), 0);
  meter.update("b", zones(8000, 0), 0);
  EXPECT_EQ(meter.result().at("cpu").peak, 24000);
  EXPECT_DOUBLE_EQ(meter.result().at("cpu").emptiest, 0);
  meter.forget("a", 1);
  meter.forget("a", 1);
  EXPECT_EQ(meter.result().at("cpu").allocatable, 16000);
  EXPECT_EQ(meter.result().at("cpu").used, 8000);
  EXPECT_EQ(meter.result().at("cpu").peak, 24000);
}

TEST(Dice, FollowsFromSeedAndNameAlone) {
  Dice a(1, "node-a");
  Dice again(1, "node-a");
  Dice b(1, "node-b");
  Dice other(2, "node-a");
  int same = 0;
  for (int i = 0; i < 100; ++i) {
    const double x = a.uniform();
    EXPECT_GE(x, 0);
    EXPECT_LT(x, 1);
    EXPECT_EQ(x, again.uniform());
    same += x == b.uniform() ? 1 : 0;
    same += x == other.uniform() ? 1 : 0;
  }
  EXPECT_EQ(same, 0);
  EXPECT_FALSE(a.chance(0));
  for (int i = 0; i < 100; ++i) {
    const double factor = a.vary(0.5);
    EXPECT_GE(factor, 0.5);
    EXPECT_LE(factor, 1.5);
  }
  EXPECT_EQ(a.vary(0), 1.0);
}

// Names of nodes are alike: numbers in another order, one letter more.
TEST(Dice, NamesThatAreAlikeDrawDifferentNumbers) {
  std::set<double> first;
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 100; ++j) {
      const std::string name = "node-" + std::to_string(i) + "-" + std::to_string(j);
      for (const std::uint64_t seed : {1, 2}) first.insert(Dice(seed, name).uniform());
    }
  }
  EXPECT_EQ(first.size(), 2 * 10'000U);
  // Nor is one stream another one a few numbers later.
  std::set<double> drawn;
  for (int i = 0; i < 1000; ++i) {
    Dice dice(1, "node-" + std::to_string(i));
    for (int k = 0; k < 20; ++k) drawn.insert(dice.uniform());
  }
  EXPECT_EQ(drawn.size(), 20 * 1000U);
}

}  // namespace
}  // namespace plimsoll::sandbox

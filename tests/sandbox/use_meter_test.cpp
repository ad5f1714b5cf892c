#include "sandbox/use_meter.hpp"

#include <gtest/gtest.h>

#include "sandbox/dice.hpp"

namespace plimsoll::sandbox {
namespace {

NodeReport zones(std::int64_t free0, std::int64_t free1) {
  NodeReport report;
  for (const std::int64_t free : {free0, free1}) {
    ZoneReport& zone = report.zones.emplace_back();
    zone.allocatable = {{"cpu", 8000}, {"off", 0}};
    zone.available = {{"cpu", free}, {"off", 0}};
  }
  return report;
}

TEST(UseMeter, AveragesOverTime) {
  UseMeter meter;
  meter.update("a", zones(8000, 8000), 0);
  meter.update("a", zones(0, 8000), 10);     // 8000 used for 20 s
  meter.update("a", zones(4000, 4000), 30);  // as much, evenly, for 10 s
  const auto result = meter.result(40);
  ASSERT_EQ(result.size(), 1U) << "what no zone gives away is left out";
  const ZoneUse& cpu = result.at("cpu");
  EXPECT_EQ(cpu.allocatable, 16000);
  EXPECT_EQ(cpu.used, 8000);
  EXPECT_EQ(cpu.peak, 8000);
  EXPECT_DOUBLE_EQ(cpu.mean, 6000);
  EXPECT_DOUBLE_EQ(cpu.fullest, 0.5);
  EXPECT_DOUBLE_EQ(cpu.emptiest, 0.5);
  EXPECT_DOUBLE_EQ(cpu.spread, 0.5) << "1 for 20 of 40 seconds";
}

TEST(UseMeter, AddsNodesAndForgetsThem) {
  UseMeter meter;
  meter.update("a", zones(0, 0), 0);
  meter.update("b", zones(8000, 0), 0);
  EXPECT_EQ(meter.result(1).at("cpu").peak, 24000);
  EXPECT_DOUBLE_EQ(meter.result(1).at("cpu").emptiest, 0);
  meter.forget("a", 1);
  meter.forget("a", 1);
  EXPECT_EQ(meter.result(1).at("cpu").allocatable, 16000);
  EXPECT_EQ(meter.result(1).at("cpu").used, 8000);
  EXPECT_EQ(meter.result(1).at("cpu").peak, 24000);
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

}  // namespace
}  // namespace plimsoll::sandbox

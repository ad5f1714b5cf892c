// The plugin on the SDK's fake host.

#include "zone_balance.hpp"

#include <gtest/gtest.h>
#include <plimsoll/fake_host.hpp>

namespace {

constexpr char kZone[] = "topology.kubernetes.io/zone";

class ZoneBalanceTest : public testing::Test {
 protected:
  ZoneBalanceTest() {
    one_.label("app", "web");
    two_.label("app", "web");
    pod_.label("app", "web");
    east_.label(kZone, "east").add(one_).add(two_);
    west_.label(kZone, "west");
    for (FakeNode* node : {&east_, &west_, &nowhere_}) host_.add(*node);
  }

  FakeHost host_;
  FakeCycle cycle_;
  FakePod one_{"shop/one"}, two_{"shop/two"}, pod_{"shop/three"};
  FakeNode east_{"east-1", 0}, west_{"west-1", 1}, nowhere_{"nowhere", 2};
};

TEST_F(ZoneBalanceTest, RefusesFullZonesAndNodesWithoutOne) {
  FakePlugin<ZoneBalance> plugin(host_, R"({"maxPerZone": 2})");
  ASSERT_EQ(plugin.pre_filter(cycle_, pod_).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(plugin.filter(cycle_, pod_, west_).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(plugin.filter(cycle_, pod_, east_).reasons,
            "node(s) were in a zone with enough pods of the application");
  EXPECT_EQ(plugin.filter(cycle_, pod_, nowhere_).code, PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE);
}

TEST_F(ZoneBalanceTest, PrefersEmptierZones) {
  FakePlugin<ZoneBalance> plugin(host_);
  plugin.pre_filter(cycle_, pod_);
  EXPECT_EQ(plugin.score(cycle_, pod_, {&east_, &west_}), (std::vector<int64_t>{0, 100}));
}

TEST_F(ZoneBalanceTest, LeavesPodsWithoutTheLabelAlone) {
  FakePlugin<ZoneBalance> plugin(host_);
  FakePod other("shop/other");
  EXPECT_EQ(plugin.pre_filter(cycle_, other).code, PLIMSOLL_SKIP);
}

TEST_F(ZoneBalanceTest, ChecksItsArgs) {
  EXPECT_THROW(FakePlugin<ZoneBalance>(host_, R"({"maxPerZone": 0})"), std::runtime_error);
  EXPECT_THROW(FakePlugin<ZoneBalance>(host_, R"({"maxPerZones": 1})"), std::runtime_error);
  EXPECT_THROW(FakePlugin<ZoneBalance>(host_, "no json"), std::runtime_error);
}

}  // namespace

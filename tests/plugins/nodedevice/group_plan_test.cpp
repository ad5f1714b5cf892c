// Where members of a group fit together on one node.

#include "plugins/nodedevice/placing/group_plan.hpp"

#include <gtest/gtest.h>

#include "tests/plugins/nodedevice/device_fixtures.hpp"

namespace plimsoll::devices::test {
namespace {

class GroupPlan : public ::testing::Test {
 protected:
  GroupPlan() {
    room_.devices = node_of(fixture_a());
    room_.free = {64'000, int64_t{512} << 30, 0, 110};
  }
  static Seekers seekers(int count, const Ask& ask, int64_t cpu = 1000) {
    Seekers made;
    made.count = static_cast<size_t>(count);
    made.demand = std::make_shared<const PodDemand>(demand_of(ask));
    made.requests = {{0, cpu}, {3, 1}};
    made.shape = ask.empty() ? "" : ask[0].first + std::to_string(ask[0].second);
    return made;
  }
  Placement place(const std::vector<Seekers>& all) {
    return place_together(types(), Allocator(types(), nullptr), room_, all);
  }
  // "0 1|2 3": the minors that each gets who gets a place.
  static std::string text(const Placement& placement) {
    std::string all;
    for (const auto& [seekers, devices] : placement.given) {
      std::string minors;
      for (const DeviceShare& share : devices)
        minors += (minors.empty() ? "" : " ") + std::to_string(share.minor);
      all += (all.empty() ? "" : "|") + minors;
    }
    return all;
  }
  void take(int minor) { room_.devices.add({whole_gpu(minor)}); }

  NodeRoom room_;
};

TEST_F(GroupPlan, AllInOneZoneIfItHasRoom) {
  // One by one they would begin beside what is in use, and then cross over.
  take(0);
  const Placement placement = place({seekers(4, {{"nvidia.com/gpu", 1}})});
  EXPECT_EQ(text(placement), "4|5|6|7");
  EXPECT_EQ(placement.zones, 1);
  EXPECT_EQ(placement.places, 2);
}

TEST_F(GroupPlan, AsManyAsFit) {
  for (const int minor : {1, 4, 5}) take(minor);
  const Placement placement = place({seekers(4, {{"nvidia.com/gpu", 2}})});
  EXPECT_EQ(text(placement), "2 3|6 7");
}

TEST_F(GroupPlan, CpuCountsToo) {
  room_.free[0] = 2500;
  EXPECT_EQ(place({seekers(4, {{"nvidia.com/gpu", 1}})}).given.size(), 2U);
  room_.free = {64'000, 1, 0, 1};
  EXPECT_EQ(place({seekers(4, {{"nvidia.com/gpu", 1}})}).given.size(), 1U) << "one pod more";
}

TEST_F(GroupPlan, SharesAndMixedMembersOneByOne) {
  const Placement placement =
      place({seekers(1, {{"nvidia.com/gpu", 7}}), seekers(3, {{"koordinator.sh/gpu", 50}})});
  ASSERT_EQ(placement.given.size(), 3U) << text(placement);
  EXPECT_EQ(placement.given[0].seekers, 0U);
  EXPECT_EQ(placement.given[0].devices.size(), 7U);
  EXPECT_EQ(placement.given[2].seekers, 1U);
  EXPECT_EQ(placement.given[1].devices[0].minor, placement.given[2].devices[0].minor);
}

// What is looked at is as much as there are shapes and places, not members.
TEST_F(GroupPlan, ThoseForWhomThereIsNoRoomStandInNobodysWay) {
  const Placement placement =
      place({seekers(1, {{"nvidia.com/gpu", 1}}), seekers(100'000, {{"nvidia.com/gpu", 9}}),
             seekers(100'000, {{"nvidia.com/gpu", 3}})});
  ASSERT_EQ(placement.given.size(), 3U) << text(placement);
  EXPECT_EQ(placement.given[1].seekers, 2U);
}

TEST_F(GroupPlan, WithheldDevicesStayWithheld) {
  room_.devices.add_unknown(types().find_type("gpu"), 4);
  const Placement placement = place({seekers(8, {{"nvidia.com/gpu", 1}})});
  EXPECT_EQ(text(placement), "0|1|2|3");
}

TEST_F(GroupPlan, AnUnmanagedNodeIsJudgedByItsResources) {
  room_.devices = NodeState(types());
  room_.free = {64'000, int64_t{512} << 30, 0, 110, 3};
  Seekers all = seekers(4, {{"nvidia.com/gpu", 1}});
  all.requests.emplace_back(4, 1);
  EXPECT_EQ(place({all}).given.size(), 3U);
}

TEST_F(GroupPlan, KeptToWhatIsHeld) {
  const NodeState kept = kept_to(room_.devices, {whole_gpu(3), whole_gpu(5)});
  EXPECT_EQ(outcome(kept, demand_of({{"nvidia.com/gpu", 2}})), "gpu 3 5");
  EXPECT_EQ(outcome(kept, demand_of({{"nvidia.com/gpu", 3}})), "Insufficient GPU Devices");
}

TEST_F(GroupPlan, ScoresHowManyFitThenHowNear) {
  const auto score = [](size_t count, int zones, int places, int idle, bool fellows) {
    Placement placement;
    placement.given.resize(count);
    placement.zones = zones;
    placement.places = places;
    placement.idle = idle;
    return score_placement(placement, 4, fellows);
  };
  EXPECT_EQ(score(0, 0, 0, 0, true), 0);
  EXPECT_GT(score(4, 2, 4, 100, false), score(3, 1, 1, 0, false));
  EXPECT_GT(score(4, 1, 2, 0, true), score(4, 1, 1, 0, false));
  EXPECT_GT(score(4, 1, 2, 50, false), score(4, 2, 2, 50, false));
  EXPECT_GT(score(4, 1, 2, 0, false), score(4, 1, 2, 50, false)) << "the fuller node";
  EXPECT_LE(score(4, 1, 1, 0, true), 100);
}

}  // namespace
}  // namespace plimsoll::devices::test

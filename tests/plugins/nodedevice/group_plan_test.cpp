// Where members of a group fit together on one node.

#include "plugins/nodedevice/groups/group_plan.hpp"

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
  std::vector<Seeker> seekers(int count, const Ask& ask, int64_t cpu = 1000) {
    std::vector<Seeker> made;
    for (int i = 0; i < count; ++i) {
      Seeker seeker;
      seeker.uid = "u" + std::to_string(i);
      seeker.demand = std::make_shared<const PodDemand>(demand_of(ask));
      seeker.requests = {{0, cpu}, {3, 1}};
      seeker.shape = ask.empty() ? "" : ask[0].first + std::to_string(ask[0].second);
      made.push_back(std::move(seeker));
    }
    return made;
  }
  Placement place(const std::vector<Seeker>& all) {
    return place_together(types(), Allocator(types(), nullptr), room_, all);
  }
  // "0 1|2 3|-": the minors that each gets.
  static std::string text(const Placement& placement) {
    std::string all;
    for (const auto& given : placement.given) {
      std::string minors;
      if (given)
        for (const DeviceShare& share : *given)
          minors += (minors.empty() ? "" : " ") + std::to_string(share.minor);
      all += (all.empty() ? "" : "|") + (given ? minors : "-");
    }
    return all;
  }
  void take(int minor) { room_.devices.add({whole_gpu(minor)}); }

  NodeRoom room_;
};

TEST_F(GroupPlan, AllInOneZoneIfItHasRoom) {
  // One by one they would begin beside what is in use, and then cross over.
  take(0);
  const Placement placement = place(seekers(4, {{"nvidia.com/gpu", 1}}));
  EXPECT_EQ(text(placement), "4|5|6|7");
  EXPECT_EQ(placement.count, 4);
  EXPECT_EQ(placement.zones, 1);
  EXPECT_EQ(placement.places, 2);
}

TEST_F(GroupPlan, AsManyAsFit) {
  for (const int minor : {1, 4, 5}) take(minor);
  const Placement placement = place(seekers(4, {{"nvidia.com/gpu", 2}}));
  EXPECT_EQ(placement.count, 2);
  EXPECT_EQ(text(placement), "2 3|6 7|-|-");
}

TEST_F(GroupPlan, CpuCountsToo) {
  room_.free[0] = 2500;
  EXPECT_EQ(place(seekers(4, {{"nvidia.com/gpu", 1}})).count, 2);
  room_.free = {64'000, 1, 0, 1};
  EXPECT_EQ(place(seekers(4, {{"nvidia.com/gpu", 1}})).count, 1) << "one pod more";
}

TEST_F(GroupPlan, SharesAndMixedMembersOneByOne) {
  std::vector<Seeker> all = seekers(3, {{"koordinator.sh/gpu", 50}});
  std::vector<Seeker> big = seekers(1, {{"nvidia.com/gpu", 7}});
  big[0].uid = "big";
  all.insert(all.begin(), std::move(big[0]));
  const Placement placement = place(all);
  EXPECT_EQ(placement.count, 3) << text(placement);
  ASSERT_TRUE(placement.given[0]);
  EXPECT_EQ(placement.given[0]->size(), 7U);
  EXPECT_EQ((*placement.given[1])[0].minor, (*placement.given[2])[0].minor);
}

TEST_F(GroupPlan, WithheldDevicesStayWithheld) {
  room_.devices.add_unknown(types().find_type("gpu"), 4);
  const Placement placement = place(seekers(8, {{"nvidia.com/gpu", 1}}));
  EXPECT_EQ(placement.count, 4);
  EXPECT_EQ(text(placement), "0|1|2|3|-|-|-|-");
}

TEST_F(GroupPlan, AnUnmanagedNodeIsJudgedByItsResources) {
  room_.devices = NodeState(types());
  room_.free = {64'000, int64_t{512} << 30, 0, 110, 3};
  std::vector<Seeker> all = seekers(4, {{"nvidia.com/gpu", 1}});
  for (Seeker& seeker : all) seeker.requests.emplace_back(4, 1);
  EXPECT_EQ(place(all).count, 3);
}

TEST_F(GroupPlan, KeptToWhatIsHeld) {
  const NodeState kept = kept_to(room_.devices, {whole_gpu(3), whole_gpu(5)});
  EXPECT_EQ(outcome(kept, demand_of({{"nvidia.com/gpu", 2}})), "gpu 3 5");
  EXPECT_EQ(outcome(kept, demand_of({{"nvidia.com/gpu", 3}})), "Insufficient GPU Devices");
}

TEST_F(GroupPlan, ScoresHowManyFitThenHowNear) {
  const auto score = [](int count, int zones, int places, int idle, bool fellows) {
    Placement placement;
    placement.count = count;
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

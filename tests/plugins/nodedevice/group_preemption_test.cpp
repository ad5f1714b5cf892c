// Groups whose members may evict others, through the real scheduler: nobody goes for a group that
// cannot run then, and whom it takes to run goes.

#include <gmock/gmock.h>

#include <iostream>
#include <random>

#include "tests/plugins/nodedevice/group_cluster.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::devices::test {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

class GroupPreemption : public ::testing::Test {
 protected:
  using PodSpec = GroupCluster::PodSpec;

  void low(const std::string& name, int gpus, const std::string& cpu, int priority = -1,
           const std::string& zone = {}) {
    cluster_.add_pod({.name = name, .gpus = gpus, .cpu = cpu, .priority = priority, .zone = zone});
    ASSERT_TRUE(cluster_.settle());
    ASSERT_NE(cluster_.node_of(name), "") << name;
  }
  // Of the group "train".
  void member(PodSpec spec) {
    spec.name = "train-" + std::to_string(members_++);
    spec.group = "train";
    cluster_.add_pod(spec);
  }
  // The whole time, and no member is ever left with devices.
  void expect_that_nobody_goes() {
    ASSERT_TRUE(cluster_.pass(40));
    EXPECT_THAT(cluster_.deletions(), IsEmpty()) << cluster_.describe();
    EXPECT_EQ(cluster_.bound("train"), 0);
    EXPECT_EQ(cluster_.waiting(), 0U);
  }

  GroupCluster cluster_;
  int members_ = 0;
};

TEST_F(GroupPreemption, NotForMembersOfDifferentSizeThatDoNotAllFit) {
  cluster_.add_node("n1", 4);
  for (int i = 0; i < 3; ++i) low("low-" + std::to_string(i), 1, "1");
  cluster_.add_pod_group("train", 5);
  for (const int gpus : {1, 1, 1, 1, 2}) member({.gpus = gpus});
  expect_that_nobody_goes();
  EXPECT_TRUE(cluster_.has_event("train-0", "cannot be satisfied")) << cluster_.describe();
}

TEST_F(GroupPreemption, NotForMembersWithoutDevicesThatDoNotAllFit) {
  cluster_.add_node("n1", 0, "12");
  for (int i = 0; i < 3; ++i) low("low-" + std::to_string(i), 0, "2");
  cluster_.add_pod_group("train", 10);
  for (int i = 0; i < 10; ++i) member({.gpus = 0, .cpu = "2"});
  expect_that_nobody_goes();
}

TEST_F(GroupPreemption, NotForAMemberThatFitsNowhere) {
  cluster_.add_node("n1", 0, "12");
  for (int i = 0; i < 3; ++i) low("low-" + std::to_string(i), 0, "4");
  cluster_.add_pod_group("train", 4);
  for (int i = 0; i < 3; ++i) member({.gpus = 0, .cpu = "1"});
  member({.gpus = 0, .cpu = "13"});
  expect_that_nobody_goes();
}

TEST_F(GroupPreemption, NotForAMemberThatNoNodeIsMeantFor) {
  cluster_.add_node("n1", 0, "12", "east");
  for (int i = 0; i < 3; ++i) low("low-" + std::to_string(i), 0, "4");
  cluster_.add_pod_group("train", 4);
  for (int i = 0; i < 3; ++i) member({.gpus = 0, .cpu = "1"});
  member({.gpus = 0, .cpu = "1", .zone = "moon"});
  expect_that_nobody_goes();
}

TEST_F(GroupPreemption, ForUnlikeMembersThatAllFitThen) {
  cluster_.add_node("n1", 4, "16");
  for (int i = 0; i < 4; ++i) low("low-" + std::to_string(i), 1, "3");
  cluster_.add_pod_group("train", 3);
  member({.gpus = 1});
  member({.gpus = 2});
  member({.gpus = 0, .cpu = "4"});
  ASSERT_TRUE(cluster_.pass(40));
  EXPECT_EQ(cluster_.bound("train"), 3) << cluster_.describe();
  int gone = 0;
  for (int i = 0; i < 4; ++i) gone += cluster_.exists("low-" + std::to_string(i)) ? 0 : 1;
  EXPECT_EQ(gone, 3) << "one low pod may stay";
  EXPECT_THAT(cluster_.given_twice(), IsEmpty());
}

// More members than it needs: those who fit are enough.
TEST_F(GroupPreemption, ForAsManyAsTheGroupNeeds) {
  cluster_.add_node("n1", 0, "12");
  for (int i = 0; i < 3; ++i) low("low-" + std::to_string(i), 0, "4");
  cluster_.add_pod_group("train", 3);
  for (int i = 0; i < 4; ++i) member({.gpus = 0, .cpu = "4"});
  ASSERT_TRUE(cluster_.pass(40));
  EXPECT_EQ(cluster_.bound("train"), 3) << cluster_.describe();
}

// The victim of the lowest priority is where the other member has to be.
TEST_F(GroupPreemption, WhereRoomForTheOthersIsLeft) {
  cluster_.add_node("n1", 4, "64", "east");
  cluster_.add_node("n2", 4, "64", "west");
  low("low-1", 4, "1", -2, "east");
  low("low-2", 4, "1", -1, "west");
  cluster_.add_pod_group("train", 2);
  member({.gpus = 4});
  member({.gpus = 4, .zone = "east"});
  ASSERT_TRUE(cluster_.pass(40));
  EXPECT_EQ(cluster_.node_of("train-0"), "n2") << cluster_.describe();
  EXPECT_EQ(cluster_.node_of("train-1"), "n1");
  EXPECT_THAT(cluster_.deletions(), UnorderedElementsAre("low-1", "low-2"));
}

// Pods of higher or of the same priority are nobody's victims, so there is no room.
TEST_F(GroupPreemption, NotWhereItTakesPodsOfTheSamePriority) {
  cluster_.add_node("n1", 0, "12");
  low("same", 0, "6", 0);
  low("low", 0, "6", -1);
  cluster_.add_pod_group("train", 2);
  for (int i = 0; i < 2; ++i) member({.gpus = 0, .cpu = "6"});
  expect_that_nobody_goes();
}

struct Room {
  int gpus;
  int cpus;
  bool east;
};
struct Wish {
  int gpus;
  int cpus;
  bool only_east;
};

// Whether `needed` of the members fit on the empty nodes, whoever goes where: tries every way.
bool can_fit(std::vector<Room>& nodes, const std::vector<Wish>& members, size_t next, int needed) {
  if (needed == 0) return true;
  if (next == members.size()) return false;
  const Wish& wish = members[next];
  for (Room& node : nodes) {
    if (node.gpus < wish.gpus || node.cpus < wish.cpus || (wish.only_east && !node.east)) continue;
    node.gpus -= wish.gpus;
    node.cpus -= wish.cpus;
    const bool fits = can_fit(nodes, members, next + 1, needed - 1);
    node.gpus += wish.gpus;
    node.cpus += wish.cpus;
    if (fits) return true;
  }
  return can_fit(nodes, members, next + 1, needed);
}

// One group of random sizes. Where it fits on no account, nobody goes for it; where it may fit, it
// mostly runs, and never in part.
TEST(GroupPreemptionRandom, NobodyGoesForAGroupThatCannotFit) {
  constexpr int kCases = 60;
  int possible = 0, ran = 0;
  for (int i = 0; i < kCases; ++i) {
    const uint32_t seed = plimsoll::test::test_seed() + static_cast<uint32_t>(i);
    SCOPED_TRACE("PLIMSOLL_TEST_SEED=" + std::to_string(seed));
    std::mt19937 dice(seed);
    GroupCluster cluster;
    std::vector<Room> nodes;
    for (uint32_t n = 0; n < 1 + dice() % 3; ++n) {
      nodes.push_back(
          {static_cast<int>(dice() % 3) * 2, 4 + static_cast<int>(dice() % 8), dice() % 2 == 0});
      cluster.add_node("n" + std::to_string(n), nodes.back().gpus,
                       std::to_string(nodes.back().cpus), nodes.back().east ? "east" : "west");
    }
    for (uint32_t n = 0; n < 2 + dice() % 8; ++n) {
      cluster.add_pod({.name = "low-" + std::to_string(n),
                       .gpus = static_cast<int>(dice() % 3),
                       .cpu = std::to_string(1 + dice() % 4),
                       .priority = -1});
    }
    ASSERT_TRUE(cluster.settle());
    std::vector<Wish> members;
    for (uint32_t m = 0; m < 2 + dice() % 4; ++m) {
      members.push_back(
          {static_cast<int>(dice() % 3), 1 + static_cast<int>(dice() % 5), dice() % 4 == 0});
    }
    const int needed = static_cast<int>(members.size() - dice() % 2);
    cluster.add_pod_group("train", needed);
    for (size_t m = 0; m < members.size(); ++m) {
      cluster.add_pod({.name = "train-" + std::to_string(m),
                       .group = "train",
                       .gpus = members[m].gpus,
                       .cpu = std::to_string(members[m].cpus),
                       .zone = members[m].only_east ? "east" : ""});
    }
    ASSERT_TRUE(cluster.pass(60));
    EXPECT_THAT(cluster.given_twice(), IsEmpty());
    const int bound = cluster.bound("train");
    if (can_fit(nodes, members, 0, needed)) {
      ++possible;
      ran += bound >= needed ? 1 : 0;
      EXPECT_TRUE(bound == 0 || bound >= needed) << cluster.describe();
    } else {
      EXPECT_EQ(bound, 0);
      EXPECT_THAT(cluster.deletions(), IsEmpty()) << cluster.describe();
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(possible, kCases / 10);
  EXPECT_GT(kCases - possible, kCases / 10);
  EXPECT_GT(ran, possible / 2) << "of " << possible;
  std::cout << ran << " of " << possible << " groups that can fit ran\n";
}

}  // namespace
}  // namespace plimsoll::devices::test

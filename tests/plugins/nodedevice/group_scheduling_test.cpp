// Groups of pods, through the real scheduler: all of a group get a place, or none.

#include <gmock/gmock.h>

#include "tests/plugins/nodedevice/group_cluster.hpp"

namespace plimsoll::devices::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class GroupScheduling : public ::testing::Test {
 protected:
  void members(const std::string& group, int count, int gpus = 1, const std::string& cpu = "1") {
    for (int i = 0; i < count; ++i) member(group, i, gpus, cpu);
  }
  void member(const std::string& group, int i, int gpus = 1, const std::string& cpu = "1") {
    cluster_.add_pod({.name = name(group, i), .group = group, .gpus = gpus, .cpu = cpu});
  }
  // By annotations of Koordinator, of the gang "gang" unless they say otherwise.
  void gang(const std::string& name, const std::map<std::string, std::string>& says) {
    GroupCluster::PodSpec pod{.name = name};
    const std::string prefix = "gang.scheduling.koordinator.sh/";
    pod.annotations[prefix + "name"] = "gang";
    for (const auto& [key, value] : says) pod.annotations[prefix + key] = value;
    cluster_.add_pod(pod);
  }
  static std::string name(const std::string& group, int i) {
    return group + "-" + std::to_string(i);
  }
  // By number of the member: "n1", or "-".
  std::string places(const std::string& group, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      const std::string node = cluster_.node_of(name(group, i));
      text += (i == 0 ? "" : " ") + (node.empty() ? "-" : node);
    }
    return text;
  }

  GroupCluster cluster_;
};

TEST_F(GroupScheduling, AllGoTogetherToTheNodeThatTakesThemAll) {
  cluster_.add_node("small-1", 2);
  cluster_.add_node("small-2", 2);
  cluster_.add_node("big", 8);
  cluster_.add_node("small-3", 2);
  cluster_.add_pod_group("train", 4);
  members("train", 4);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(places("train", 4), "big big big big");
  std::set<int> zones;
  for (int i = 0; i < 4; ++i)
    for (const int minor : cluster_.minors(name("train", i))) zones.insert(minor / 4);
  EXPECT_EQ(zones.size(), 1U) << "one NUMA zone takes them all";
  EXPECT_THAT(cluster_.given_twice(), IsEmpty());
}

TEST_F(GroupScheduling, TheFirstWaitsForTheLast) {
  cluster_.add_node("n1", 8);
  cluster_.add_pod_group("train", 3);
  members("train", 2);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(places("train", 2), "- -");
  EXPECT_EQ(cluster_.waiting(), 0U) << "nothing is taken for a group that lacks members";
  EXPECT_THAT(cluster_.held_back("train-0"),
              HasSubstr("cannot find enough sibling pods, current pods number: 2"));
  member("train", 2);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(places("train", 3), "n1 n1 n1") << "woken by the one that completes the number";
}

TEST_F(GroupScheduling, FewestNodesIfNoneTakesAll) {
  cluster_.add_node("two", 2);
  cluster_.add_node("four-1", 4);
  cluster_.add_node("three", 3);
  cluster_.add_node("four-2", 4);
  cluster_.add_pod_group("train", 8);
  members("train", 8);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.bound("train"), 8);
  std::set<std::string> nodes;
  for (int i = 0; i < 8; ++i) nodes.insert(cluster_.node_of(name("train", i)));
  EXPECT_THAT(nodes, ElementsAre("four-1", "four-2"));
  EXPECT_THAT(cluster_.given_twice(), IsEmpty());
}

TEST_F(GroupScheduling, NothingIsTakenForAGroupWithoutRoom) {
  cluster_.add_node("n1", 3);
  cluster_.add_pod_group("train", 4);
  members("train", 4);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(places("train", 4), "- - - -");
  EXPECT_EQ(cluster_.waiting(), 0U);
  EXPECT_THAT(cluster_.message("train-0"), HasSubstr("cannot be satisfied: 3 scheduled"));
  EXPECT_THAT(cluster_.message("train-3"), HasSubstr("Insufficient nvidia.com/gpu"));
  cluster_.add_pod({.name = "single", .gpus = 3});
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.node_of("single"), "n1");
  cluster_.add_node("n2", 4);
  ASSERT_TRUE(cluster_.pass(15));
  EXPECT_EQ(places("train", 4), "n2 n2 n2 n2");
}

// Room for one of them: never a half of each.
TEST_F(GroupScheduling, OfTwoGroupsThatDoNotFitTogetherOneRuns) {
  cluster_.add_node("n1", 4);
  cluster_.add_node("n2", 4);
  cluster_.add_pod_group("a", 6);
  cluster_.add_pod_group("b", 6);
  for (int i = 0; i < 6; ++i) {
    member("a", i);
    member("b", i);
  }
  ASSERT_TRUE(cluster_.pass(5));
  EXPECT_EQ(cluster_.bound("a") + cluster_.bound("b"), 6);
  EXPECT_TRUE(cluster_.bound("a") == 0 || cluster_.bound("b") == 0) << cluster_.describe();
  const std::string first = cluster_.bound("a") > 0 ? "a" : "b";
  const std::string second = first == "a" ? "b" : "a";
  for (int i = 0; i < 6; ++i) cluster_.delete_pod(name(first, i));
  ASSERT_TRUE(cluster_.pass(15));
  EXPECT_EQ(cluster_.bound(second), 6) << cluster_.describe();
}

TEST_F(GroupScheduling, GroupsWithoutDevicesDoNotBlockOneAnotherForEver) {
  cluster_.add_node("n1", 0, "6");
  cluster_.add_pod_group("a", 4);
  cluster_.add_pod_group("b", 4);
  for (int i = 0; i < 4; ++i) {
    member("a", i, 0);
    member("b", i, 0);
  }
  ASSERT_TRUE(cluster_.pass(40));
  EXPECT_EQ(cluster_.bound("a") + cluster_.bound("b"), 4) << cluster_.describe();
  const std::string first = cluster_.bound("a") > 0 ? "a" : "b";
  const std::string second = first == "a" ? "b" : "a";
  EXPECT_EQ(cluster_.bound(first), 4);
  EXPECT_EQ(cluster_.waiting(), 0U);
  for (int i = 0; i < 4; ++i) cluster_.delete_pod(name(first, i));
  ASSERT_TRUE(cluster_.pass(30));
  EXPECT_EQ(cluster_.bound(second), 4) << cluster_.describe();
}

// The third finds no CPU: what the others hold is given back at once.
TEST_F(GroupScheduling, AMemberWithoutAPlaceGivesBackWhatAllHold) {
  cluster_.add_node("n1", 8, "5");
  cluster_.add_pod_group("train", 3);
  cluster_.add_pod({.name = "train-0", .group = "train", .cpu = "2"});
  cluster_.add_pod({.name = "train-1", .group = "train", .cpu = "2"});
  cluster_.add_pod({.name = "train-2", .group = "train", .gpus = 2, .cpu = "2"});
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.bound("train"), 0);
  EXPECT_EQ(cluster_.waiting(), 0U);
  EXPECT_TRUE(cluster_.has_event("train-0", "cannot be satisfied: 2 scheduled"))
      << cluster_.describe();
  cluster_.add_pod({.name = "single", .gpus = 8});
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.node_of("single"), "n1");
}

// One of them may run only where there is no node yet: the others do not wait for it.
TEST_F(GroupScheduling, AMemberThatNoNodeTakesSendsTheOthersBack) {
  cluster_.add_node("n1", 8);
  cluster_.add_pod_group("train", 3);
  members("train", 2);
  cluster_.add_pod({.name = "late", .group = "train", .zone = "west"});
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.bound("train"), 0);
  EXPECT_EQ(cluster_.waiting(), 0U) << cluster_.describe();
  cluster_.add_node("w1", 1, "64", "west");
  ASSERT_TRUE(cluster_.pass(20));
  EXPECT_EQ(cluster_.bound("train"), 3) << cluster_.describe();
  EXPECT_EQ(cluster_.node_of("late"), "w1");
}

// Room for one of three is being made, and its victim does not end.
class WaitingGroup : public GroupScheduling {
 protected:
  void SetUp() override {
    cluster_.add_node("n1", 4);
    cluster_.hang_deletions();
    cluster_.add_pod({.name = "low", .gpus = 2, .priority = -1});
    ASSERT_TRUE(cluster_.settle());
    cluster_.add_pod_group("train", 3);
    members("train", 3);
    ASSERT_TRUE(cluster_.settle());
    ASSERT_THAT(cluster_.deletions(), ElementsAre("low"));
    ASSERT_EQ(cluster_.waiting(), 0U) << "nobody has a place before all have one";
    ASSERT_EQ(places("train", 3), "- - -");
  }
};

TEST_F(WaitingGroup, GoesWhenAllHaveAPlace) {
  cluster_.delete_pod("low");
  ASSERT_TRUE(cluster_.pass(10));
  EXPECT_EQ(cluster_.bound("train"), 3) << cluster_.describe();
  EXPECT_THAT(cluster_.given_twice(), IsEmpty());
}

TEST_F(WaitingGroup, WaitsForAsManyAsItNeeds) {
  cluster_.delete_pod("train-0");
  cluster_.delete_pod("low");
  ASSERT_TRUE(cluster_.pass(15));
  EXPECT_EQ(cluster_.bound("train"), 0) << "two of three are too few";
  cluster_.add_pod({.name = "single", .gpus = 1});
  member("train", 3);
  ASSERT_TRUE(cluster_.pass(15));
  EXPECT_EQ(cluster_.node_of("single"), "n1");
  EXPECT_EQ(cluster_.bound("train"), 3) << cluster_.describe();
}

TEST_F(WaitingGroup, EndsWithItsPodGroup) {
  cluster_.delete_pod_group("train");
  cluster_.delete_pod("low");
  ASSERT_TRUE(cluster_.pass(15));
  EXPECT_EQ(cluster_.bound("train"), 0);
  EXPECT_THAT(cluster_.held_back("train-0"), HasSubstr("PodGroup not found"));
}

TEST_F(WaitingGroup, StartsAfreshAfterARestart) {
  cluster_.restart();
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.bound("train"), 0);
  cluster_.delete_pod("low");
  ASSERT_TRUE(cluster_.pass(15));
  EXPECT_EQ(cluster_.bound("train"), 3) << cluster_.describe();
  EXPECT_THAT(cluster_.given_twice(), IsEmpty());
}

TEST_F(GroupScheduling, AGroupWithoutItsObject) {
  cluster_.add_node("n1", 8);
  members("train", 2);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_THAT(cluster_.held_back("train-0"), HasSubstr("PodGroup not found"));
  cluster_.add_pod_group("train", 2);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(places("train", 2), "n1 n1");
}

TEST_F(GroupScheduling, AClusterWithoutTheKind) {
  cluster_.unserve_pod_groups();
  cluster_.add_node("n1", 8);
  members("train", 2);
  // Koordinator's pods say themselves how many they are.
  gang("gang-0", {{"min-available", "3"}});
  gang("gang-1", {{"min-available", "3"}});
  ASSERT_TRUE(cluster_.settle());
  EXPECT_THAT(cluster_.held_back("train-0"), HasSubstr("PodGroup not found"));
  EXPECT_THAT(cluster_.held_back("gang-0"), HasSubstr("cannot find enough sibling pods"));
  gang("gang-2", {{"min-available", "3"}});
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(places("gang", 3), "n1 n1 n1");
}

// What is not to be understood is told to all of the group, and corrected by whoever wrote it.
TEST_F(GroupScheduling, AMistakeInAnAnnotation) {
  cluster_.add_node("n1", 8);
  gang("gang-0", {{"min-available", "two"}});
  gang("gang-1", {{"min-available", "2"}});
  ASSERT_TRUE(cluster_.settle());
  EXPECT_THAT(
      cluster_.message("gang-1"),
      HasSubstr("pod ns/gang-0: gang.scheduling.koordinator.sh/min-available is not a number"));
  gang("gang-0", {{"min-available", "3"}});
  ASSERT_TRUE(cluster_.pass(15));
  EXPECT_EQ(places("gang", 2), "- -");
  EXPECT_THAT(cluster_.message("gang-1") + cluster_.held_back("gang-1"),
              testing::AnyOf(HasSubstr("differ in min-available"),
                             HasSubstr("cannot find enough sibling pods")));
  gang("gang-0", {{"min-available", "2"}, {"mode", "NonStrict"}, {"total-number", "4"}});
  ASSERT_TRUE(cluster_.pass(15));
  EXPECT_EQ(places("gang", 2), "n1 n1") << cluster_.describe();
}

TEST_F(GroupScheduling, AGroupOfGroupsIsRefused) {
  cluster_.add_node("n1", 8);
  gang("gang-0", {{"min-available", "1"}, {"groups", R"(["ns/gang","ns/other"])"}});
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(places("gang", 1), "-");
  EXPECT_THAT(cluster_.message("gang-0"), HasSubstr("groups is not supported"));
}

TEST_F(GroupScheduling, WhoCountsAsOneOfSoManyIsTheGroupsToSay) {
  cluster_.add_node("n1", 8);
  for (const char* policy : {"once-satisfied", "waiting-and-running", "only-waiting"}) {
    for (int i = 0; i < 2; ++i)
      gang(policy + std::to_string(i),
           {{"name", policy}, {"min-available", "2"}, {"match-policy", policy}});
  }
  ASSERT_TRUE(cluster_.settle());
  for (const char* policy : {"once-satisfied", "waiting-and-running", "only-waiting"})
    ASSERT_EQ(cluster_.node_of(std::string(policy) + "1"), "n1") << policy;
  const auto late = [&](const std::string& policy, const char* min) {
    gang(policy + "2", {{"name", policy}, {"min-available", min}, {"match-policy", policy}});
  };
  cluster_.delete_pod("once-satisfied0");
  late("once-satisfied", "3");
  late("waiting-and-running", "3");
  late("only-waiting", "2");
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.node_of("once-satisfied2"), "n1");
  EXPECT_EQ(cluster_.node_of("waiting-and-running2"), "n1") << "two run, and it is the third";
  EXPECT_EQ(cluster_.node_of("only-waiting2"), "") << "one waits, and two are needed";
}

// It is a group of Coscheduling, of which there is nothing to be read here.
TEST_F(GroupScheduling, AGroupByTheLabelOfCoscheduling) {
  cluster_.add_node("n1", 8);
  cluster_.add_pod({.name = "a", .labels = {{"scheduling.x-k8s.io/pod-group", "train"}}});
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.node_of("a"), "");
  EXPECT_THAT(cluster_.held_back("a"), HasSubstr("PodGroup not found"));
}

TEST_F(GroupScheduling, BoundMembersCount) {
  cluster_.add_node("n1", 8);
  cluster_.add_pod_group("train", 3);
  members("train", 3);
  ASSERT_TRUE(cluster_.settle());
  ASSERT_EQ(cluster_.bound("train"), 3);
  cluster_.delete_pod("train-1");
  ASSERT_TRUE(cluster_.settle());
  member("train", 7);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.node_of("train-7"), "n1") << "two run, and it is the third";
}

TEST_F(GroupScheduling, ARestartKnowsWhoIsBoundAndNothingElse) {
  cluster_.add_node("n1", 4);
  cluster_.add_pod_group("train", 3);
  members("train", 3);
  ASSERT_TRUE(cluster_.settle());
  cluster_.delete_pod("train-0");
  cluster_.restart();
  ASSERT_TRUE(cluster_.settle());
  member("train", 3);
  cluster_.add_pod({.name = "single", .gpus = 1});
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.node_of("train-3"), "n1");
  EXPECT_EQ(cluster_.node_of("single"), "n1");
  EXPECT_THAT(cluster_.given_twice(), IsEmpty());
}

TEST_F(GroupScheduling, FailedBindingsComeBackTogether) {
  cluster_.add_node("n1", 4);
  cluster_.add_pod_group("train", 4);
  cluster_.fail_bindings(true);
  members("train", 4);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.bound("train"), 0);
  cluster_.fail_bindings(false);
  ASSERT_TRUE(cluster_.pass(15));
  EXPECT_EQ(cluster_.bound("train"), 4) << cluster_.describe();
  EXPECT_THAT(cluster_.given_twice(), IsEmpty());
}

// They must not go round in a circle while the API server refuses their bindings.
TEST_F(GroupScheduling, FailedBindingsAreTriedAgainLater) {
  cluster_.add_node("n1", 8);
  cluster_.add_pod_group("train", 2);
  cluster_.fail_bindings(true);
  members("train", 2);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.bindings_tried(), 2);
  member("train", 2);
  member("train", 3);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.bindings_tried(), 2) << "no time has passed";
  ASSERT_TRUE(cluster_.pass(60));
  EXPECT_GE(cluster_.bindings_tried(), 10);
  EXPECT_LE(cluster_.bindings_tried(), 2 + 4 * 9) << "1 s, 2 s, 4 s, 8 s, then each 10 s";
  cluster_.fail_bindings(false);
  ASSERT_TRUE(cluster_.pass(15));
  EXPECT_EQ(places("train", 4), "n1 n1 n1 n1");
}

// Of lower priority there is enough to evict for one member, but never for the group.
TEST_F(GroupScheduling, NobodyIsEvictedForAGroupThatCannotBeComplete) {
  cluster_.add_node("n1", 4);
  cluster_.add_pod({.name = "low-1", .gpus = 2, .priority = -1});
  cluster_.add_pod({.name = "low-2", .gpus = 2, .priority = -1});
  ASSERT_TRUE(cluster_.settle());
  cluster_.add_pod_group("few", 3);
  cluster_.add_pod_group("huge", 5);
  members("few", 2);
  members("huge", 5);
  ASSERT_TRUE(cluster_.pass(20));
  EXPECT_THAT(cluster_.deletions(), IsEmpty());
  member("few", 2);
  ASSERT_TRUE(cluster_.pass(20));
  EXPECT_EQ(cluster_.bound("few"), 3) << cluster_.describe();
}

// It is found once, for all members; then others go on.
TEST_F(GroupScheduling, WhatDoesNotFitIsPlannedOnceNotForEveryMember) {
  for (int i = 0; i < 4; ++i) cluster_.add_node("n" + std::to_string(i), 8, "256");
  cluster_.add_pod_group("train", 60);
  members("train", 60);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.plans(), 1);
  for (int i = 0; i < 60; ++i) ASSERT_NE(cluster_.message(name("train", i)), "") << i;
  for (int i = 0; i < 20; ++i) cluster_.add_pod({.name = "plain-" + std::to_string(i), .gpus = 0});
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.plans(), 1) << "plain pods come";
  // Those that the loop hears of in one turn are one reason to try again.
  cluster_.on_loop([this] {
    for (int i = 0; i < 20; ++i) {
      EXPECT_NE(cluster_.node_of("plain-" + std::to_string(i)), "");
      cluster_.delete_pod("plain-" + std::to_string(i));
    }
  });
  ASSERT_TRUE(cluster_.settle());
  const size_t events = cluster_.events();
  const int plans = cluster_.plans();
  EXPECT_EQ(plans, 2) << "plain pods go";
  ASSERT_TRUE(cluster_.pass(60));
  EXPECT_EQ(cluster_.plans(), plans) << "time passes";
  EXPECT_EQ(cluster_.events(), events);
  for (int i = 4; i < 8; ++i) cluster_.add_node("n" + std::to_string(i), 8, "256");
  ASSERT_TRUE(cluster_.pass(12));
  EXPECT_EQ(cluster_.bound("train"), 60) << cluster_.describe();
  EXPECT_THAT(cluster_.given_twice(), IsEmpty());
}

// The same where members differ, and none finds a node.
TEST_F(GroupScheduling, DifferentMembersThatFindNoPlaceAreLeftAloneToo) {
  cluster_.add_node("n1", 2);
  cluster_.add_pod_group("train", 40);
  for (int i = 0; i < 40; ++i) member("train", i, 4 + i % 2);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.plans(), 1);
  cluster_.add_node("n2", 8);
  ASSERT_TRUE(cluster_.pass(12));
  EXPECT_EQ(cluster_.bound("train"), 0);
  for (int i = 3; i < 60; ++i) cluster_.add_node("n" + std::to_string(i), 8);
  ASSERT_TRUE(cluster_.pass(25));
  EXPECT_EQ(cluster_.bound("train"), 40) << cluster_.describe();
}

// Two of four have done their work, and are gone: the others are not held back by that.
TEST_F(GroupScheduling, AWorkerOfAPartlyFinishedGroupComesBack) {
  cluster_.add_node("n1", 8);
  cluster_.add_pod_group("train", 4);
  members("train", 4);
  ASSERT_TRUE(cluster_.settle());
  ASSERT_EQ(cluster_.bound("train"), 4);
  cluster_.delete_pod("train-0");
  cluster_.delete_pod("train-1");
  cluster_.delete_pod("train-2");
  ASSERT_TRUE(cluster_.settle());
  member("train", 5);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.node_of("train-5"), "n1") << cluster_.describe();
  // A scheduler that was not there when they ended.
  cluster_.delete_pod("train-5");
  cluster_.restart();
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.node_of("train-3"), "n1");
  member("train", 6);
  ASSERT_TRUE(cluster_.settle());
  EXPECT_EQ(cluster_.node_of("train-6"), "n1") << cluster_.describe();
}

// Where nobody of the group is left, it is a new one.
TEST_F(GroupScheduling, AGroupThatLostManyIsStillAGroup) {
  cluster_.add_node("n1", 4);
  cluster_.add_pod_group("train", 4);
  members("train", 4);
  ASSERT_TRUE(cluster_.settle());
  ASSERT_EQ(cluster_.bound("train"), 4);
  for (int i = 1; i < 4; ++i) cluster_.delete_pod(name("train", i));
  cluster_.add_pod({.name = "single", .gpus = 2});
  ASSERT_TRUE(cluster_.settle());
  ASSERT_EQ(cluster_.node_of("single"), "n1");
  for (int i = 4; i < 7; ++i) member("train", i);
  ASSERT_TRUE(cluster_.pass(15));
  EXPECT_EQ(cluster_.bound("train"), 2) << "one GPU for three";
  cluster_.delete_pod("single");
  ASSERT_TRUE(cluster_.pass(15));
  EXPECT_EQ(cluster_.bound("train"), 4);
  for (const char* gone : {"train-0", "train-4", "train-5", "train-6"}) cluster_.delete_pod(gone);
  ASSERT_TRUE(cluster_.settle());
  member("train", 7);
  member("train", 8);
  ASSERT_TRUE(cluster_.pass(30));
  EXPECT_EQ(cluster_.bound("train"), 0) << "a new run, and two of four";
}

}  // namespace
}  // namespace plimsoll::devices::test

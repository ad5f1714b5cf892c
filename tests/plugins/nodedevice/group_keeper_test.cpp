// The accounts of groups, on the SDK's fake host.

#include "plugins/nodedevice/groups/group_keeper.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <plimsoll/fake_host.hpp>

#include "tests/plugins/nodedevice/device_fixtures.hpp"

namespace plimsoll::devices::test {
namespace {

using sdk::FakeHost;
using sdk::FakePod;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class GroupKeeperTest : public ::testing::Test {
 protected:
  GroupKeeperTest() { accounts_.device_changed("node-1", fixture_a().dump()); }

  FakePod& pod(const std::string& name, const std::string& group = "train") {
    FakePod& made = pods_.emplace_back("ns/" + name);
    made.label("scheduling.x-k8s.io/pod-group", group).request("nvidia.com/gpu", 1);
    host_.pods.push_back(&made.get());
    return made;
  }
  void gone(FakePod& pod) { std::erase(host_.pods, &*sdk::Pod(pod)); }
  void object(uint32_t type, const std::string& json = "", const std::string& name = "train") {
    groups_.object_event({static_cast<sdk::ObjectEvent::Type>(type), kPodGroups, name, "ns", json});
  }
  void needs(int members, const std::string& name = "train") {
    object(PLIMSOLL_OBJECT_UPSERT,
           R"({"spec":{"scheduleTimeoutSeconds":30,"minMember":)" + std::to_string(members) + "}}",
           name);
  }
  std::string refusal(FakePod& pod) { return groups_.refuses(pod).value_or("none"); }
  // "wait 30000", or "go".
  std::string permit(FakePod& pod) {
    groups_.reserved(pod, "node-1");
    int64_t timeout = 0;
    const sdk::Status status = groups_.permit(pod, timeout);
    return status.ok() ? "go" : "wait " + std::to_string(timeout);
  }
  // What the scheduler does with rejections.
  void carry_out_rejections() {
    for (const auto& [uid, why] : std::exchange(host_.rejected, {}))
      for (FakePod& pod : pods_)
        if (sdk::Pod(pod).uid() == uid) groups_.unreserved(pod);
  }

  static constexpr const char* kPodGroups = "podgroups.v1alpha1.scheduling.x-k8s.io";
  FakeHost host_;
  Accounts accounts_{types(), {}};
  GroupKeeper groups_{host_.handle("NodeDevice"), accounts_};
  std::deque<FakePod> pods_;
};

TEST_F(GroupKeeperTest, WatchesOnlyWhatIsNeeded) {
  FakePod ordinary("ns/plain");
  groups_.pod_waits(ordinary);
  FakePod gang("ns/gang");
  gang.annotation("gang.scheduling.koordinator.sh/name", "g")
      .annotation("gang.scheduling.koordinator.sh/min-available", "2");
  groups_.pod_waits(gang);
  EXPECT_THAT(host_.watched, IsEmpty());
  groups_.pod_waits(pod("a"));
  groups_.pod_waits(pod("b"));
  EXPECT_THAT(host_.watched, ElementsAre(kPodGroups));
}

TEST_F(GroupKeeperTest, RefusesUntilAllAreThere) {
  FakePod& a = pod("a");
  EXPECT_EQ(refusal(a), "none") << "a profile without PreEnqueue";
  groups_.pod_waits(a);
  EXPECT_EQ(refusal(a), "the PodGroups are not listed yet");
  object(PLIMSOLL_OBJECT_SYNCED);
  EXPECT_EQ(refusal(a), "PodGroup not found");
  needs(2);
  EXPECT_EQ(refusal(a),
            "cannot find enough sibling pods, current pods number: 1, minMember of group: 2");
  host_.activated.clear();
  FakePod& b = pod("b");
  groups_.pod_waits(b);
  EXPECT_THAT(host_.activated, UnorderedElementsAre("uid-a", "uid-b"));
  EXPECT_EQ(refusal(a), "none");
  gone(b);
  host_.now += 1000;  // nobody tells: it is looked for once in a while
  EXPECT_EQ(refusal(a),
            "cannot find enough sibling pods, current pods number: 1, minMember of group: 2");
}

// It was bound by another scheduler, or says only now that it is a member.
TEST_F(GroupKeeperTest, ALastMemberThatHasItsNodeWakesTheOthers) {
  needs(3);
  for (const char* name : {"a", "b"}) groups_.pod_waits(pod(name));
  host_.activated.clear();
  FakePod& placed = pod("c").on_node("node-1");
  groups_.pod_assigned(placed);
  EXPECT_THAT(host_.activated, UnorderedElementsAre("uid-a", "uid-b"));
  host_.activated.clear();
  groups_.pod_assigned(placed);
  EXPECT_THAT(host_.activated, IsEmpty()) << "it says nothing new";
}

TEST_F(GroupKeeperTest, StatusesOfPodGroupsWakeNobody) {
  groups_.pod_waits(pod("a"));
  needs(2);
  host_.activated.clear();
  needs(2);
  EXPECT_THAT(host_.activated, IsEmpty());
  needs(1);
  EXPECT_THAT(host_.activated, ElementsAre("uid-a"));
}

TEST_F(GroupKeeperTest, LetsGoWhenTheLastHasAPlace) {
  needs(3);
  FakePod& a = pod("a");
  FakePod& b = pod("b");
  FakePod& c = pod("c");
  for (FakePod* each : {&a, &b, &c}) groups_.pod_waits(*each);
  host_.activated.clear();
  EXPECT_EQ(permit(a), "wait 30000");
  EXPECT_THAT(host_.activated, UnorderedElementsAre("uid-b", "uid-c"));
  EXPECT_EQ(permit(b), "wait 30000");
  EXPECT_EQ(permit(c), "go");
  EXPECT_THAT(host_.allowed, UnorderedElementsAre("uid-a", "uid-b"));
}

TEST_F(GroupKeeperTest, LetsGoWhenAMemberSaysThatFewerAreNeeded) {
  const auto gang = [&](const std::string& name, const char* min) -> FakePod& {
    FakePod& made = pods_.emplace_back("ns/" + name);
    made.annotation("gang.scheduling.koordinator.sh/name", "g")
        .annotation("gang.scheduling.koordinator.sh/min-available", min)
        .request("nvidia.com/gpu", 1);
    host_.pods.push_back(&made.get());
    groups_.pod_waits(made);
    return made;
  };
  FakePod& a = gang("a", "3");
  FakePod& b = gang("b", "3");
  permit(a);
  permit(b);
  EXPECT_THAT(host_.allowed, IsEmpty());
  gang("c", "2");
  EXPECT_THAT(host_.allowed, UnorderedElementsAre("uid-a", "uid-b"));
}

TEST_F(GroupKeeperTest, LeavesAGroupThatFailedAloneLongerEachTime) {
  needs(2);
  FakePod& a = pod("a");
  FakePod& b = pod("b");
  groups_.pod_waits(a);
  groups_.pod_waits(b);
  std::vector<int64_t> delays;
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(refusal(a), "none");
    EXPECT_EQ(permit(a), "wait 30000");
    host_.drop_deferred();
    groups_.found_no_place(b);
    ASSERT_EQ(host_.deferred.size(), 1U);
    auto ended = host_.deferred.front();
    host_.deferred.clear();
    ended.run();
    ASSERT_EQ(host_.rejected.size(), 1U);
    EXPECT_EQ(host_.rejected[0].first, "uid-a");
    EXPECT_EQ(host_.rejected[0].second,
              "PodGroup ns/train gets rejected due to Pod ns/b is unschedulable");
    carry_out_rejections();
    EXPECT_THAT(host_.rejected, IsEmpty()) << "given up once";
    EXPECT_EQ(refusal(a), "the pod group failed recently");
    ASSERT_EQ(host_.deferred.size(), 1U);
    delays.push_back(host_.deferred[0].delay_ms);
    host_.now += delays.back();
    host_.activated.clear();
    host_.deferred[0].run();
    EXPECT_THAT(host_.activated, ElementsAre("uid-a")) << "it calls the others if it can";
  }
  EXPECT_GE(delays[0], 1000);
  EXPECT_LT(delays[0], 2000);
  for (size_t i = 1; i < delays.size(); ++i)
    EXPECT_EQ(delays[i] - delays[0], std::min<int64_t>(1000 << i, 10'000) - 1000);
}

TEST_F(GroupKeeperTest, HoldsDevicesUntilTheGroupGoes) {
  needs(2);
  FakePod& a = pod("a");
  FakePod& b = pod("b");
  groups_.pod_waits(a);
  groups_.pod_waits(b);
  EXPECT_EQ(permit(a), "wait 30000");
  groups_.hold("ns/train", "uid-b", "node-1", {whole_gpu(5)});
  EXPECT_TRUE(accounts_.find("node-1")->type(0).find(5)->in_use);
  EXPECT_THAT(groups_.explain("node-1"),
              HasSubstr("gpu 5: held for pod group ns/train, 1 of whose 2 pods have a place"));
  NodeState mine = *accounts_.find("node-1");
  groups_.take_holds("ns/train", mine);
  EXPECT_FALSE(mine.type(0).find(5)->in_use) << "the group itself may have it";
  EXPECT_EQ(permit(b), "go");
  EXPECT_FALSE(accounts_.find("node-1")->type(0).find(5)->in_use);
  EXPECT_EQ(groups_.explain("node-1"), "");
}

TEST_F(GroupKeeperTest, WhatIsHeldOnAnotherNodeThanItsOwnWakesWhoWaits) {
  needs(2);
  FakePod& a = pod("a");
  groups_.pod_waits(a);
  groups_.pod_waits(pod("b"));
  groups_.hold("ns/train", "uid-a", "node-1", {whole_gpu(5)});
  groups_.reserved(a, "node-1");
  EXPECT_EQ(host_.requeued, 0) << "it has what was held";
  groups_.unreserved(a);
  groups_.hold("ns/train", "uid-a", "node-1", {whole_gpu(5)});
  host_.requeued = 0;
  groups_.reserved(a, "node-2");
  EXPECT_EQ(host_.requeued, 1);
  EXPECT_FALSE(accounts_.find("node-1")->type(0).find(5)->in_use);
}

TEST_F(GroupKeeperTest, KeepsThePlaceOfAPodWhoseBindingFailed) {
  needs(1);
  FakePod& a = pod("a");
  groups_.pod_waits(a);
  accounts_.reserve("uid-a", "node-1", {whole_gpu(3)});
  EXPECT_EQ(permit(a), "go");
  groups_.unreserved(a);
  accounts_.unreserve("uid-a");
  ASSERT_NE(groups_.held("uid-a"), nullptr);
  EXPECT_EQ(groups_.held("uid-a")->at(0).minor, 3);
  EXPECT_EQ(refusal(a), "none");
  // Nobody comes for it.
  host_.now += 61'000;
  ASSERT_EQ(host_.deferred.size(), 1U);
  auto look_round = host_.deferred[0];
  host_.deferred.clear();
  look_round.run();
  EXPECT_EQ(groups_.held("uid-a"), nullptr);
  EXPECT_THAT(host_.deferred, IsEmpty()) << "nothing is left to look after";
}

// A keeper whose host counts how often it is asked for a pod.
class CountedGroup : public GroupKeeperTest {
 protected:
  static inline int looked_up_ = 0;
  static inline const plimsoll_host* asked_ = nullptr;
  CountedGroup() {
    looked_up_ = 0;
    asked_ = host_.table();
    table_.pod_by_uid = [](plimsoll_host_ctx* ctx, plimsoll_str uid) {
      ++looked_up_;
      return asked_->pod_by_uid(ctx, uid);
    };
  }
  static constexpr int kMembers = 500;
  // Every member is tried, or asked whether an event helps it, `times` times.
  int lookups(int needed, int times) {
    needs(needed);
    for (int i = 0; i < kMembers; ++i) counted_.pod_waits(pod("p" + std::to_string(i)));
    counted_.object_event({sdk::ObjectEvent::kUpsert, kPodGroups, "train", "ns",
                           R"({"spec":{"minMember":)" + std::to_string(needed) + "}}"});
    looked_up_ = 0;
    for (int round = 0; round < times; ++round)
      for (FakePod& each : pods_) refused_ += counted_.refuses(each) ? 1 : 0;
    return looked_up_;
  }

  plimsoll_host table_ = *host_.table();
  GroupKeeper counted_{sdk::Host{&table_, "NodeDevice"}, accounts_};
  int refused_ = 0;
};

TEST_F(CountedGroup, ManyOfAnIncompleteGroupAreNotWalkedForEachOfThem) {
  EXPECT_LE(lookups(kMembers + 1, 4), kMembers);
  EXPECT_EQ(refused_, 4 * kMembers);
}

TEST_F(CountedGroup, NorAreThoseOfACompleteOne) {
  EXPECT_LE(lookups(kMembers, 4), kMembers);
  EXPECT_EQ(refused_, 0);
}

TEST_F(GroupKeeperTest, ForgetsGroupsOfDeletedPods) {
  for (int i = 0; i < 200; ++i) {
    FakePod& each = pod("p" + std::to_string(i), "g" + std::to_string(i));
    groups_.pod_waits(each);
    gone(each);
  }
  int known = 0;
  for (int i = 0; i < 200; ++i)
    known += groups_.find("ns/g" + std::to_string(i)) != nullptr ? 1 : 0;
  EXPECT_LE(known, 64);
}

// Whether or not they were tried, and no PodGroup ever comes.
TEST_F(GroupKeeperTest, ForgetsDeletedMembersOfAGroupOfNoKnownSize) {
  const auto known = [&] { return groups_.find("ns/train")->known(); };
  for (int i = 0; i < 200; ++i) {
    FakePod& each = pod("p" + std::to_string(i));
    groups_.pod_waits(each);
    EXPECT_NE(refusal(each), "none");
    gone(each);
    host_.now += 1000;
  }
  EXPECT_LE(known(), 2);
  for (int i = 200; i < 400; ++i) {
    FakePod& each = pod("p" + std::to_string(i));
    groups_.pod_waits(each);
    gone(each);
  }
  EXPECT_LE(known(), 64);
}

}  // namespace
}  // namespace plimsoll::devices::test

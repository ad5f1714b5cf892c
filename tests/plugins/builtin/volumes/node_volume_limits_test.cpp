// NodeVolumeLimits where the recorded calls say nothing: pods on their way, changes after the
// fact, classes of pods, objects that cannot be read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "plugins/builtin/plugins.hpp"
#include "tests/plugins/builtin/volumes/plugin_on_fake_host.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::volumes_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kClasses = "storageclasses.v1.storage.k8s.io";
constexpr const char* kCsiNodes = "csinodes.v1.storage.k8s.io";
constexpr const char* kAttachments = "volumeattachments.v1.storage.k8s.io";
constexpr const char* kExceeded = "node(s) exceed max volume count";

class NodeVolumeLimitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    host_.add(node_);
    host_.add(other_);
    limit(1);
    plugin_.put(kClasses, "", "s", R"({"provisioner": "d"})");
    for (const char* name : {"a", "b", "c"}) unbound(name);
    host_.touched.clear();
  }

  ObjectChange limit(int count) {
    return plugin_.put(kCsiNodes, "", "n",
                       R"({"spec": {"drivers": [{"name": "d", "allocatable": {"count": )" +
                           std::to_string(count) + "}}]}}");
  }
  void unbound(const std::string& name) {
    plugin_.put(kClaims, "ns", name, R"({"spec": {"storageClassName": "s"}})");
  }
  void bound(const std::string& name, const std::string& volume) {
    plugin_.put(kClaims, "ns", name,
                R"({"spec": {"storageClassName": "s", "volumeName": ")" + volume + R"("}})");
  }
  void volume(const std::string& name, const std::string& handle) {
    plugin_.put(kVolumes, "", name,
                R"({"spec": {"csi": {"driver": "d", "volumeHandle": ")" + handle + R"("}}})");
  }
  void attachment(const std::string& volume) {
    plugin_.put(
        kAttachments, "", "att",
        R"({"spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": ")" +
            volume + R"("}}})");
  }
  static void add_claim(FakePod& pod, std::string_view name) {
    pod.volume("persistentVolumeClaim", name);
  }

  FakeHost host_;
  FakeNode node_{"n", 3};
  FakeNode other_{"other", 4};
  PluginOnFakeHost plugin_{host_, builtin::node_volume_limits()};
};

TEST_F(NodeVolumeLimitsTest, APodOnItsWayCounts) {
  FakePod first("ns/first");
  add_claim(first, "a");
  FakePod second("ns/second");
  add_claim(second, "b");
  EXPECT_EQ(plugin_.verdict(second, node_), "");
  plugin_.reserve(first, node_);
  EXPECT_EQ(plugin_.verdict(second, node_), kExceeded);
  EXPECT_EQ(plugin_.verdict(second, other_), "");

  plugin_.unreserve(first, "n");
  EXPECT_EQ(plugin_.verdict(second, node_), "");
  EXPECT_THAT(host_.touched, ElementsAre(std::pair(3u, uint32_t{PLIMSOLL_ASPECT_VOLUMES})));
  EXPECT_EQ(host_.requeued, 1);
}

TEST_F(NodeVolumeLimitsTest, AConfirmedPodStaysWhenItsBindingIsUndone) {
  FakePod first("ns/first");
  add_claim(first, "a");
  FakePod second("ns/second");
  add_claim(second, "b");
  plugin_.reserve(first, node_);
  plugin_.assigned(first, "n");
  plugin_.unreserve(first, "n");
  EXPECT_EQ(plugin_.verdict(second, node_), kExceeded);
  plugin_.removed(first, "n");
  EXPECT_EQ(plugin_.verdict(second, node_), "");
}

TEST_F(NodeVolumeLimitsTest, ASharedVolumeCountsOnceAlsoOnceItIsBound) {
  FakePod first("ns/first");
  add_claim(first, "a");
  FakePod second("ns/second");
  add_claim(second, "a");
  plugin_.assigned(first, "n");
  EXPECT_EQ(plugin_.verdict(second, node_), "");
  volume("pv", "h");
  bound("a", "pv");
  EXPECT_EQ(plugin_.verdict(second, node_), "");
  FakePod third("ns/third");
  add_claim(third, "b");
  EXPECT_EQ(plugin_.verdict(third, node_), kExceeded);
}

// A pod that was in flight hears of what happened meanwhile when it comes back: of more than the
// latest event.
TEST_F(NodeVolumeLimitsTest, AnEarlierEventIsNotJudgedByALaterOne) {
  FakePod pod("ns/pod");
  add_claim(pod, "a");
  const ObjectChange raised = limit(5);
  EXPECT_TRUE(plugin_.is_woken_by(pod, raised));
  EXPECT_FALSE(plugin_.is_woken_by(pod, limit(5)));
  EXPECT_TRUE(plugin_.is_woken_by(pod, raised));
}

TEST_F(NodeVolumeLimitsTest, OnlyNodesThatAnObjectMattersToAreReported) {
  FakePod first("ns/first");
  add_claim(first, "a");
  plugin_.assigned(first, "n");
  host_.touched.clear();
  volume("pv", "h");  // nobody's yet
  bound("b", "pv");   // of no pod on a node
  EXPECT_TRUE(host_.touched.empty());
  bound("a", "pv");
  EXPECT_THAT(host_.touched, ElementsAre(std::pair(3u, uint32_t{PLIMSOLL_ASPECT_VOLUMES})));
  host_.touched.clear();
  volume("pv", "h");  // the same again
  limit(1);
  EXPECT_TRUE(host_.touched.empty());
  limit(2);
  EXPECT_EQ(host_.touched.size(), 1u);
}

TEST_F(NodeVolumeLimitsTest, ADriverThatIsNoLongerAskedForWakesWhoWaitedForIt) {
  constexpr const char* kCsiDrivers = "csidrivers.v1.storage.k8s.io";
  FakePod pod("ns/pod");
  add_claim(pod, "a");
  const auto put = [&](const char* prevents) {
    host_.requeued = 0;
    plugin_.put(kCsiDrivers, "", "d",
                std::string(R"({"spec": {"preventPodSchedulingIfMissing": )") + prevents + "}}");
    return host_.requeued;
  };
  EXPECT_EQ(put("true"), 0);
  EXPECT_EQ(plugin_.verdict(pod, other_), "d CSI driver is not installed on the node");
  EXPECT_EQ(put("false"), 1);
  EXPECT_EQ(plugin_.verdict(pod, other_), "");
  EXPECT_EQ(put("true"), 0);
  plugin_.erase(kCsiDrivers, "", "d");
  EXPECT_EQ(host_.requeued, 1);
  EXPECT_EQ(plugin_.verdict(pod, other_), "");
}

TEST_F(NodeVolumeLimitsTest, AnAttachmentOfThePodsOwnVolumeDoesNotCountTwice) {
  volume("pv", "h");
  bound("a", "pv");
  attachment("pv");
  FakePod own("ns/own");
  add_claim(own, "a");
  EXPECT_EQ(plugin_.verdict(own, node_), "");
  FakePod other("ns/other");
  add_claim(other, "b");
  EXPECT_EQ(plugin_.verdict(other, node_), kExceeded);
  plugin_.erase(kAttachments, "", "att");
  EXPECT_EQ(plugin_.verdict(other, node_), "");
}

// Whoever may create pods may name a node in them: what no kubelet mounts closes no node.
TEST_F(NodeVolumeLimitsTest, WhatCannotBeMountedIsNotCounted) {
  FakePod broken("ns/broken");
  broken.volume("azureDisk", "uri", false, {"Dedicated"});
  plugin_.assigned(broken, "n");
  unbound("thief-v0");  // without an owner
  FakePod thief("ns/thief");
  thief.volume("ephemeral", "");
  plugin_.assigned(thief, "n");
  FakePod single("ns/single");
  add_claim(single, "b");
  EXPECT_EQ(plugin_.verdict(single, node_), "");
  EXPECT_EQ(plugin_.verdict(single, other_), "");
  EXPECT_THAT(plugin_.verdict(broken, node_), HasSubstr("error: converting volume(v0)"));
}

TEST_F(NodeVolumeLimitsTest, AnothersUnreadableClaimClosesItsNodeOnly) {
  unbound("broken");
  FakePod broken("ns/broken");
  add_claim(broken, "broken");
  plugin_.assigned(broken, "n");
  FakePod pod("ns/pod");
  add_claim(pod, "a");
  EXPECT_EQ(plugin_.verdict(pod, node_), kExceeded);
  plugin_.put(sdk::kPersistentVolumeClaims.resource, "ns", "broken", "[");
  EXPECT_THAT(plugin_.verdict(pod, node_), HasSubstr("cannot be counted"));
  EXPECT_EQ(plugin_.verdict(pod, other_), "");

  // In a what-if without that pod the node is open.
  FakeCycle cycle;
  ASSERT_EQ(plugin_.pre_filter(cycle, pod), "");
  const auto& slots = plugin_.slots();
  slots.remove_pod(slots.self, cycle.get(), &pod.get(), &broken.get(), &node_.get());
  EXPECT_EQ(plugin_.filter(cycle, pod, node_), "");
  slots.add_pod(slots.self, cycle.get(), &pod.get(), &broken.get(), &node_.get());
  EXPECT_THAT(plugin_.filter(cycle, pod, node_), HasSubstr("cannot be counted"));
}

TEST_F(NodeVolumeLimitsTest, WhatIfsAddAndRemoveVolumes) {
  FakePod there("ns/there");
  add_claim(there, "a");
  plugin_.assigned(there, "n");
  FakePod pod("ns/pod");
  add_claim(pod, "b");
  FakePod nominated("ns/nominated");
  add_claim(nominated, "c");
  FakeCycle cycle;
  ASSERT_EQ(plugin_.pre_filter(cycle, pod), "");
  const auto& slots = plugin_.slots();
  EXPECT_EQ(plugin_.filter(cycle, pod, node_), kExceeded);
  slots.remove_pod(slots.self, cycle.get(), &pod.get(), &there.get(), &node_.get());
  EXPECT_EQ(plugin_.filter(cycle, pod, node_), "");
  slots.add_pod(slots.self, cycle.get(), &pod.get(), &nominated.get(), &node_.get());
  EXPECT_EQ(plugin_.filter(cycle, pod, node_), kExceeded);
}

TEST_F(NodeVolumeLimitsTest, AWhatIfChangesNoOtherNode) {
  FakePod there("ns/there");
  add_claim(there, "a");
  plugin_.assigned(there, "n");
  FakePod pod("ns/pod");
  add_claim(pod, "b");
  FakeCycle cycle;
  ASSERT_EQ(plugin_.pre_filter(cycle, pod), "");
  const auto& slots = plugin_.slots();
  slots.remove_pod(slots.self, cycle.get(), &pod.get(), &there.get(), &other_.get());
  EXPECT_EQ(plugin_.filter(cycle, pod, node_), kExceeded);
}

// A dry run of a group asks for all members of a signature at once.
TEST_F(NodeVolumeLimitsTest, AVolumeThatOnlyAWhatIfAddsCountsForEachMember) {
  FakePod pod("ns/pod");
  add_claim(pod, "a");
  FakePod added("ns/added");
  add_claim(added, "a");
  const auto& slots = plugin_.slots();
  const auto judge = [&] {
    FakeCycle cycle;
    EXPECT_EQ(plugin_.pre_filter(cycle, pod), "");
    slots.add_pod(slots.self, cycle.get(), &pod.get(), &added.get(), &node_.get());
    return plugin_.filter(cycle, pod, node_);
  };
  EXPECT_EQ(judge(), "") << "a pod alone, beside one that is nominated";
  DecidedGroup group{&pod, &added};
  ASSERT_TRUE(group.publish(host_, plugin_));
  EXPECT_EQ(judge(), kExceeded);
}

TEST_F(NodeVolumeLimitsTest, PodsWithAsManyNewVolumesAreAlike) {
  FakePod a("ns/a");
  add_claim(a, "a");
  FakePod b("ns/b");
  add_claim(b, "b");
  FakePod both("ns/both");
  add_claim(both, "a");
  add_claim(both, "b");
  EXPECT_EQ(plugin_.sign(a), plugin_.sign(b));
  EXPECT_NE(plugin_.sign(a), plugin_.sign(both));
  plugin_.reserve(a, other_);
  EXPECT_NE(plugin_.sign(a), plugin_.sign(b)) << "a's volume is attached somewhere now";
  FakePod plain("ns/plain");
  EXPECT_EQ(plugin_.sign(plain), "");
  FakePod lost("ns/lost");
  add_claim(lost, "no such claim");
  EXPECT_EQ(plugin_.sign(lost), std::nullopt);
}

TEST_F(NodeVolumeLimitsTest, WhatCannotBeReadIsRefusedByName) {
  plugin_.put(kClaims, "ns", "a", R"({"spec": {"volumeName": 7}})");
  FakePod pod("ns/pod");
  add_claim(pod, "a");
  EXPECT_THAT(plugin_.verdict(pod, node_),
              HasSubstr("persistentvolumeclaim \"a\" cannot be read: spec.volumeName"));
  FakePod other("ns/other");
  add_claim(other, "b");
  EXPECT_EQ(plugin_.verdict(other, node_), "");
  host_.touched.clear();
  plugin_.put(kCsiNodes, "", "n", R"({"spec": {"drivers": 1}})");
  EXPECT_EQ(host_.touched.size(), 1u);
  EXPECT_EQ(plugin_.verdict(other, node_), "node(s) had a CSINode that cannot be read");
  EXPECT_EQ(plugin_.verdict(other, other_), "");
}

TEST_F(NodeVolumeLimitsTest, RestsOnItsKindsForPodsWithVolumesThatCount) {
  FakePod plain("ns/plain");
  plain.volume("configMap", "");
  EXPECT_FALSE(plugin_.rests_on(plain, kCsiNodes));
  FakePod pod("ns/pod");
  add_claim(pod, "a");
  EXPECT_TRUE(plugin_.rests_on(pod, kCsiNodes));
  EXPECT_FALSE(plugin_.rests_on(pod, "devices.v1alpha1.scheduling.koordinator.sh"));
  EXPECT_EQ(plugin_.verdict(plain, node_), "skip");
}

TEST_F(NodeVolumeLimitsTest, RegistersWhatKubeSchedulerRegisters) {
  const std::string update = std::to_string(PLIMSOLL_ACTION_UPDATE);
  EXPECT_THAT(plugin_.events(),
              ElementsAre(kCsiNodes + std::string(":1"), kCsiNodes + (":" + update), "Pod:2",
                          kClaims + std::string(":1"), kAttachments + std::string(":2")));
}

// Pods are signed by what their claims mean at that time. In whatever state the cluster is: equal
// signatures, equal verdicts on every node.
TEST_F(NodeVolumeLimitsTest, EqualSignaturesHaveEqualVerdicts) {
  std::mt19937 random(test::test_seed());
  const auto claim = [&] { return std::string(1, static_cast<char>('a' + random() % 6)); };
  const auto add_claims = [&](FakePod& pod) {
    for (size_t count = 1 + random() % 3; count > 0; --count) add_claim(pod, claim());
    if (random() % 4 == 0) pod.volume("cinder", claim());
  };
  std::deque<FakePod> pods;
  size_t compared = 0;
  for (int round = 0; compared < 40 && round < 20'000; ++round) {
    if (random() % 3 == 0) limit(static_cast<int>(random() % 4));
    if (random() % 4 == 0) volume("pv" + claim(), "h" + claim());
    if (random() % 2 == 0) unbound(claim());
    if (random() % 2 == 0) bound(claim(), "pv" + claim());
    if (random() % 5 == 0) attachment("pv" + claim());
    FakePod& placed = pods.emplace_back("ns/placed-" + std::to_string(round));
    add_claims(placed);
    plugin_.assigned(placed, random() % 2 == 0 ? "n" : "other");
    if (random() % 3 != 0) plugin_.removed(pods[random() % pods.size()], "n");
    FakePod one("ns/one");
    FakePod two("ns/two");
    add_claims(one);
    add_claims(two);
    const auto signature = plugin_.sign(one);
    if (!signature || signature != plugin_.sign(two)) continue;
    ++compared;
    for (FakeNode* node : {&node_, &other_}) {
      ASSERT_EQ(plugin_.verdict(one, *node), plugin_.verdict(two, *node)) << "round " << round;
    }
  }
  EXPECT_EQ(compared, 40u);
}

TEST(NodeVolumeLimitsArgs, KnowOneFeatureGate) {
  FakeHost host;
  const auto module = builtin::node_volume_limits();
  EXPECT_NO_THROW(
      PluginOnFakeHost(host, module, R"({"featureGates": {"VolumeLimitScaling": true}})"));
  EXPECT_THROW(PluginOnFakeHost(host, module, R"({"featureGates": {"Other": true}})"),
               std::runtime_error);
}

}  // namespace
}  // namespace plimsoll::volumes_test

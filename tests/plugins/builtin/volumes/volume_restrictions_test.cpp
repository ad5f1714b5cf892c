// VolumeRestrictions where the recorded calls say nothing: pods on their way, classes of pods,
// preemption's what-ifs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/builtin/plugins.hpp"
#include "tests/plugins/builtin/volumes/plugin_on_fake_host.hpp"

namespace plimsoll::volumes_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class VolumeRestrictionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    host_.add(node_);
    for (const char* ns : {"ns", "elsewhere"}) {
      plugin_.put(kClaims, ns, "own", R"({"spec": {"accessModes": ["ReadWriteOncePod"]}})");
    }
    plugin_.put(kClaims, "ns", "shared", R"({"spec": {"accessModes": ["ReadWriteMany"]}})");
  }
  void change(FakeCycle& cycle, FakePod& pod, FakePod& other, bool is_added) {
    const auto& slots = plugin_.slots();
    const auto call = is_added ? slots.add_pod : slots.remove_pod;
    call(slots.self, cycle.get(), &pod.get(), &other.get(), &node_.get());
  }

  FakeHost host_;
  FakeNode node_{"n", 3};
  PluginOnFakeHost plugin_{host_, builtin::volume_restrictions()};
};

TEST_F(VolumeRestrictionsTest, AClaimIsTakenFromReserveToUnreserve) {
  FakePod first("ns/first");
  first.volume("persistentVolumeClaim", "own");
  FakePod second("ns/second");
  second.volume("persistentVolumeClaim", "own");
  EXPECT_EQ(plugin_.verdict(second, node_), "skip");
  plugin_.reserve(first, node_);
  EXPECT_THAT(plugin_.verdict(second, node_), HasSubstr("already in-use by another pod"));
  plugin_.unreserve(first, "n");
  EXPECT_EQ(plugin_.verdict(second, node_), "skip");
  EXPECT_EQ(host_.requeued, 1);
}

TEST_F(VolumeRestrictionsTest, OnlyAVictimThatUsesTheClaimFreesIt) {
  FakePod holder("ns/holder");
  holder.volume("persistentVolumeClaim", "own").volume("persistentVolumeClaim", "own");
  FakePod stranger("elsewhere/stranger");
  stranger.volume("persistentVolumeClaim", "own");
  plugin_.assigned(holder, "n");
  plugin_.assigned(stranger, "n");
  FakePod pod("ns/pod");
  pod.volume("persistentVolumeClaim", "own");
  FakeCycle cycle;
  ASSERT_EQ(plugin_.pre_filter(cycle, pod), "");
  change(cycle, pod, stranger, false);
  EXPECT_NE(plugin_.filter(cycle, pod, node_), "");
  change(cycle, pod, holder, false);
  EXPECT_EQ(plugin_.filter(cycle, pod, node_), "");
  change(cycle, pod, holder, true);
  EXPECT_NE(plugin_.filter(cycle, pod, node_), "");
}

// Another member of the group that is decided on may take a claim that nobody uses yet.
TEST_F(VolumeRestrictionsTest, AMemberTakesAClaimFromAnotherInAWhatIf) {
  FakePod pod("ns/pod");
  pod.volume("persistentVolumeClaim", "own");
  FakePod added("ns/added");
  added.volume("persistentVolumeClaim", "own");
  FakePod other("ns/other");
  other.volume("persistentVolumeClaim", "shared");
  DecidedGroup group{&pod, &added, &other};
  ASSERT_TRUE(group.publish(host_, plugin_));
  EXPECT_NE(plugin_.sign(pod), plugin_.sign(other));
  FakePod plain("ns/plain");
  EXPECT_EQ(plugin_.sign(other), plugin_.sign(plain)) << "nobody else names its claim";
  FakeCycle cycle;
  ASSERT_EQ(plugin_.pre_filter(cycle, pod), "");
  change(cycle, pod, added, true);
  EXPECT_NE(plugin_.filter(cycle, pod, node_), "");
  change(cycle, pod, added, false);
  EXPECT_EQ(plugin_.filter(cycle, pod, node_), "");
}

TEST_F(VolumeRestrictionsTest, PodsAreAlikeButForTheirDisksAndATakenClaim) {
  FakePod first("ns/first");
  first.volume("persistentVolumeClaim", "own");
  FakePod second("ns/second");
  second.volume("persistentVolumeClaim", "shared");
  EXPECT_EQ(plugin_.sign(first), plugin_.sign(second));
  FakePod holder("ns/holder");
  holder.volume("persistentVolumeClaim", "own");
  plugin_.assigned(holder, "n");
  EXPECT_NE(plugin_.sign(first), plugin_.sign(second));
  FakePod reader("ns/reader");
  reader.volume("gcePersistentDisk", "disk", true);
  FakePod writer("ns/writer");
  writer.volume("gcePersistentDisk", "disk", false);
  EXPECT_NE(plugin_.sign(reader), plugin_.sign(writer));
}

TEST_F(VolumeRestrictionsTest, ImagesOfCephAreComparedPartByPart) {
  FakePod there("ns/there");
  there.volume("rbd", "a/b/c", false, {"a/b", "c", "m1"});
  node_.add(there);
  FakePod other_pool("ns/pool");
  other_pool.volume("rbd", "a/b/c", false, {"a", "b/c", "m1"});
  EXPECT_EQ(plugin_.verdict(other_pool, node_), "");
  FakePod same("ns/same");
  same.volume("rbd", "a/b/c", true, {"a/b", "c", "m2", "m1"});
  EXPECT_EQ(plugin_.verdict(same, node_), "node(s) had no available disk");
  FakePod other_monitors("ns/monitors");
  other_monitors.volume("rbd", "a/b/c", false, {"a/b", "c", "m2"});
  EXPECT_EQ(plugin_.verdict(other_monitors, node_), "");
}

TEST_F(VolumeRestrictionsTest, DisksConflictUnlessBothAreOnlyRead) {
  FakePod there("ns/there");
  there.volume("gcePersistentDisk", "d", true).volume("awsElasticBlockStore", "e", true);
  there.volume("iscsi", "i", true).volume("iscsi", "i", false);
  node_.add(there);
  const auto verdict_on = [&](const char* kind, const char* target, bool read_only) {
    FakePod pod("ns/pod");
    pod.volume(kind, target, read_only);
    return plugin_.verdict(pod, node_);
  };
  EXPECT_EQ(verdict_on("gcePersistentDisk", "d", true), "");
  EXPECT_NE(verdict_on("gcePersistentDisk", "d", false), "");
  EXPECT_NE(verdict_on("awsElasticBlockStore", "e", true), "");
  EXPECT_NE(verdict_on("iscsi", "i", true), "") << "one of the two there is written";
  EXPECT_EQ(verdict_on("iscsi", "d", false), "") << "another kind";
}

TEST_F(VolumeRestrictionsTest, WhatCannotBeReadIsRefusedByName) {
  plugin_.put(kClaims, "ns", "own", R"({"spec": {"accessModes": "all"}})");
  FakePod pod("ns/pod");
  pod.volume("persistentVolumeClaim", "own");
  EXPECT_THAT(plugin_.verdict(pod, node_), HasSubstr("cannot be read: spec.accessModes"));
}

TEST_F(VolumeRestrictionsTest, RestsOnClaimsForPodsThatNameOne) {
  FakePod disk("ns/disk");
  disk.volume("gcePersistentDisk", "d").volume("ephemeral", "");
  EXPECT_FALSE(plugin_.rests_on(disk, kClaims));
  FakePod pod("ns/pod");
  pod.volume("persistentVolumeClaim", "own");
  EXPECT_TRUE(plugin_.rests_on(pod, kClaims));
  EXPECT_FALSE(plugin_.rests_on(pod, "persistentvolumes"));
}

TEST_F(VolumeRestrictionsTest, RegistersWhatKubeSchedulerRegisters) {
  EXPECT_THAT(plugin_.events(), ElementsAre("Pod:2", "Node:1", kClaims + std::string(":1")));
}

TEST(VolumeZoneEvents, AreThoseOfKubeScheduler) {
  FakeHost host;
  PluginOnFakeHost plugin(host, builtin::volume_zone());
  const std::string both = std::to_string(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE);
  EXPECT_THAT(plugin.events(), ElementsAre("storageclasses.v1.storage.k8s.io:1", "Node:9",
                                           kClaims + (":" + both), "persistentvolumes:" + both));
}

// A pod's labels of zones are what counts, not the names of its claims.
TEST(VolumeZoneClasses, PodsInTheSameZonesAreAlike) {
  FakeHost host;
  PluginOnFakeHost plugin(host, builtin::volume_zone());
  for (const std::string name : {"a", "b", "c"}) {
    plugin.put(kClaims, "ns", name, R"({"spec": {"volumeName": "pv-)" + name + R"("}})");
    plugin.put("persistentvolumes", "", "pv-" + name,
               R"({"metadata": {"labels": {"topology.kubernetes.io/zone": ")" +
                   std::string(name == "c" ? "z2" : "z1") + R"("}}})");
  }
  FakePod a("ns/a");
  a.volume("persistentVolumeClaim", "a");
  FakePod b("ns/b");
  b.volume("persistentVolumeClaim", "b");
  FakePod c("ns/c");
  c.volume("persistentVolumeClaim", "c");
  EXPECT_EQ(plugin.sign(a), plugin.sign(b));
  EXPECT_NE(plugin.sign(a), plugin.sign(c));
  EXPECT_TRUE(plugin.rests_on(a, "persistentvolumes"));
  EXPECT_FALSE(plugin.rests_on(a, "devices.v1alpha1.scheduling.koordinator.sh"));
}

}  // namespace
}  // namespace plimsoll::volumes_test

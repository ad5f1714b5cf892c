// Which group a pod belongs to, and what PodGroup objects say.

#include "plugins/nodedevice/groups/pod_group.hpp"

#include <gtest/gtest.h>

#include <plimsoll/fake_objects.hpp>

namespace plimsoll::devices {
namespace {

using sdk::FakePod;

TEST(GroupOf, ReadsEveryWayToNameAGroup) {
  FakePod ordinary("ns/a");
  EXPECT_FALSE(group_of(ordinary));
  FakePod coscheduling("ns/a");
  coscheduling.label("scheduling.x-k8s.io/pod-group", "train");
  EXPECT_EQ(group_of(coscheduling)->key, "ns/train");
  EXPECT_EQ(group_of(coscheduling)->api, 0U);
  EXPECT_FALSE(group_of(coscheduling)->min_available);
  FakePod older("ns/a");
  older.label("pod-group.scheduling.sigs.k8s.io", "train");
  EXPECT_EQ(group_of(older)->key, "ns/train");
  EXPECT_EQ(group_of(older)->api, 1U);
  FakePod light("ns/a");
  light.label("pod-group.scheduling.sigs.k8s.io/name", "train")
      .label("pod-group.scheduling.sigs.k8s.io/min-available", "5");
  EXPECT_EQ(group_of(light)->key, "ns/train");
  EXPECT_EQ(group_of(light)->min_available, 5);
  FakePod gang("ns/a");
  gang.annotation("gang.scheduling.koordinator.sh/name", "train")
      .annotation("gang.scheduling.koordinator.sh/min-available", "3")
      .annotation("gang.scheduling.koordinator.sh/waiting-time", "1m30s")
      .annotation("gang.scheduling.koordinator.sh/groups", R"(["ns/train"])");
  EXPECT_EQ(group_of(gang)->key, "ns/train");
  EXPECT_EQ(group_of(gang)->min_available, 3);
  EXPECT_EQ(group_of(gang)->wait_ms, 90'000);
  EXPECT_EQ(group_of(gang)->problem, "");
  FakePod labelled("ns/a");
  labelled.label("gang.scheduling.koordinator.sh/name", "train")
      .label("gang.scheduling.koordinator.sh/min-available", "2");
  EXPECT_EQ(group_of(labelled)->min_available, 2);
  // The first name counts.
  gang.label("scheduling.x-k8s.io/pod-group", "other");
  EXPECT_EQ(group_of(gang)->key, "ns/other");
}

TEST(GroupOf, SaysWhatItCannotRead) {
  const auto problem = [](const char* key, const char* value) {
    FakePod pod("ns/a");
    pod.annotation("gang.scheduling.koordinator.sh/name", "train").annotation(key, value);
    return group_of(pod)->problem;
  };
  EXPECT_EQ(problem("gang.scheduling.koordinator.sh/min-available", "three"),
            "gang.scheduling.koordinator.sh/min-available is not a number");
  EXPECT_EQ(problem("gang.scheduling.koordinator.sh/min-available", "-1"),
            "gang.scheduling.koordinator.sh/min-available is not a number");
  EXPECT_EQ(problem("gang.scheduling.koordinator.sh/waiting-time", "-5s"),
            "gang.scheduling.koordinator.sh/waiting-time is not a duration");
  EXPECT_EQ(problem("gang.scheduling.koordinator.sh/waiting-time", "soon"),
            "gang.scheduling.koordinator.sh/waiting-time is not a duration");
  EXPECT_EQ(problem("gang.scheduling.koordinator.sh/groups", R"(["ns/train","ns/eval"])"),
            "gang.scheduling.koordinator.sh/groups is not supported: name no other group");
  EXPECT_EQ(problem("gang.scheduling.koordinator.sh/groups", "{"),
            "gang.scheduling.koordinator.sh/groups is not supported: name no other group");
}

TEST(PodGroup, IsRead) {
  const auto spec = parse_pod_group(R"({"spec":{"minMember":3,"scheduleTimeoutSeconds":10}})");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->min_member, 3);
  EXPECT_EQ(spec->wait_ms, 10'000);
  EXPECT_EQ(parse_pod_group(R"({"spec":{}})")->min_member, 0);
  EXPECT_EQ(parse_pod_group(R"({"spec":{"minMember":null}})")->min_member, 0);
  for (const char* bad : {"", "[]", "{", "{}", R"({"spec":[]})", R"({"spec":{"minMember":"3"}})",
                          R"({"spec":{"minMember":-1}})", R"({"spec":{"minMember":99999999999}})",
                          R"({"spec":{"minMember":1,"scheduleTimeoutSeconds":1.5}})"})
    EXPECT_FALSE(parse_pod_group(bad)) << bad;
}

}  // namespace
}  // namespace plimsoll::devices

// Pods that wait: what they are told in kube-scheduler's words, and how soon they run once there is
// room.

#include <gmock/gmock.h>

#include "tests/e2e/e2e_test.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kMisaligned =
    "0/1 nodes are available: 1 cannot align container (cpu). preemption: 0/1 nodes are available: "
    "1 No "
    "preemption victims found for incoming pod.";

// From the change that makes room to the binding: far less than the five minutes after which
// everything is tried again, and enough on a machine that does other things too.
constexpr auto kSoon = 10s;

class PendingTest : public E2eTest {
 protected:
  void add_node(const std::string& name, Resources allocatable, const json& spec = json::object(),
                const json& labels = json::object()) {
    allocatable.emplace_back("pods", "20");
    json node = node_object(name, allocatable);
    node["spec"] = spec;
    node["metadata"]["labels"].update(labels);
    create(kNodes, node);
  }

  // Two zones with so much to give on a node that has far more.
  static json two_zones(const std::string& node, const std::string& cpus,
                        const std::string& scope = "container") {
    const Resources zone{{"cpu", cpus}, {"memory", "8Gi"}};
    return nrt_object({.node = node, .scope = scope, .zones = {zone, zone}});
  }

  void add_gpu_node(const std::string& name, std::vector<json> devices) {
    add_node(
        name,
        {{"cpu", "8"}, {"memory", "16Gi"}, {"koordinator.sh/gpu", "200"}, {"nvidia.com/gpu", "2"}});
    create(kDevices, device_object(name, std::move(devices)));
  }

  void expect_bound_soon(const std::string& pod, const std::string& node) {
    EXPECT_EQ(wait_bound(pod, kSoon), node) << "log:\n" << tail(log(), 20);
  }

  json device_pod(const std::string& name, const Resources& devices) {
    PodSpec spec{.name = name, .scheduler = kScheduler, .requests = {{"cpu", "1"}}};
    spec.requests.insert(spec.requests.end(), devices.begin(), devices.end());
    return pod_object(spec);
  }
};

TEST_F(PendingTest, TheEventCountsNodesByReason) {
  add_node("small", {{"cpu", "1"}, {"memory", "16Gi"}});
  add_node("tainted", {{"cpu", "8"}, {"memory", "16Gi"}},
           {{"taints", {{{"key", "team"}, {"value", "a"}, {"effect", "NoSchedule"}}}}});
  add_node("cordoned-1", {{"cpu", "8"}, {"memory", "16Gi"}}, {{"unschedulable", true}});
  add_node("cordoned-2", {{"cpu", "8"}, {"memory", "16Gi"}}, {{"unschedulable", true}});
  add_node("zoned", {{"cpu", "8"}, {"memory", "16Gi"}});
  create(kNrts, two_zones("zoned", "4"));
  add_node("zoned-pod", {{"cpu", "8"}, {"memory", "16Gi"}});
  create(kNrts, two_zones("zoned-pod", "4", "pod"));
  add_node("tiny", {{"cpu", "1"}, {"memory", "1Gi"}});
  ASSERT_NO_FATAL_FAILURE(start());
  const json pod = create_pod(
      {.name = "big", .scheduler = kScheduler, .requests = {{"cpu", "6"}, {"memory", "6Gi"}}});

  const std::string expected =
      "0/7 nodes are available: 1 Insufficient memory, 1 cannot align container (cpu), 1 cannot "
      "align pod (cpu), 1 node(s) had untolerated taint(s), 2 Insufficient cpu, 2 node(s) were "
      "unschedulable. "
      "preemption: 0/7 nodes are available: 2 No preemption victims found for incoming pod, 5 "
      "Preemption is not helpful for scheduling.";
  EXPECT_EQ(wait_refused("big"), expected);
  EXPECT_EQ(wait_event("big", "FailedScheduling"), expected);
  const std::vector<json> found = events("big", "FailedScheduling");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0]["type"], "Warning");
  EXPECT_EQ(found[0]["action"], "Scheduling");
  EXPECT_EQ(found[0]["reportingController"], kScheduler);
  EXPECT_EQ(found[0]["regarding"]["uid"], pod["metadata"]["uid"]);
  EXPECT_EQ(found[0]["regarding"]["namespace"], ns());
  const json status = client().get(pods_path("big")).json()["status"];
  ASSERT_THAT(status["conditions"], SizeIs(1));
  EXPECT_EQ(status["conditions"][0]["type"], "PodScheduled");
  EXPECT_EQ(status["conditions"][0]["reason"], "Unschedulable");
  EXPECT_EQ(status["phase"], "Pending");

  // Where nothing has changed for it, nothing is written again.
  create_pod({.name = "fits", .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
  EXPECT_NE(wait_bound("fits"), "");
  std::this_thread::sleep_for(1500ms);
  EXPECT_EQ(audit().pod_writes(kSchedulerUser)[ns() + "/big"].status_patches, 1);
}

TEST_F(PendingTest, WithoutNodesThePodIsToldSo) {
  ASSERT_NO_FATAL_FAILURE(start());
  create_pod({.name = "early", .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
  const std::string expected = "no nodes available to schedule pods";
  EXPECT_EQ(wait_refused("early"), expected);
  EXPECT_EQ(wait_event("early", "FailedScheduling"), expected);
  add_node("first", {{"cpu", "2"}, {"memory", "4Gi"}});
  expect_bound_soon("early", "first");
  EXPECT_EQ(wait_event("early", "Scheduled"), "Successfully assigned " + ns() + "/early to first");
  const std::vector<json> found = events("early", "Scheduled");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0]["type"], "Normal");
  EXPECT_EQ(found[0]["action"], "Binding");
}

TEST_F(PendingTest, ANewNodeOrAChangedOneMakesRoom) {
  add_node("small", {{"cpu", "2"}, {"memory", "4Gi"}});
  add_node("cordoned", {{"cpu", "6"}, {"memory", "4Gi"}}, {{"unschedulable", true}});
  ASSERT_NO_FATAL_FAILURE(start());
  const auto on = [&](const char* name, const char* node, const char* cpus) {
    json pod = pod_object({.name = name, .scheduler = kScheduler, .requests = {{"cpu", cpus}}});
    pod["spec"]["nodeSelector"]["kubernetes.io/hostname"] = node;
    create(pods_path(), pod);
  };
  on("a", "cordoned", "4");
  on("b", "large", "8");
  on("c", "small", "3");
  for (const char* pod : {"a", "b", "c"}) ASSERT_NE(wait_refused(pod), "") << pod;

  add_node("large", {{"cpu", "8"}, {"memory", "4Gi"}});
  expect_bound_soon("b", "large");
  change(std::string(kNodes) + "/cordoned", {{"spec", {{"unschedulable", nullptr}}}});
  expect_bound_soon("a", "cordoned");
  change(std::string(kNodes) + "/small/status", {{"status", {{"allocatable", {{"cpu", "3"}}}}}});
  expect_bound_soon("c", "small");
}

TEST_F(PendingTest, ATopologyThatMakesRoomIsNoticed) {
  add_node("n", {{"cpu", "16"}, {"memory", "16Gi"}});
  create(kNrts, two_zones("n", "2"));
  ASSERT_NO_FATAL_FAILURE(start());
  create_pod({.name = "a", .scheduler = kScheduler, .requests = {{"cpu", "4"}, {"memory", "2Gi"}}});
  EXPECT_EQ(wait_refused("a"), kMisaligned);
  change(std::string(kNrts) + "/n", {{"zones", two_zones("n", "5")["zones"]}});
  expect_bound_soon("a", "n");

  // Its policy changes: what is left of both zones may be put together.
  create_pod({.name = "b", .scheduler = kScheduler, .requests = {{"cpu", "6"}, {"memory", "2Gi"}}});
  EXPECT_EQ(wait_refused("b"), kMisaligned);
  json relaxed = two_zones("n", "5");
  relaxed["attributes"][0]["value"] = "best-effort";
  change(std::string(kNrts) + "/n", {{"attributes", relaxed["attributes"]}});
  expect_bound_soon("b", "n");
}

TEST_F(PendingTest, ADeletedPodMakesRoom) {
  add_node("n", {{"cpu", "8"}, {"memory", "16Gi"}});
  create(kNrts, two_zones("n", "4"));
  add_gpu_node("g", {gpu_device(0, 0)});
  ASSERT_NO_FATAL_FAILURE(start());
  const PodSpec zone{.scheduler = kScheduler, .requests = {{"cpu", "4"}, {"memory", "2Gi"}}};
  for (const char* name : {"zone-a", "zone-b"}) {
    json pod = pod_object(zone);
    pod["metadata"]["name"] = name;
    pod["spec"]["nodeSelector"]["kubernetes.io/hostname"] = "n";
    create(pods_path(), pod);
    ASSERT_EQ(wait_bound(name), "n");
  }
  json third = pod_object(zone);
  third["metadata"]["name"] = "zone-c";
  third["spec"]["nodeSelector"]["kubernetes.io/hostname"] = "n";
  create(pods_path(), third);
  create(pods_path(), device_pod("gpu-a", {{"koordinator.sh/gpu", "60"}}));
  ASSERT_EQ(wait_bound("gpu-a"), "g");
  create(pods_path(), device_pod("gpu-b", {{"koordinator.sh/gpu", "50"}}));
  EXPECT_THAT(wait_refused("zone-c"), HasSubstr("1 Insufficient cpu"));
  EXPECT_THAT(wait_refused("gpu-b"), HasSubstr("1 Insufficient GPU Devices"));

  remove(pods_path("gpu-a"));
  expect_bound_soon("gpu-b", "g");
  remove(pods_path("zone-a"));
  expect_bound_soon("zone-c", "n");
  const json zones =
      json::parse(client()
                      .get(pods_path("zone-c"))
                      .json()["metadata"]["annotations"]["topology.plimsoll.io/zones"]
                      .get<std::string>());
  const json of_b = json::parse(client()
                                    .get(pods_path("zone-b"))
                                    .json()["metadata"]["annotations"]["topology.plimsoll.io/zones"]
                                    .get<std::string>());
  EXPECT_NE(zones, of_b) << "it got the zone that was freed";
}

TEST_F(PendingTest, AHealedDeviceMakesRoom) {
  json sick = gpu_device(1, 1);
  sick["health"] = false;
  add_gpu_node("g", {gpu_device(0, 0), sick});
  ASSERT_NO_FATAL_FAILURE(start());
  create(pods_path(), device_pod("a", {{"nvidia.com/gpu", "2"}}));
  // At first the report of the new node might be on its way.
  EXPECT_TRUE(eventually(30s, [&] {
    return wait_refused("a").find("1 Insufficient GPU Devices") != std::string::npos;
  })) << wait_refused("a");
  change(std::string(kDevices) + "/g",
         {{"spec", {{"devices", {gpu_device(0, 0), gpu_device(1, 1)}}}}});
  expect_bound_soon("a", "g");
}

TEST_F(PendingTest, AnInvalidDeviceRequestIsExplainedAndHarmsNobody) {
  add_gpu_node("g", {gpu_device(0, 0), gpu_device(1, 1)});
  ASSERT_NO_FATAL_FAILURE(start());
  create(pods_path(), device_pod("odd", {{"koordinator.sh/gpu", "150"}}));
  create(pods_path(),
         device_pod("mixed", {{"koordinator.sh/gpu", "100"}, {"nvidia.com/gpu", "1"}}));
  json hinted = device_pod("hinted", {{"koordinator.sh/gpu", "100"}});
  hinted["metadata"]["annotations"]["scheduling.koordinator.sh/device-allocate-hint"] = "{gpu:";
  create(pods_path(), hinted);
  create(pods_path(), device_pod("right", {{"koordinator.sh/gpu", "100"}}));

  EXPECT_EQ(wait_bound("right"), "g");
  EXPECT_EQ(wait_event("odd", "FailedScheduling"),
            "0/1 nodes are available: invalid resource unit koordinator.sh/gpu: 150: must be at "
            "most 100, or a multiple of 100. preemption: "
            "0/1 nodes are available: 1 Preemption is not helpful for scheduling.");
  EXPECT_THAT(wait_event("mixed", "FailedScheduling"),
              HasSubstr("0/1 nodes are available: invalid resource device requests: ["));
  EXPECT_THAT(wait_event("hinted", "FailedScheduling"),
              HasSubstr("0/1 nodes are available: invalid DeviceAllocateHint annotation, err: "));
  for (const char* pod : {"odd", "mixed", "hinted"}) EXPECT_EQ(node_of(pod), "") << pod;
}

TEST_F(PendingTest, WhatCannotBeHadIsSaidAndNotIgnored) {
  add_node("n", {{"cpu", "8"}, {"memory", "16Gi"}});
  ASSERT_NO_FATAL_FAILURE(start());
  const auto make = [](const std::string& name) {
    return pod_object({.name = name, .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
  };
  json volume = make("volume");
  volume["spec"]["volumes"] = {
      {{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "data"}}}}};
  create(pods_path(), volume);
  const json selector = {{"matchLabels", {{"app", "nobody"}}}};
  json beside = make("beside");
  beside["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
      {{"topologyKey", "kubernetes.io/hostname"}, {"labelSelector", selector}}};
  create(pods_path(), beside);
  json spread = make("spread");
  spread["spec"]["topologySpreadConstraints"] = {{{"maxSkew", 1},
                                                  {"topologyKey", "rack"},
                                                  {"whenUnsatisfiable", "DoNotSchedule"},
                                                  {"labelSelector", selector}}};
  create(pods_path(), spread);
  create_pod({.name = "plain", .scheduler = kScheduler, .requests = {{"cpu", "1"}}});

  EXPECT_EQ(wait_bound("plain"), "n");
  EXPECT_THAT(wait_refused("volume"), HasSubstr("persistentvolumeclaim \"data\" not found"));
  EXPECT_THAT(wait_refused("beside"), HasSubstr("didn't match pod affinity rules"));
  EXPECT_THAT(wait_refused("spread"), HasSubstr("(missing required label)"));
  for (const char* pod : {"volume", "beside", "spread"}) EXPECT_EQ(node_of(pod), "") << pod;
}

TEST_F(PendingTest, AGatedPodWaitsForItsGates) {
  add_node("n", {{"cpu", "8"}, {"memory", "16Gi"}});
  ASSERT_NO_FATAL_FAILURE(start());
  json gated = pod_object({.name = "gated", .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
  gated["spec"]["schedulingGates"] = {{{"name", "example.org/quota"}}};
  create(pods_path(), gated);
  create_pod({.name = "after", .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
  EXPECT_EQ(wait_bound("after"), "n");
  EXPECT_EQ(node_of("gated"), "");
  EXPECT_EQ(audit().pod_writes(kSchedulerUser)[ns() + "/gated"].status_patches, 0);
  change(pods_path("gated"), {{"spec", {{"schedulingGates", nullptr}}}});
  expect_bound_soon("gated", "n");
}

// The API server of these tests knows no groups: it drops what pods say of one.
TEST_F(PendingTest, WithoutGroupsInTheClusterPodsAreScheduledOneByOne) {
  add_node("n", {{"cpu", "2"}, {"memory", "4Gi"}});
  ASSERT_NO_FATAL_FAILURE(start());
  json pod = pod_object({.name = "member", .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
  pod["spec"]["schedulingGroup"] = {{"podGroupName", "g"}};
  EXPECT_FALSE(create(pods_path(), pod)["spec"].contains("schedulingGroup"));
  expect_bound_soon("member", "n");
}

TEST_F(PendingTest, PodsOfOtherSchedulersAreCountedAndLeftAlone) {
  add_node("n", {{"cpu", "8"}, {"memory", "16Gi"}});
  add_gpu_node("g", {gpu_device(0, 0), gpu_device(1, 1)});
  ASSERT_NO_FATAL_FAILURE(start());
  create_pod({.name = "theirs", .scheduler = "another", .requests = {{"cpu", "6"}}});
  json gpu = device_pod("their-gpu", {{"koordinator.sh/gpu", "100"}});
  gpu["spec"]["schedulerName"] = "koord-scheduler";
  gpu["metadata"]["annotations"]["scheduling.koordinator.sh/device-allocated"] =
      R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100",)"
      R"("koordinator.sh/gpu-memory-ratio":"100"}}]})";
  create(pods_path(), gpu);
  create(pods_path("theirs") + "/binding", binding_object("theirs", "n"));
  create(pods_path("their-gpu") + "/binding", binding_object("their-gpu", "g"));
  create_pod({.name = "never", .scheduler = "nobody", .requests = {{"cpu", "1"}}});

  json ours = pod_object({.name = "ours", .scheduler = kScheduler, .requests = {{"cpu", "4"}}});
  ours["spec"]["nodeSelector"]["kubernetes.io/hostname"] = "n";
  create(pods_path(), ours);
  create(pods_path(), device_pod("our-gpu", {{"nvidia.com/gpu", "1"}}));
  EXPECT_THAT(wait_refused("ours"), HasSubstr("1 Insufficient cpu"));
  ASSERT_EQ(wait_bound("our-gpu"), "g");
  const json allocated = json::parse(
      client()
          .get(pods_path("our-gpu"))
          .json()["metadata"]["annotations"]["scheduling.koordinator.sh/device-allocated"]
          .get<std::string>());
  EXPECT_EQ(allocated["gpu"][0]["minor"], 1);

  remove(pods_path("theirs"));
  expect_bound_soon("ours", "n");
  EXPECT_EQ(node_of("never"), "");
  const auto writes = audit().pod_writes(kSchedulerUser);
  for (const char* pod : {"never", "theirs", "their-gpu"}) {
    EXPECT_FALSE(writes.contains(ns() + "/" + pod)) << pod;
    EXPECT_THAT(events(pod, "FailedScheduling"), IsEmpty());
  }
}

// Refused for its taint, then for want of room: `kubectl describe pod` shows both, and the reason
// that holds with the newest time.
TEST_F(PendingTest, AnotherReasonIsAnotherEventAndTheSameOneIsCounted) {
  add_node("n", {{"cpu", "1"}, {"memory", "16Gi"}},
           {{"taints", {{{"key", "team"}, {"value", "a"}, {"effect", "NoSchedule"}}}}});
  json theirs = pod_object({.name = "theirs", .requests = {{"cpu", "1"}}});
  theirs["spec"]["nodeName"] = "n";
  create(pods_path(), theirs);
  ASSERT_NO_FATAL_FAILURE(start());
  const json pod = create_pod({.name = "big", .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
  const std::string first =
      "0/1 nodes are available: 1 node(s) had untolerated taint(s). preemption: 0/1 nodes are "
      "available: 1 Preemption is not helpful for scheduling.";
  ASSERT_EQ(wait_event("big", "FailedScheduling"), first);
  change(std::string(kNodes) + "/n", {{"spec", {{"taints", nullptr}}}});

  const auto about_cpu = [&] {
    for (const json& event : events("big", "FailedScheduling")) {
      if (event.at("note").get<std::string>().find("1 Insufficient cpu") != std::string::npos)
        return event;
    }
    return json();
  };
  EXPECT_TRUE(eventually(60s, [&] { return !about_cpu().is_null(); }));
  EXPECT_TRUE(eventually(60s, [&] {  // the event comes first
    return wait_refused("big").find("1 Insufficient cpu") != std::string::npos;
  }));
  EXPECT_FALSE(about_cpu().contains("series"));

  // A pod that goes has it tried again.
  create_pod({.name = "small", .scheduler = kScheduler, .requests = {{"memory", "1Gi"}}});
  ASSERT_EQ(wait_bound("small"), "n");
  remove(pods_path("small"));
  EXPECT_TRUE(eventually(60s, [&] { return about_cpu().value("series", json()).is_object(); }));
  const json series = about_cpu().value("series", json::object());
  EXPECT_EQ(series.value("count", 0), 2);
  EXPECT_GT(series.value("lastObservedTime", ""), about_cpu().value("eventTime", ""));
  EXPECT_EQ(about_cpu()["regarding"]["uid"], pod["metadata"]["uid"]);
  const std::vector<json> all = events("big", "FailedScheduling");
  ASSERT_THAT(all, SizeIs(2));
  for (const json& event : all) {
    if (event.at("note") != first) continue;
    EXPECT_FALSE(event.contains("series"));
    EXPECT_LT(event.value("eventTime", ""), about_cpu().value("eventTime", ""));
  }
}

}  // namespace
}  // namespace plimsoll::test

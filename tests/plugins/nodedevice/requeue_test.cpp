// Which events wake a pod that NodeDevice refused: those after which a node has what it asks for,
// and no others.

#include <gmock/gmock.h>

#include "tests/plugins/nodedevice/plugin_instance.hpp"

namespace plimsoll::devices {
namespace {

using sdk::FakeHost;
using sdk::FakeNode;
using sdk::FakePod;
using test::Instance;
using test::Json;
using test::kAllocated;
using test::kResource;

class Requeue : public ::testing::Test {
 protected:
  Requeue() {
    for (FakeNode* node : {&one_, &two_}) {
      host_.add(*node);
      plugin_.node(*node);
    }
    waiting_.request("nvidia.com/gpu", 2);
    share_.request("koordinator.sh/gpu", 50);
  }

  static Json cards(const std::string& name, const std::vector<bool>& healthy) {
    std::vector<Json> devices;
    for (size_t i = 0; i < healthy.size(); ++i)
      devices.push_back(test::gpu(static_cast<int>(i), "16Gi", -1, "", healthy[i]));
    return test::device_object(name, devices);
  }
  // The report of a node, and whether it wakes the pod.
  bool report(FakePod& pod, const Json& object) {
    const std::string name = object["metadata"]["name"];
    plugin_.device(name, object);
    return asked(pod, object);
  }
  bool asked(FakePod& pod, const Json& object) {
    const std::string name = object["metadata"]["name"];
    const std::string text = object.dump();
    plimsoll_event event{};
    event.size = sizeof event;
    event.actions = PLIMSOLL_ACTION_UPDATE;
    event.resource = sdk::str(kResource);
    event.name = sdk::str(name);
    event.new_json = sdk::str(text);
    return plugin_.hint(pod, event) == PLIMSOLL_HINT_QUEUE;
  }
  bool changed(FakePod& pod, FakeNode& before, FakeNode& now) {
    plugin_.node(now, PLIMSOLL_NODE_CHANGED);
    plimsoll_event event{};
    event.size = sizeof event;
    event.actions = PLIMSOLL_ACTION_UPDATE_NODE_LABEL;
    event.resource = sdk::str("Node");
    event.old_node = before.get().node;
    event.new_node = now.get().node;
    return plugin_.hint(pod, event) == PLIMSOLL_HINT_QUEUE;
  }
  bool updated(FakePod& before, FakePod& now) {
    plimsoll_event event{};
    event.size = sizeof event;
    event.actions = PLIMSOLL_ACTION_UPDATE;
    event.resource = sdk::str("UnschedulablePod");
    event.old_pod = &before.get();
    event.new_pod = &now.get();
    return plugin_.hint(now, event) == PLIMSOLL_HINT_QUEUE;
  }
  bool gone(FakePod& pod, FakePod& other) {
    plimsoll_event event{};
    event.size = sizeof event;
    event.actions = PLIMSOLL_ACTION_DELETE;
    event.resource = sdk::str("AssignedPod");
    event.old_pod = &other.get();
    return plugin_.hint(pod, event) == PLIMSOLL_HINT_QUEUE;
  }

  FakeHost host_;
  FakeNode one_{"node-1", 1};
  FakeNode two_{"node-2", 2};
  Instance plugin_{host_};
  FakePod waiting_{"ns/waiting"};
  FakePod share_{"ns/share"};
};

TEST_F(Requeue, ADeviceThatHelps) {
  EXPECT_FALSE(report(waiting_, cards("node-1", {true, false}))) << "one is not enough";
  EXPECT_TRUE(report(waiting_, cards("node-1", {true, true}))) << "it is healthy again";
  EXPECT_FALSE(report(waiting_, cards("node-1", {false, true}))) << "one fails";
  EXPECT_TRUE(report(waiting_, cards("node-1", {false, true, true}))) << "one more";
}

TEST_F(Requeue, APodThatAsksForSomethingElse) {
  FakePod more("ns/a"), fewer("ns/a"), noted("ns/a");
  more.request("nvidia.com/gpu", 2);
  fewer.request("nvidia.com/gpu", 1);
  noted.request("nvidia.com/gpu", 1).annotation("note", "seen");
  EXPECT_TRUE(updated(more, fewer));
  EXPECT_FALSE(updated(fewer, noted));
}

TEST_F(Requeue, AReportThatSaysNothingNewWakesNobody) {
  EXPECT_TRUE(report(waiting_, cards("node-1", {true, true})));
  Json again = cards("node-1", {true, true});
  again["metadata"]["resourceVersion"] = "2";
  EXPECT_FALSE(report(waiting_, again)) << "there is room, but there was before";
  // A pod whose attempt was under way meanwhile is asked about both reports afterwards.
  EXPECT_TRUE(asked(waiting_, cards("node-1", {true, true})));
  EXPECT_FALSE(asked(waiting_, again));
  EXPECT_TRUE(report(waiting_, cards("node-1", {true, true, true})));
  EXPECT_FALSE(report(waiting_, cards("node-2", {true, false}))) << "another node without room";
}

TEST_F(Requeue, WhatTheKubeletSaysOfItsPods) {
  FakePod vendor("ns/vendor");
  vendor.on_node("node-1").request("nvidia.com/gpu", 1);
  plugin_.device("node-1", cards("node-1", {true, true}));
  FakePod small("ns/small");
  small.on_node("node-1")
      .request("koordinator.sh/gpu", 60)
      .annotation(
          kAllocated,
          R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"60",)"
          R"("koordinator.sh/gpu-memory":"9Gi","koordinator.sh/gpu-memory-ratio":"60"}}]})");
  plugin_.pod(vendor);
  plugin_.pod(small);
  FakePod large("ns/large");
  large.request("koordinator.sh/gpu", 70);
  // Minor 0 is set aside, and of 1 too little is left. The kubelet has given 1, of all things.
  Json object = cards("node-1", {true, true});
  object["metadata"]["annotations"]["node.koordinator.sh/devices-checkpoints"] =
      R"([{"podUID":"uid-nobody","deviceIDs":["GPU-1"]}])";
  EXPECT_TRUE(report(large, object)) << "a pod that nobody knows: most likely this one";
  object["metadata"]["annotations"]["node.koordinator.sh/devices-checkpoints"] =
      R"([{"podUID":"uid-vendor","deviceIDs":["GPU-1"]}])";
  EXPECT_TRUE(report(large, object)) << "so 0 is free";
  EXPECT_FALSE(report(waiting_, object));
}

TEST_F(Requeue, ADeviceObjectThatIsMended) {
  Json broken = cards("node-1", {true, true});
  broken["spec"]["devices"][0]["minor"] = "x";
  EXPECT_FALSE(report(waiting_, broken));
  EXPECT_TRUE(report(waiting_, cards("node-1", {true, true})));
}

TEST_F(Requeue, OnlyLabelsThatCount) {
  FakePod isolated("ns/isolated");
  isolated.request("koordinator.sh/gpu", 50).label("koordinator.sh/gpu-isolation-provider", "X");
  plugin_.device("node-1", cards("node-1", {true}));
  FakeNode labelled("node-1", 1);
  labelled.label("team", "x");
  EXPECT_FALSE(changed(share_, one_, labelled)) << "it had room before";
  EXPECT_FALSE(changed(isolated, one_, labelled));
  FakeNode isolating("node-1", 1);
  isolating.label("koordinator.sh/gpu-isolation-provider", "X");
  EXPECT_TRUE(changed(isolated, labelled, isolating));
  EXPECT_FALSE(changed(waiting_, labelled, isolating)) << "one device is not enough";
}

// The scheduler tells of a binding that failed as of a pod that was deleted.
TEST_F(Requeue, ABindingThatFails) {
  plugin_.device("node-1", cards("node-1", {true, true}));
  FakePod first("ns/first");
  first.request("nvidia.com/gpu", 2);
  ASSERT_NE(plugin_.place(first, one_).find("minor"), std::string::npos);
  plugin_.unreserve(first, "node-1");
  EXPECT_EQ(host_.requeued, 0) << "not everybody is woken";
  first.on_node("node-1");
  EXPECT_TRUE(gone(waiting_, first));
  FakePod more("ns/more");
  more.request("nvidia.com/gpu", 3);
  EXPECT_FALSE(gone(more, first));
}

}  // namespace
}  // namespace plimsoll::devices

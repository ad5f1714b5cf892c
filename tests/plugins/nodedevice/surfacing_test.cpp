// What cannot be read, or cannot be told, is said: to the pod or the Device object as an event, in
// a metric, in the answer to `plimsoll explain`, and in the dump of the accounts.

#include <gmock/gmock.h>

#include <plimsoll/state_source.h>

#include "tests/plugins/nodedevice/plugin_instance.hpp"

namespace plimsoll::devices {
namespace {

using sdk::FakeHost;
using sdk::FakeNode;
using sdk::FakePod;
using test::Instance;
using test::Json;
using test::kAllocated;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class Surfacing : public ::testing::Test {
 protected:
  Surfacing() {
    host_.add(node_);
    plugin_.node(node_);
  }
  static Json cards(int count, const Json& annotations = Json::object()) {
    std::vector<Json> devices;
    for (int i = 0; i < count; ++i) devices.push_back(test::gpu(i, "16Gi"));
    Json object = test::device_object("node-1", devices);
    object["metadata"]["annotations"] = annotations;
    object["metadata"]["uid"] = "device-uid";
    return object;
  }
  Json accounts() {
    const Json nodes = test::dumped(host_)["nodes"];
    EXPECT_EQ(Json::parse(test::dumped_text(host_, node_.slot()))["nodes"], nodes);
    return nodes["node-1"];
  }
  // 0 if it never had a value.
  double metric(const std::string& name) {
    const auto found = host_.metrics.find(name);
    return found == host_.metrics.end() || found->second.empty() ? 0 : found->second.back();
  }
  FakePod& holder(const std::string& name, const char* annotation, int64_t gpus = 1) {
    auto& pod = pods_.emplace_back(std::make_unique<FakePod>("ns/" + name));
    pod->on_node("node-1").request("nvidia.com/gpu", gpus);
    if (annotation != nullptr) pod->annotation(kAllocated, annotation);
    plugin_.pod(*pod);
    return *pod;
  }
  std::string explained(int64_t gpus) {
    FakePod pod("ns/asks");
    pod.request("nvidia.com/gpu", gpus);
    return plugin_.explain(pod, node_);
  }

  FakeHost host_;
  FakeNode node_{"node-1", 2};
  Instance plugin_{host_};
  std::vector<std::unique_ptr<FakePod>> pods_;
};

TEST_F(Surfacing, AnAllocationThatCannotBeRead) {
  plugin_.device("node-1", cards(3));
  FakePod& pod = holder("a", R"({"gpu":[{"minor":"x"}]})");
  ASSERT_THAT(host_.events, ElementsAre(HasSubstr("DeviceAllocationUnreadable: annotation")));
  EXPECT_THAT(host_.events[0], HasSubstr("gpu[0].minor: must be a number"));
  EXPECT_EQ(metric("device_problems_total{Pod,allocation_unreadable}"), 1);
  EXPECT_EQ(metric("devices{gpu,set_aside}"), 1);
  EXPECT_THAT(explained(3),
              AllOf(HasSubstr("minor 2: is withheld"),
                    HasSubstr("pod ns/a: its device-allocated annotation cannot be right "
                              "(gpu[0].minor: must be a number that is not negative), 1 gpu set "
                              "aside for it")));
  const Json known = accounts();
  EXPECT_EQ(known["devices"]["gpu"]["heldUnknown"], 1);
  EXPECT_EQ(known["devices"]["gpu"]["wholeFree"], 2);
  EXPECT_EQ(known["devices"]["gpu"]["wholeNames"][0], "nvidia.com/gpu");
  EXPECT_EQ(known["pods"]["uid-a"]["heldUnknown"]["gpu"], 1);
  EXPECT_EQ(known["pods"]["uid-a"]["pod"], "ns/a");
  plugin_.pod(pod);
  EXPECT_EQ(metric("device_problems_total{Pod,allocation_unreadable}"), 1) << "said once";
  plugin_.pod(pod, PLIMSOLL_POD_REMOVED);
  EXPECT_EQ(metric("devices{gpu,set_aside}"), 0);
  EXPECT_EQ(metric("devices{gpu,free}"), 3);
}

TEST_F(Surfacing, OneEntryThatCannotBeRead) {
  plugin_.device("node-1", cards(2));
  holder("a", R"({"gpu":[{"minor":1,"resources":7}]})");
  EXPECT_THAT(host_.events, ElementsAre(HasSubstr("gpu[0].resources: cannot be read")));
  EXPECT_EQ(metric("devices{gpu,used}"), 1);
  EXPECT_EQ(accounts()["devices"]["gpu"]["minors"]["1"]["used"]["koordinator.sh/gpu-core"], 100);
  EXPECT_THAT(explained(2),
              HasSubstr("pod ns/a: its device-allocated annotation cannot be right "
                        "(gpu[0].resources: cannot be read), gpu 1 counts with what the pod asks "
                        "for"));
}

TEST_F(Surfacing, AnAllocationThatIsNotTrue) {
  plugin_.device("node-1", cards(5));
  holder("a", R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"1",
      "koordinator.sh/gpu-memory":"1Mi","koordinator.sh/gpu-memory-ratio":"1"}}]})");
  EXPECT_THAT(host_.events, ElementsAre(HasSubstr("gpu 0: says koordinator.sh/gpu-core 1, the pod "
                                                  "asks for 100 of each device")));
  FakePod part("ns/part");
  part.request("koordinator.sh/gpu", 90);
  EXPECT_THAT(plugin_.place(part, node_), HasSubstr("\"minor\":1"));
  EXPECT_THAT(explained(4), HasSubstr("gpu 0 counts with what the pod asks for"));
  FakePod many("ns/many");
  many.on_node("node-1").request("koordinator.sh/gpu", 1).annotation(kAllocated, R"({"gpu":[
      {"minor":1,"resources":{"koordinator.sh/gpu-core":"100"}},
      {"minor":2,"resources":{"koordinator.sh/gpu-core":"100"}},
      {"minor":3,"resources":{"koordinator.sh/gpu-core":"100"}},
      {"minor":4,"resources":{"koordinator.sh/gpu-core":"100"}}]})");
  plugin_.pod(many);
  EXPECT_EQ(metric("devices{gpu,set_aside}"), 1) << "it asks for one";
  EXPECT_EQ(metric("devices{gpu,free}"), 2);
  EXPECT_EQ(metric("device_problems_total{Pod,allocation_unreadable}"), 2);
}

TEST_F(Surfacing, ASecondProblemOfAPodIsSaidToo) {
  plugin_.device("node-1", cards(3));
  FakePod& pod = holder("a", R"({"gpu":[{"minor":"x"}]})");
  const auto says = [&](const char* annotation) {
    pod.annotation(kAllocated, annotation);
    plugin_.pod(pod);
    plugin_.pod(pod);
  };
  EXPECT_EQ(metric("device_problems_total{Pod,allocation_unreadable}"), 1);
  says(R"({"gpu":[{"minor":0},{"minor":1}]})");
  ASSERT_THAT(host_.events, SizeIs(2));
  EXPECT_THAT(host_.events[1], HasSubstr("gpu: names 2 devices, the pod asks for 1"));
  EXPECT_EQ(metric("device_problems_total{Pod,allocation_unreadable}"), 2);
  says(R"({"gpu":[{"minor":0},{"minor":1}],"rdma":[{"minor":0}]})");
  ASSERT_THAT(host_.events, SizeIs(3)) << "only what is new";
  EXPECT_THAT(host_.events[2], HasSubstr("DeviceAllocationIgnored"));
  EXPECT_EQ(metric("device_problems_total{Pod,allocation_unreadable}"), 2);
  EXPECT_EQ(metric("device_problems_total{Pod,allocation_ignored}"), 1);
  says(R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100"}}]})");
  EXPECT_THAT(host_.events, SizeIs(3));
  says(R"({"gpu":[{"minor":0},{"minor":1}],"rdma":[{"minor":0}]})");
  EXPECT_THAT(host_.events, SizeIs(5)) << "it was right in between";
}

TEST_F(Surfacing, AnAllocationThatIsIgnored) {
  plugin_.device("node-1", cards(1));
  FakePod pod("ns/a");
  pod.on_node("node-1").request("cpu", 1).annotation(kAllocated, "{}");
  plugin_.pod(pod);
  EXPECT_THAT(host_.events, ElementsAre(HasSubstr("DeviceAllocationIgnored")));
  EXPECT_EQ(metric("device_problems_total{Pod,allocation_ignored}"), 1);
  EXPECT_EQ(metric("devices{gpu,free}"), 1);
}

TEST_F(Surfacing, ADeviceObjectThatCannotBeRead) {
  plugin_.device("node-1", cards(2));
  EXPECT_EQ(metric("device_objects{read}"), 1);
  EXPECT_THAT(host_.requests, IsEmpty());
  Json broken = cards(2);
  broken["spec"]["devices"] = 3;
  plugin_.device("node-1", broken);
  plugin_.device("node-1", broken);
  ASSERT_THAT(host_.requests, SizeIs(1)) << "once, not with each report";
  const std::string prefix = "POST /apis/events.k8s.io/v1/namespaces/default/events ";
  ASSERT_THAT(host_.requests[0], HasSubstr(prefix));
  const Json event = Json::parse(host_.requests[0].substr(prefix.size()));
  EXPECT_EQ(event["reason"], "DeviceObjectUnreadable");
  EXPECT_EQ(event["type"], "Warning");
  EXPECT_EQ(event["regarding"]["kind"], "Device");
  EXPECT_EQ(event["regarding"]["name"], "node-1");
  EXPECT_EQ(event["regarding"]["uid"], "device-uid");
  EXPECT_EQ(event["note"],
            "Device node-1: spec.devices: must be a list; no device of that node is given until it "
            "is right");
  EXPECT_EQ(metric("device_problems_total{Device,unreadable}"), 1);
  EXPECT_EQ(metric("device_objects{read}"), 0);
  EXPECT_EQ(metric("device_objects{unreadable}"), 1);
  EXPECT_THAT(explained(1), HasSubstr("the node's Device object cannot be read: Device node-1: "
                                      "spec.devices: must be a list"));
  EXPECT_EQ(accounts()["deviceObject"], "unreadable");
  EXPECT_THAT(accounts()["problem"], HasSubstr("spec.devices: must be a list"));

  plugin_.device("node-1", cards(2));
  EXPECT_EQ(accounts()["deviceObject"], "read");
  EXPECT_THAT(host_.requests, SizeIs(1));
  plugin_.device("node-1", broken);
  EXPECT_THAT(host_.requests, SizeIs(2)) << "it is broken anew";
}

TEST_F(Surfacing, AnEntryOfADeviceObjectThatCannotBeRead) {
  Json broken = cards(2);
  broken["spec"]["devices"][1]["resources"] = 7;
  plugin_.device("node-1", broken);
  plugin_.device("node-1", broken);
  ASSERT_THAT(host_.requests, SizeIs(1));
  EXPECT_THAT(host_.requests[0],
              AllOf(HasSubstr("DeviceObjectUnreadable"),
                    HasSubstr("Device node-1: spec.devices[1].resources: must be an object; gpu 1 "
                              "is not given until it is right\"")));
  EXPECT_EQ(metric("device_problems_total{Device,entry_unreadable}"), 1);
  EXPECT_EQ(metric("device_objects{read}"), 1);
  EXPECT_EQ(metric("devices{gpu,unhealthy}"), 1);
  EXPECT_EQ(metric("devices{gpu,free}"), 1);
  EXPECT_THAT(explained(2), AllOf(HasSubstr("minor 1: cannot be read: spec.devices[1].resources: "
                                            "must be an object"),
                                  HasSubstr("of the Device object cannot be read: ")));
  EXPECT_THAT(accounts()["unreadable"], SizeIs(1));
}

// A running pod keeps what it has of a device whose entry loses its minor, and the others are
// given.
TEST_F(Surfacing, AnEntryWithoutAMinor) {
  plugin_.device("node-1", cards(3));
  holder("a", R"({"gpu":[{"minor":1}]})");
  EXPECT_EQ(metric("devices{gpu,used}"), 1);
  Json broken = cards(3);
  broken["spec"]["devices"][1].erase("minor");
  plugin_.device("node-1", broken);
  EXPECT_EQ(metric("devices{gpu,without_minor}"), 1);
  EXPECT_EQ(metric("devices{gpu,gone}"), 1) << "gpu 1, which the pod has";
  EXPECT_EQ(metric("devices{gpu,free}"), 2);
  ASSERT_THAT(host_.requests, SizeIs(1));
  EXPECT_THAT(host_.requests[0],
              AllOf(HasSubstr("DeviceObjectUnreadable"),
                    HasSubstr("Device node-1: spec.devices[1].minor: missing; this gpu is not "
                              "given until it is right")));
  FakePod two("ns/two");
  two.request("nvidia.com/gpu", 2);
  EXPECT_EQ(plugin_.filter_once(two, node_), "ok");
  EXPECT_THAT(explained(3), HasSubstr("of the Device object cannot be read: spec.devices[1]"));

  plugin_.device("node-1", cards(3));
  EXPECT_EQ(metric("devices{gpu,without_minor}"), 0);
  EXPECT_EQ(metric("devices{gpu,used}"), 1) << "what is used on it stays used";
}

TEST_F(Surfacing, PartsOfADeviceObjectThatAreIgnored) {
  const Json annotations{{"scheduling.koordinator.sh/gpu-partitions", R"({"1":3})"},
                         {"node.koordinator.sh/devices-checkpoints", "{"},
                         {"node.koordinator.sh/gpu-checkpoints", "7"}};
  plugin_.device("node-1", cards(1, annotations));
  Json again = cards(1, annotations);
  again["spec"]["devices"][0]["health"] = false;
  plugin_.device("node-1", again);
  EXPECT_EQ(metric("device_problems_total{Device,partitions_ignored}"), 1) << "said once";
  EXPECT_EQ(metric("device_problems_total{Device,checkpoints_ignored}"), 2);
  ASSERT_THAT(host_.requests, SizeIs(1));
  EXPECT_THAT(host_.requests[0],
              AllOf(HasSubstr("DeviceObjectPartlyIgnored"), HasSubstr("gpu-partitions[1]"),
                    HasSubstr("devices-checkpoints"), HasSubstr("gpu-checkpoints")));
  EXPECT_THAT(explained(1), HasSubstr("of the Device object is ignored: annotation "
                                      "scheduling.koordinator.sh/gpu-partitions[1]: must be a "
                                      "list"));
  EXPECT_THAT(accounts()["ignored"], SizeIs(3));
}

TEST_F(Surfacing, PodsThatNobodyKnowsTheDevicesOf) {
  plugin_.device("node-1", cards(3));
  holder("vendor", nullptr, 2);
  EXPECT_THAT(host_.events, IsEmpty()) << "nothing is wrong with it";
  EXPECT_EQ(metric("devices{gpu,set_aside}"), 2);
  EXPECT_THAT(explained(2), AllOf(HasSubstr("minor 2: is withheld"), Not(HasSubstr("minor 0")),
                                  HasSubstr("pod ns/vendor does not say which devices it has, "
                                            "2 gpu set aside for it")));
  EXPECT_EQ(accounts()["pods"]["uid-vendor"]["heldUnknown"]["gpu"], 2);
  for (const char* key :
       {"node.koordinator.sh/devices-checkpoints", "node.koordinator.sh/gpu-checkpoints"}) {
    plugin_.device("node-1", cards(3, {{key, R"([{"podUID":"uid-vendor","containerName":"c",
        "resourceName":"nvidia.com/gpu","deviceIDs":["GPU-0","GPU-1"],"allocResp":"eA=="}])"}}));
    EXPECT_EQ(metric("devices{gpu,set_aside}"), 0) << key;
    EXPECT_EQ(metric("devices{gpu,used}"), 2) << key;
    EXPECT_EQ(accounts()["devices"]["gpu"]["minors"]["1"]["heldAsAWhole"], 1) << key;
    EXPECT_EQ(accounts()["devices"]["gpu"]["heldUnknown"], 0) << key;
    plugin_.device("node-1", cards(3));
    EXPECT_EQ(metric("devices{gpu,set_aside}"), 2) << key;
  }
}

TEST_F(Surfacing, DevicesThatFailGoAndComeBackWhileTheyAreUsed) {
  plugin_.device("node-1", cards(2));
  FakePod pod("ns/a");
  pod.request("koordinator.sh/gpu", 50);
  const std::string annotation = plugin_.place(pod, node_);
  pod.on_node("node-1").annotation(kAllocated, annotation);
  EXPECT_EQ(accounts()["pods"]["uid-a"]["assumed"], true);
  plugin_.pod(pod);
  EXPECT_FALSE(accounts()["pods"]["uid-a"].contains("assumed"));
  EXPECT_EQ(metric("devices{gpu,partly_used}"), 1);

  Json object = cards(2);
  object["spec"]["devices"][0]["health"] = false;
  plugin_.device("node-1", object);
  EXPECT_EQ(metric("devices{gpu,unhealthy}"), 1);
  EXPECT_EQ(metric("devices{gpu,partly_used}"), 0);
  EXPECT_THAT(explained(2), HasSubstr("minor 0: is unhealthy"));
  EXPECT_EQ(accounts()["devices"]["gpu"]["minors"]["0"]["used"]["koordinator.sh/gpu-core"], 50);

  object["spec"]["devices"].erase(0);
  plugin_.device("node-1", object);
  EXPECT_EQ(metric("devices{gpu,gone}"), 1);
  EXPECT_THAT(explained(2),
              HasSubstr("minor 0: is not in the Device object any more, but still in use"));
  plugin_.no_device("node-1");
  EXPECT_EQ(metric("devices{gpu,gone}"), 1);
  EXPECT_EQ(metric("device_objects{read}"), 0);
  EXPECT_EQ(metric("device_objects{gone}"), 1);
  EXPECT_THAT(explained(2), HasSubstr("the node's Device object was deleted"));

  plugin_.device("node-1", cards(2));
  EXPECT_EQ(metric("device_objects{gone}"), 0);
  EXPECT_EQ(metric("devices{gpu,partly_used}"), 1) << "what is used on it stays used";
  object = cards(2);
  object["spec"]["devices"][0]["resources"]["koordinator.sh/gpu-memory"] = "4Gi";
  plugin_.device("node-1", object);
  const Json shrunk = accounts()["devices"]["gpu"]["minors"]["0"];
  EXPECT_EQ(shrunk["follows"]["koordinator.sh/gpu-memory"], int64_t{2} << 30);
  EXPECT_EQ(shrunk["free"]["koordinator.sh/gpu-memory"], int64_t{2} << 30)
      << "half of it is what the pod asked for, however much that is";
  EXPECT_EQ(metric("devices{gpu,partly_used}"), 1);

  plugin_.node(node_, PLIMSOLL_NODE_REMOVED);
  for (const char* state :
       {"free", "partly_used", "used", "gone", "unhealthy", "set_aside", "without_minor"})
    EXPECT_EQ(metric("devices{gpu," + std::string(state) + "}"), 0) << state;
}

}  // namespace
}  // namespace plimsoll::devices

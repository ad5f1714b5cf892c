// NodeDevice as the scheduler calls it: through its table of C functions, on the SDK's fake host.

#include <gmock/gmock.h>

#include <plimsoll/fake_host.hpp>

#include <plimsoll/services/device_accounts.h>
#include "tests/plugins/nodedevice/plugin_instance.hpp"

namespace plimsoll::devices {
namespace {

using sdk::FakeCycle;
using sdk::FakeHost;
using sdk::FakeNode;
using sdk::FakePod;
using sdk::str;
using test::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using test::Instance;
using test::kAllocated;
using test::kResource;

class NodeDeviceTest : public ::testing::Test {
 protected:
  NodeDeviceTest() {
    host_.add(node_);
    plugin_.node(node_);
  }
  static Json cards(int count, const std::string& name = "node-1") {
    std::vector<Json> devices;
    for (int i = 0; i < count; ++i) devices.push_back(test::gpu(i, "16Gi"));
    return test::device_object(name, devices);
  }

  FakeHost host_;
  FakeNode node_{"node-1", 2};
  Instance plugin_{host_};
};

constexpr const char* kGpu0 =
    R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100",)"
    R"("koordinator.sh/gpu-memory":"16Gi","koordinator.sh/gpu-memory-ratio":"100"},"id":"GPU-0"}]})";

TEST_F(NodeDeviceTest, GivesDevicesInTheBinding) {
  ASSERT_TRUE(plugin_.made());
  EXPECT_THAT(host_.watched, ElementsAre(kResource));
  plugin_.device("node-1", cards(2));
  FakePod first("ns/a");
  first.request("cpu", 1000).request("nvidia.com/gpu", 1);
  EXPECT_EQ(plugin_.place(first, node_), kGpu0);
  FakePod second("ns/b");
  second.request("nvidia.com/gpu", 2);
  EXPECT_EQ(plugin_.place(second, node_), "Insufficient gpu devices");
  const auto touched = host_.touched.size();
  plugin_.unreserve(first, "node-1");
  EXPECT_GT(host_.touched.size(), touched);
  EXPECT_EQ(host_.touched.back(), std::make_pair(2U, uint32_t{PLIMSOLL_ASPECT_PLUGIN}));
  EXPECT_THAT(plugin_.place(second, node_), HasSubstr(R"("minor":1)"));
}

// The node's runtime is not to make a container while the plugin is away that gives it its devices.
TEST_F(NodeDeviceTest, APodRequiresTheHookOfItsNode) {
  constexpr const char* kRequired = "required-plugins.noderesource.dev";
  const auto required = [&](const char* own, int gpus = 1) {
    FakePod pod("ns/a");
    pod.request("cpu", 1000);
    if (gpus != 0) pod.request("nvidia.com/gpu", gpus);
    if (own != nullptr) pod.annotation(kRequired, own);
    const std::string said = plugin_.place(pod, node_, kRequired);
    plugin_.unreserve(pod, "node-1");
    return said;
  };
  Json object = cards(2);
  plugin_.device("node-1", object);
  EXPECT_EQ(required(nullptr), "none");
  object["metadata"]["annotations"]["plimsoll.io/device-hook"] = "plimsoll";
  plugin_.device("node-1", object);
  EXPECT_EQ(required(nullptr), "[plimsoll]");
  EXPECT_EQ(required("[balloons]"), "[plimsoll, balloons]");
  EXPECT_EQ(required("[]"), "[plimsoll, ]");
  EXPECT_EQ(required("- balloons"), "- plimsoll\n- balloons");
  EXPECT_EQ(required(nullptr, 0), "skip") << "it has no devices";
  for (const char* nearer :
       {"required-plugins.noderesource.dev/container.c", "required-plugins.noderesource.dev/pod"}) {
    FakePod pod("ns/a");
    pod.request("nvidia.com/gpu", 1);
    pod.annotation(nearer, "[]");
    EXPECT_EQ(plugin_.place(pod, node_, nearer), "[plimsoll, ]") << nearer;
    plugin_.unreserve(pod, "node-1");
  }
}

TEST_F(NodeDeviceTest, SkipsPodsWithoutDevices) {
  FakePod pod("ns/a");
  pod.request("cpu", 1000);
  EXPECT_EQ(plugin_.place(pod, node_), "skip");
  EXPECT_THAT(plugin_.sign(pod), IsEmpty());
}

// Devices for pods that ask for some; PodGroups for pods that do not say themselves how large their
// group is; reports of zones only if somebody keeps a ledger of them.
TEST_F(NodeDeviceTest, PodsRestOnWhatTheyAskFor) {
  FakePod plain("ns/a"), asking("ns/b"), member("ns/c");
  plain.request("cpu", 1000);
  asking.request("nvidia.com/gpu", 1);
  member.label("scheduling.x-k8s.io/pod-group", "g");
  const auto rests_on = [&](FakePod& pod, const char* resource) {
    return plugin_.slots().rests_on(plugin_.slots().self, &pod.get(), str(resource)) != 0;
  };
  EXPECT_TRUE(rests_on(asking, kResource));
  EXPECT_FALSE(rests_on(plain, kResource));
  EXPECT_FALSE(rests_on(member, kResource));
  EXPECT_TRUE(rests_on(member, "podgroups.v1alpha1.scheduling.x-k8s.io"));
  EXPECT_FALSE(rests_on(member, "podgroups.v1alpha1.scheduling.sigs.k8s.io"));
  EXPECT_FALSE(rests_on(plain, "podgroups.v1alpha1.scheduling.x-k8s.io"));
  EXPECT_FALSE(rests_on(asking, "noderesourcetopologies.v1alpha2.topology.node.k8s.io"));
}

TEST_F(NodeDeviceTest, RefusesWhatIsNotValidOrNotThere) {
  plugin_.device("node-1", cards(2));
  const auto refused = [&](const char* resource, int64_t amount, const char* key = nullptr,
                           const char* value = "") {
    FakePod pod("ns/a");
    pod.request(resource, amount);
    if (key != nullptr) pod.annotation(key, value);
    FakeCycle cycle;
    return plugin_.pre_filter(cycle, pod);
  };
  EXPECT_EQ(refused("koordinator.sh/gpu", 101),
            "invalid resource unit koordinator.sh/gpu: 101: must be at most 100, or a multiple of "
            "100 (unresolvable)");
  EXPECT_EQ(refused("nvidia.com/gpu", 1, "scheduling.koordinator.sh/device-allocate-hint", "{"),
            "invalid DeviceAllocateHint annotation, err: it is not JSON (unresolvable)");
  EXPECT_EQ(refused("nvidia.com/gpu", 1, "scheduling.koordinator.sh/numa-topology-spec",
                    R"({"numaTopologyPolicy":"SingleNode"})"),
            "invalid NUMATopologySpec annotation, err: numaTopologyPolicy must be one of "
            "SingleNUMANode, Restricted, BestEffort (unresolvable)");
  // A partition spec says nothing about a pod without GPUs.
  EXPECT_EQ(refused("koordinator.sh/rdma", 1, "scheduling.koordinator.sh/gpu-partition-spec", "{"),
            "ok");
  FakePod npu("ns/npu");
  npu.request("koordinator.sh/gpu.shared", 1)
      .request("huawei.com/npu-core", 4)
      .request("huawei.com/npu-cpu", 2)
      .request("koordinator.sh/gpu-memory", 1024);
  FakeCycle cycle;
  EXPECT_EQ(plugin_.pre_filter(cycle, npu),
            "no matched GPU shared resource template (unresolvable)");
}

TEST_F(NodeDeviceTest, LeavesNodesWithoutDeviceObjectToTheKubelet) {
  FakePod pod("ns/a");
  pod.request("nvidia.com/gpu", 1);
  EXPECT_EQ(plugin_.place(pod, node_), "none");
  EXPECT_THAT(plugin_.explain(pod, node_), HasSubstr("left to the kubelet"));
}

TEST_F(NodeDeviceTest, TheFirstDeviceObjectComesWhileABindIsOnItsWay) {
  FakePod first("ns/a");
  first.request("nvidia.com/gpu", 1);
  EXPECT_EQ(plugin_.place(first, node_), "none");
  plugin_.device("node-1", cards(1));
  FakePod second("ns/b");
  second.request("nvidia.com/gpu", 1);
  EXPECT_EQ(plugin_.place(second, node_), "Insufficient gpu devices");
  plugin_.unreserve(first, "node-1");
  EXPECT_EQ(plugin_.place(second, node_), kGpu0);
}

TEST_F(NodeDeviceTest, TwoInstancesShareOneAccount) {
  Instance other(host_);
  ASSERT_TRUE(other.made());
  // Both hear of everything; it counts once.
  for (Instance* each : {&plugin_, &other}) each->device("node-1", cards(1));
  FakePod first("ns/a");
  first.request("nvidia.com/gpu", 1);
  FakePod second("ns/b");
  second.request("nvidia.com/gpu", 1);
  EXPECT_EQ(plugin_.place(first, node_), kGpu0);
  EXPECT_EQ(other.place(second, node_), "Insufficient gpu devices");
}

TEST_F(NodeDeviceTest, ALaterInstanceTakesOverTheEvents) {
  FakeHost host;
  FakeNode node("node-1", 0);
  host.add(node);
  auto first = std::make_unique<Instance>(host);
  Instance second(host);
  first->node(node);
  first.reset();
  second.device("node-1", cards(1));
  FakePod pod("ns/a");
  pod.request("nvidia.com/gpu", 1);
  EXPECT_EQ(second.place(pod, node), kGpu0);
}

TEST_F(NodeDeviceTest, RecoversFromPods) {
  plugin_.device("node-1", cards(2));
  FakePod bound("ns/a");
  bound.on_node("node-1").request("nvidia.com/gpu", 1).annotation(kAllocated, kGpu0);
  plugin_.pod(bound);
  plugin_.pod(bound);
  FakePod pod("ns/b");
  pod.request("nvidia.com/gpu", 1);
  EXPECT_THAT(plugin_.place(pod, node_), HasSubstr(R"("minor":1)"));
  plugin_.pod(bound, PLIMSOLL_POD_REMOVED);
  FakePod next("ns/c");
  next.request("nvidia.com/gpu", 1);
  EXPECT_EQ(plugin_.place(next, node_), kGpu0);
}

TEST_F(NodeDeviceTest, SaysOnceWhatCannotBeRead) {
  plugin_.device("node-1", cards(1));
  FakePod bound("ns/a");
  bound.on_node("node-1").request("nvidia.com/gpu", 1).annotation(kAllocated, "{");
  plugin_.pod(bound);
  plugin_.pod(bound);
  ASSERT_EQ(host_.events.size(), 1U);
  EXPECT_THAT(host_.events[0], HasSubstr("Warning DeviceAllocationUnreadable: annotation"));
  FakePod pod("ns/b");
  pod.request("nvidia.com/gpu", 1);
  EXPECT_EQ(plugin_.place(pod, node_), "Insufficient gpu devices");

  host_.logs.clear();
  plugin_.device("node-1", {{"metadata", {{"name", "node-1"}}}, {"spec", {{"devices", 3}}}});
  EXPECT_THAT(host_.logs, ElementsAre(HasSubstr("Device node-1: spec.devices: must be a list")));
  EXPECT_EQ(plugin_.place(pod, node_),
            "node(s) had a Device object that cannot be read (unresolvable)");
}

TEST_F(NodeDeviceTest, SaysOnceThatAnAnnotationIsIgnored) {
  plugin_.device("node-1", cards(1));
  FakePod bound("ns/a");
  bound.on_node("node-1").request("cpu", 100).annotation(kAllocated, "x");
  plugin_.pod(bound);
  plugin_.pod(bound);
  ASSERT_EQ(host_.events.size(), 1U);
  EXPECT_THAT(host_.events[0], HasSubstr("Warning DeviceAllocationIgnored: annotation"));
  FakePod pod("ns/b");
  pod.request("nvidia.com/gpu", 1);
  EXPECT_EQ(plugin_.place(pod, node_), kGpu0);
}

TEST_F(NodeDeviceTest, WhatIfsAreExactInverses) {
  plugin_.device("node-1", cards(1));
  FakePod victim("ns/victim");
  victim.on_node("node-1").request("nvidia.com/gpu", 1).annotation(kAllocated, kGpu0);
  plugin_.pod(victim);
  FakePod pod("ns/a");
  pod.request("nvidia.com/gpu", 1);
  FakeCycle cycle;
  ASSERT_EQ(plugin_.pre_filter(cycle, pod), "ok");
  EXPECT_EQ(plugin_.filter(cycle, pod, node_), "Insufficient gpu devices");
  const auto copy = cycle.clone();
  plugin_.what_if(*copy, pod, victim, node_, false);
  EXPECT_EQ(plugin_.filter(*copy, pod, node_), "ok");
  EXPECT_EQ(plugin_.filter(cycle, pod, node_), "Insufficient gpu devices") << "only the copy";
  plugin_.what_if(*copy, pod, victim, node_, true);
  EXPECT_EQ(plugin_.filter(*copy, pod, node_), "Insufficient gpu devices");
  // A nominated pod that holds nothing yet: room is kept for it.
  plugin_.what_if(*copy, pod, victim, node_, false);
  FakePod nominated("ns/nominated");
  nominated.request("koordinator.sh/gpu", 50);
  plugin_.what_if(*copy, pod, nominated, node_, true);
  EXPECT_EQ(plugin_.filter(*copy, pod, node_), "Insufficient gpu devices");
  plugin_.what_if(*copy, pod, nominated, node_, false);
  EXPECT_EQ(plugin_.filter(*copy, pod, node_), "ok");
}

TEST_F(NodeDeviceTest, ScoresNodes) {
  FakeNode other("node-2", 5);
  FakeNode bare("node-3", 6);
  for (FakeNode* each : {&other, &bare}) {
    host_.add(*each);
    plugin_.node(*each);
  }
  plugin_.device("node-1", cards(1));
  plugin_.device("node-2", cards(4, "node-2"));
  FakePod pod("ns/a");
  pod.request("koordinator.sh/gpu", 100);
  // 50 and 87 before they are brought to 100.
  EXPECT_THAT(plugin_.scores(pod, {&node_, &other, &bare}), ElementsAre(57, 100, 0));
}

TEST_F(NodeDeviceTest, HintsAskTheAccounts) {
  plugin_.device("node-1", cards(1));
  FakePod holder("ns/holder");
  holder.on_node("node-1").request("nvidia.com/gpu", 1).annotation(kAllocated, kGpu0);
  FakePod plain("ns/plain");
  plain.on_node("node-1").request("cpu", 100);
  plugin_.pod(holder);
  FakePod pod("ns/a");
  pod.request("nvidia.com/gpu", 1);
  FakePod large("ns/b");
  large.request("nvidia.com/gpu", 2);
  plimsoll_event gone{};
  gone.size = sizeof gone;
  gone.actions = PLIMSOLL_ACTION_DELETE;
  gone.resource = str("AssignedPod");
  gone.old_pod = &plain.get();
  EXPECT_EQ(plugin_.hint(pod, gone), PLIMSOLL_HINT_SKIP) << "it held no device";
  plugin_.pod(holder, PLIMSOLL_POD_REMOVED);
  gone.old_pod = &holder.get();
  EXPECT_EQ(plugin_.hint(pod, gone), PLIMSOLL_HINT_QUEUE);
  EXPECT_EQ(plugin_.hint(large, gone), PLIMSOLL_HINT_SKIP) << "one is not enough";

  plimsoll_event report{};
  report.size = sizeof report;
  report.actions = PLIMSOLL_ACTION_UPDATE;
  report.resource = str(kResource);
  report.name = str("node-1");
  EXPECT_EQ(plugin_.hint(large, report), PLIMSOLL_HINT_SKIP);
  plugin_.device("node-1", cards(2));
  EXPECT_EQ(plugin_.hint(large, report), PLIMSOLL_HINT_QUEUE);
  plugin_.no_device("node-1");
  EXPECT_EQ(plugin_.hint(large, report), PLIMSOLL_HINT_SKIP) << "it is not the kubelet's now";
  report.name = str("node-9");
  EXPECT_EQ(plugin_.hint(large, report), PLIMSOLL_HINT_QUEUE) << "nothing is known of that node";
  EXPECT_EQ(plugin_.slots().events(plugin_.slots().self).count, 5U);
}

plimsoll_event update_of(const char* resource, FakePod& before, FakePod& after) {
  plimsoll_event event{};
  event.size = sizeof event;
  event.actions = PLIMSOLL_ACTION_UPDATE;
  event.resource = str(resource);
  event.old_pod = &before.get();
  event.new_pod = &after.get();
  return event;
}

TEST_F(NodeDeviceTest, APodIsTriedAgainWhenItAsksOtherwise) {
  constexpr const char* kHint = "scheduling.koordinator.sh/device-allocate-hint";
  plugin_.device("node-1", cards(1));
  FakePod wrong("ns/a");
  wrong.request("nvidia.com/gpu", 1).annotation(kHint, "{");
  FakePod same("ns/a");
  same.request("nvidia.com/gpu", 1).annotation(kHint, "{").label("team", "x");
  FakePod right("ns/a");
  right.request("nvidia.com/gpu", 1);
  EXPECT_EQ(plugin_.hint(right, update_of("UnschedulablePod", wrong, right)), PLIMSOLL_HINT_QUEUE);
  EXPECT_EQ(plugin_.hint(same, update_of("UnschedulablePod", wrong, same)), PLIMSOLL_HINT_SKIP)
      << "nothing of it that counts is different";
  FakePod isolated("ns/a");
  isolated.request("nvidia.com/gpu", 1).label("koordinator.sh/gpu-isolation-provider", "HAMi-core");
  EXPECT_EQ(plugin_.hint(isolated, update_of("UnschedulablePod", right, isolated)),
            PLIMSOLL_HINT_QUEUE);
  FakePod other("ns/b");
  other.request("nvidia.com/gpu", 1);
  EXPECT_EQ(plugin_.hint(other, update_of("UnschedulablePod", wrong, right)), PLIMSOLL_HINT_SKIP)
      << "it is another pod that changed";
}

TEST_F(NodeDeviceTest, UpdatesOfOtherPodsCountWhenTheyFreeDevices) {
  plugin_.device("node-1", cards(2));
  FakePod blocks("ns/holder");
  blocks.on_node("node-1").request("nvidia.com/gpu", 1).annotation(kAllocated, "{");
  plugin_.pod(blocks);
  FakePod pod("ns/a");
  pod.request("nvidia.com/gpu", 1);
  FakePod large("ns/b");
  large.request("nvidia.com/gpu", 2);
  FakePod labelled("ns/holder");
  labelled.on_node("node-1").request("nvidia.com/gpu", 1).annotation(kAllocated, "{");
  labelled.label("team", "x");
  EXPECT_EQ(plugin_.hint(pod, update_of("AssignedPod", blocks, labelled)), PLIMSOLL_HINT_SKIP);
  FakePod readable("ns/holder");
  readable.on_node("node-1").request("nvidia.com/gpu", 1).annotation(kAllocated, kGpu0);
  plugin_.pod(readable);
  EXPECT_EQ(plugin_.hint(pod, update_of("AssignedPod", blocks, readable)), PLIMSOLL_HINT_QUEUE);
  EXPECT_EQ(plugin_.hint(large, update_of("AssignedPod", blocks, readable)), PLIMSOLL_HINT_SKIP)
      << "one is not enough";
  FakePod plain("ns/plain");
  plain.on_node("node-1").request("cpu", 100);
  FakePod smaller("ns/plain");
  smaller.on_node("node-1").request("cpu", 50);
  EXPECT_EQ(plugin_.hint(pod, update_of("AssignedPod", plain, smaller)), PLIMSOLL_HINT_SKIP);
  // The holder as it was is named by updates too: that does not make it gone.
  plugin_.pod(blocks);
  EXPECT_EQ(plugin_.hint(large, update_of("AssignedPod", readable, blocks)), PLIMSOLL_HINT_SKIP);
}

TEST_F(NodeDeviceTest, WantsEveryChangeOfPods) {
  const plimsoll_list list = plugin_.slots().events(plugin_.slots().self);
  const auto* first = static_cast<const plimsoll_event_interest*>(list.data);
  ASSERT_EQ(sdk::view(first->resource), "Pod");
  EXPECT_EQ(first->actions,
            uint32_t{PLIMSOLL_ACTION_ADD} | PLIMSOLL_ACTION_UPDATE | PLIMSOLL_ACTION_DELETE);
}

TEST_F(NodeDeviceTest, SharesOnlyWhereIsolationIsAndModelsAllowIt) {
  FakeHost host;
  FakeNode node("node-1", 0);
  node.label("node.koordinator.sh/gpu-vendor", "nvidia")
      .label("node.koordinator.sh/gpu-model", "OLD");
  host.add(node);
  Instance plugin(host, R"({"gpuShareUnsupportedModels":{"nvidia":["OLD"]}})");
  plugin.node(node);
  plugin.device("node-1", cards(1));
  FakePod share("ns/a");
  share.request("koordinator.sh/gpu", 50);
  EXPECT_EQ(plugin.place(share, node),
            "model \"OLD\" of vendor \"nvidia\" does not support GPU Share (unresolvable)");
  FakePod whole("ns/b");
  whole.request("koordinator.sh/gpu", 100);
  EXPECT_EQ(plugin.place(whole, node), kGpu0);

  plugin_.device("node-1", cards(1));
  FakePod isolated("ns/c");
  isolated.request("koordinator.sh/gpu", 50)
      .label("koordinator.sh/gpu-isolation-provider", "HAMi-core");
  EXPECT_EQ(plugin_.place(isolated, node_),
            "GPUIsolationProviderHAMICore not found on the node (unresolvable)");
  node_.label("koordinator.sh/gpu-isolation-provider", "HAMi-core");
  plugin_.node(node_, PLIMSOLL_NODE_CHANGED);
  EXPECT_THAT(plugin_.place(isolated, node_), HasSubstr(R"("minor":0)"));
}

TEST_F(NodeDeviceTest, SignsWhatItReads) {
  const auto sign = [&](int64_t gpus, const char* hint, const char* isolation) {
    FakePod pod("ns/a");
    pod.request("nvidia.com/gpu", gpus);
    if (*hint != '\0') pod.annotation("scheduling.koordinator.sh/device-allocate-hint", hint);
    if (*isolation != '\0') pod.label("koordinator.sh/gpu-isolation-provider", isolation);
    return plugin_.sign(pod);
  };
  EXPECT_EQ(sign(1, "", ""), sign(1, "", ""));
  EXPECT_NE(sign(1, "", ""), sign(2, "", ""));
  EXPECT_NE(sign(1, "", ""), sign(1, "{}", ""));
  EXPECT_NE(sign(1, "", ""), sign(1, "", "HAMi-core"));
}

TEST_F(NodeDeviceTest, OffersAService) {
  plugin_.device("node-1", test::fixture_a());
  const auto* service = static_cast<const plimsoll_device_accounts*>(host_.table()->find_service(
      host_.table()->ctx, str(PLIMSOLL_DEVICE_ACCOUNTS_SERVICE), PLIMSOLL_DEVICE_ACCOUNTS_VERSION));
  ASSERT_NE(service, nullptr);
  EXPECT_EQ(service->unused_devices(service->self, 2, str("gpu")), 8);
  EXPECT_EQ(service->unused_devices(service->self, 99, str("gpu")), -1);
  FakePod pod("ns/a");
  pod.request("nvidia.com/gpu", 6);
  EXPECT_THAT(plugin_.place(pod, node_), HasSubstr(R"("minor":5)"));
  EXPECT_EQ(service->unused_devices(service->self, 2, str("gpu")), 2);
  EXPECT_EQ(service->zones_of_pod(service->self, str("uid-a")), 3U);
  EXPECT_EQ(service->zones_of_pod(service->self, str("uid-x")), 0U);
}

// One device, one book: devices of resource claims are not given by minor, and the reverse.
class NodeDeviceBooksTest : public NodeDeviceTest {
 protected:
  NodeDeviceBooksTest() {
    service_ = host_.handle().find_service<plimsoll_device_accounts>(
        PLIMSOLL_DEVICE_ACCOUNTS_SERVICE, PLIMSOLL_DEVICE_ACCOUNTS_VERSION);
    service_->join(service_->self, &changes_, [](void* ctx, plimsoll_str node) {
      static_cast<std::vector<std::string>*>(ctx)->emplace_back(sdk::view(node));
    });
  }
  static plimsoll_device_identity uuid(const char* text) { return {str(text), {}, {}, {}}; }
  void hold(const char* holder, std::vector<plimsoll_device_identity> devices) {
    service_->hold(service_->self, str(holder), str("node-1"),
                   sdk::list_of<plimsoll_device_identity>(devices));
  }
  bool in_use(const plimsoll_device_identity& device) {
    return service_->in_use(service_->self, str("node-1"), &device) != 0;
  }
  std::string place_one(const char* name) {
    FakePod pod(name);
    pod.request("nvidia.com/gpu", 1);
    return plugin_.place(pod, node_);
  }

  const plimsoll_device_accounts* service_ = nullptr;
  std::vector<std::string> changes_;
};

TEST_F(NodeDeviceBooksTest, AClaimsDeviceIsNotGivenByMinor) {
  hold("ns/early", {uuid("GPU-0")});  // before there is a Device object
  plugin_.device("node-1", cards(3));
  hold("ns/late", {{{}, str("GPU-1"), {}, {}}});  // a part of it
  EXPECT_THAT(place_one("ns/a"), HasSubstr(R"("minor":2)"));
  EXPECT_EQ(place_one("ns/b"), "Insufficient gpu devices");
  hold("ns/early", {});
  EXPECT_THAT(place_one("ns/b"), HasSubstr(R"("minor":0)"));
}

// No event that pods without claims wait for says that a claim's device is free.
TEST_F(NodeDeviceBooksTest, WhatAClaimGivesBackWakesWhoWaits) {
  plugin_.device("node-1", cards(2));
  hold("ns/claim", {uuid("GPU-0")});
  hold("ns/claim", {uuid("GPU-0"), uuid("GPU-1")});
  EXPECT_EQ(host_.requeued, 0) << "it has more";
  hold("pod x", {uuid("GPU-0")});
  hold("ns/claim", {uuid("GPU-1")});
  EXPECT_EQ(host_.requeued, 0) << "another holder has it";
  hold("ns/claim", {});
  EXPECT_EQ(host_.requeued, 1);
  hold("ns/claim", {});
  EXPECT_EQ(host_.requeued, 1) << "it had none";
}

TEST_F(NodeDeviceBooksTest, ADeviceGivenByMinorIsInUse) {
  plugin_.device("node-1", cards(2));
  hold("ns/claim", {uuid("GPU-1")});
  EXPECT_FALSE(in_use(uuid("GPU-1"))) << "by a claim only";
  EXPECT_FALSE(in_use(uuid("GPU-0")));
  changes_.clear();
  EXPECT_THAT(place_one("ns/a"), HasSubstr(R"("minor":0)"));
  EXPECT_THAT(changes_, testing::Contains("node-1"));
  EXPECT_TRUE(in_use(uuid("GPU-0")));
  EXPECT_FALSE(in_use(uuid("GPU-7"))) << "none of the node's";
  EXPECT_TRUE(in_use({})) << "may be the one";
}

// A device of which nothing is said may be any: then none is given.
TEST_F(NodeDeviceBooksTest, ADeviceThatNobodyKnowsMayBeAny) {
  plugin_.device("node-1", cards(2));
  hold("ns/claim", {{}});
  EXPECT_EQ(place_one("ns/a"), "Insufficient gpu devices");
  hold("ns/claim", {});
  EXPECT_THAT(place_one("ns/a"), HasSubstr(R"("minor":)"));
}

TEST_F(NodeDeviceBooksTest, BusIdsAreOneInAllSpellings) {
  Json card = test::gpu(0, "16Gi", 0, "pci0000:64");
  card["topology"]["busID"] = "00000000:65:00.0";
  plugin_.device("node-1", test::device_object("node-1", {card}));
  hold("ns/claim", {{{}, {}, str("0000:65:00.0"), {}}});
  EXPECT_EQ(place_one("ns/a"), "Insufficient GPU Devices");
}

// What devices there are is one thing for the whole process: profiles cannot disagree about it.
TEST(NodeDeviceArgs, DeviceTypesAreTheSameInAllProfiles) {
  constexpr const char* kDpu = R"({"deviceTypes":[{"name":"dpu","resource":"example.com/dpu"}]})";
  FakeHost host;
  FakeNode node("node-1", 2);
  host.add(node);
  Instance first(host, kDpu);
  ASSERT_TRUE(first.made()) << host.error;
  const Instance second(host, kDpu);
  EXPECT_TRUE(second.made()) << host.error;
  const Instance third(host);
  EXPECT_FALSE(third.made());
  EXPECT_THAT(host.error, HasSubstr("deviceTypes: differ from another profile's"));
  first.node(node);
  first.device("node-1",
               test::device_object("node-1", {{{"type", "dpu"},
                                               {"minor", 0},
                                               {"health", true},
                                               {"resources", {{"example.com/dpu", "100"}}}}}));
  FakePod pod("ns/a");
  pod.request("example.com/dpu", 100);
  EXPECT_EQ(first.place(pod, node),
            R"({"dpu":[{"minor":0,"resources":{"example.com/dpu":"100"}}]})");
}

TEST(NodeDeviceArgs, EveryProblemWithItsPath) {
  const auto problem = [](const char* args) {
    FakeHost host;
    const Instance made(host, args);
    return made.made() ? "" : host.error;
  };
  EXPECT_EQ(problem(""), "");
  EXPECT_EQ(problem("null"), "");
  EXPECT_EQ(problem(R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"DeviceShareArgs",
      "allocator":"default","disableDeviceNUMATopologyAlignment":true,
      "scoringStrategy":{"type":"MostAllocated",
                         "resources":[{"name":"koordinator.sh/gpu-core","weight":3}]},
      "gpuSharedResourceTemplatesConfig":{"configMapNamespace":"a","configMapName":"b",
                                          "matchedResources":["huawei.com/npu-core"]},
      "gpuShareUnsupportedModels":{"nvidia":["X"]}})"),
            "");
  EXPECT_THAT(problem("{"), HasSubstr("args are not JSON"));
  EXPECT_THAT(
      problem(R"({"scoringStrategy":{"type":"Balanced","resources":[{"weight":0}],"x":1},
                          "disableDeviceNUMATopologyAlignment":"yes","scoring":{}})"),
      testing::AllOf(
          HasSubstr("scoring: unknown field"), HasSubstr("scoringStrategy.x: unknown field"),
          HasSubstr("scoringStrategy.type: must be LeastAllocated, MostAllocated or "
                    "FragmentationGradient"),
          HasSubstr("scoringStrategy.resources[0].name: must be given"),
          HasSubstr("scoringStrategy.resources[0].weight: must be a number from 1 to 100"),
          HasSubstr("disableDeviceNUMATopologyAlignment: must be true or false")));
  EXPECT_THAT(
      problem(R"({"scoringstrategy":{},"scoringStrategy":{"resources":[{"wieght":1}]},
                          "deviceTypes":[{"name":"a","resource":"e.com/a","topologyAware":null}]})"),
      testing::AllOf(HasSubstr("scoringstrategy: unknown field, did you mean \"scoringStrategy\"?"),
                     HasSubstr("resources[0].wieght: unknown field, did you mean \"weight\"?"),
                     HasSubstr("deviceTypes[0].topologyAware: must be true or false, not null")));
}

TEST(NodeDeviceArgs, FieldsWithoutEffectAreNamed) {
  FakeHost host;
  const Instance made(host, R"({"allocator":"default","disableDeviceNUMATopologyAlignment":true,
      "gpuSharedResourceTemplatesConfig":{"configMapName":"a"}})");
  ASSERT_TRUE(made.made());
  EXPECT_THAT(host.logs,
              testing::ElementsAre(
                  "args.allocator: has no effect: there is one allocator",
                  HasSubstr("args.gpuSharedResourceTemplatesConfig.configMapName: has no effect")));
}

}  // namespace
}  // namespace plimsoll::devices

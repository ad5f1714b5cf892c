// Pods that use a node's devices under names that NodeDevice does not give out by minor: shared and
// sliced GPUs of device plugins, other schedulers' resources, resource claims. They hold as many
// devices as they may use, and are not let on where these are given already.

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
using testing::AllOf;
using testing::HasSubstr;

// The pod as it is, with a resource claim.
void with_claim_of(Instance& plugin, FakePod& pod) {
  plimsoll_str name = sdk::str("claim");
  plimsoll_pod object = pod.get();
  object.resource_claims = {&name, 1, sizeof name};
  plugin.slots().pod_event(plugin.slots().self, PLIMSOLL_POD_ASSIGNED, &object, object.node_name);
}

// The pod as it is, with these containers.
void with_containers(Instance& plugin, FakePod& pod,
                     const std::vector<std::map<std::string, int64_t>>& asks) {
  sdk::detail::Storage storage;
  std::vector<plimsoll_container> containers;
  for (const auto& ask : asks) {
    plimsoll_container& one = containers.emplace_back();
    one.size = sizeof one;
    one.requests = storage.resources(ask);
  }
  plimsoll_pod object = pod.get();
  object.containers = {containers.data(), static_cast<uint32_t>(containers.size()),
                       sizeof(plimsoll_container)};
  plugin.slots().pod_event(plugin.slots().self, PLIMSOLL_POD_ASSIGNED, &object, object.node_name);
}

constexpr const char* kRefused = "Insufficient gpu devices";

class Strangers : public ::testing::Test {
 protected:
  Strangers() {
    host_.add(node_);
    plugin_.node(node_);
    std::vector<Json> devices;
    for (int i = 0; i < 4; ++i) devices.push_back(test::gpu(i, "16Gi"));
    object_ = test::device_object("node-1", devices);
    plugin_.device("node-1", object_);
  }
  FakePod& on_node(const std::string& name, const std::map<std::string, int64_t>& requests) {
    auto& pod = pods_.emplace_back(std::make_unique<FakePod>("ns/" + name));
    for (const auto& [resource, amount] : requests) pod->request(resource, amount);
    pod->on_node("node-1");
    plugin_.pod(*pod);
    return *pod;
  }
  // "ok" or the reason.
  std::string asks(const std::string& resource, int64_t amount) {
    FakePod pod("ns/asks");
    pod.request(resource, amount);
    return plugin_.filter_once(pod, node_);
  }
  // Whole GPUs that a pod may still get.
  int whole_left() {
    for (int n = 4; n > 0; --n)
      if (asks("nvidia.com/gpu", n) == "ok") return n;
    return 0;
  }

  FakeHost host_;
  FakeNode node_{"node-1", 2};
  Instance plugin_{host_};
  Json object_;
  std::vector<std::unique_ptr<FakePod>> pods_;
};

TEST_F(Strangers, HoldAsManyDevicesAsTheyMayUse) {
  const struct {
    std::map<std::string, int64_t> requests;
    int left;
  } cases[] = {
      {{{"nvidia.com/gpu.shared", 1}}, 3},
      {{{"nvidia.com/gpu.shared", 3}}, 1},
      {{{"nvidia.com/mig-1g.5gb", 2}}, 2},
      {{{"nvidia.com/mig-1g.5gb", 1}, {"nvidia.com/mig-3g.20gb", 1}}, 2},
      {{{"nvidia.com/gpu", 1}, {"nvidia.com/mig-3g.20gb", 1}}, 2},
      {{{"nvidia.com/GRID_T4-1Q", 1}}, 3},
      {{{"nvidia.com/gpu", 1}, {"nvidia.com/gpumem", 3000}, {"nvidia.com/gpucores", 30}}, 3},
      {{{"nvidia.com/gpumem", 3000}}, 0},  // nobody knows of how many
      {{{"volcano.sh/vgpu-number", 1}, {"volcano.sh/vgpu-memory", 3000}}, 3},
      {{{"huawei.com/Ascend910", 1}}, 3},
      {{{"huawei.com/Ascend910B3", 1}, {"huawei.com/Ascend910B3-memory", 16384}}, 3},
      {{{"cambricon.com/vmlu", 1},
        {"cambricon.com/mlu.smlu.vmemory", 20},
        {"cambricon.com/mlu.smlu.vcore", 10}},
       3},
      {{{"cambricon.com/mlu370", 2}}, 2},
      {{{"tencent.com/vcuda-core", 30}}, 0},
      {{{"example.com/gpu", 4}}, 4},  // somebody else's hardware
      {{{"rdma/hca_shared", 1}}, 4},  // no GPU
      {{{"cpu", 4}, {"ephemeral-storage", 100}, {"nvidia.com/none", 1}}, 4},
  };
  for (const auto& one : cases) {
    FakePod& pod = on_node("stranger", one.requests);
    EXPECT_EQ(whole_left(), one.left) << one.requests.begin()->first;
    plugin_.pod(pod, PLIMSOLL_POD_REMOVED);
    EXPECT_EQ(whole_left(), 4);
  }
}

// Whose object cannot be read gives out nothing more, and what it has given is not free either.
TEST_F(Strangers, AreNotLetOnWhereAllIsGivenAndTheObjectIsBroken) {
  Json all = Json::array();
  for (int minor = 0; minor < 4; ++minor) {
    all.push_back({{"minor", minor},
                   {"resources",
                    {{"koordinator.sh/gpu-core", "100"},
                     {"koordinator.sh/gpu-memory", "16Gi"},
                     {"koordinator.sh/gpu-memory-ratio", "100"}}}});
  }
  FakePod holder("ns/holder");
  holder.request("nvidia.com/gpu", 4).annotation(kAllocated, Json{{"gpu", all}}.dump());
  holder.on_node("node-1");
  plugin_.pod(holder);
  EXPECT_EQ(asks("nvidia.com/gpu.shared", 1), kRefused);
  Json broken = object_;
  broken["spec"]["devices"] = Json::object();
  plugin_.device("node-1", broken);
  EXPECT_EQ(asks("nvidia.com/gpu.shared", 1), kRefused);
  plugin_.pod(holder, PLIMSOLL_POD_REMOVED);
  EXPECT_EQ(asks("nvidia.com/gpu.shared", 1), "ok");
}

// The device plugin of some vendors wants its own name beside Koordinator's.
TEST_F(Strangers, TwoNamesForOneShareAreOneShare) {
  const std::map<std::string, int64_t> tenth = {{"koordinator.sh/gpu.shared", 1},
                                                {"koordinator.sh/gpu-memory", int64_t{1} << 30},
                                                {"koordinator.sh/gpu-core", 10},
                                                {"metax-tech.com/sgpu", 1}};
  for (int i = 0; i < 40; ++i) {
    FakePod pod("ns/part-" + std::to_string(i));
    for (const auto& [resource, amount] : tenth) pod.request(resource, amount);
    const std::string given = plugin_.place(pod, node_);
    ASSERT_THAT(given, HasSubstr("\"koordinator.sh/gpu-core\":\"10\"")) << i;
    pod.on_node("node-1").annotation(kAllocated, given);
    plugin_.pod(pod);
  }
  FakePod one_more("ns/one-more");
  for (const auto& [resource, amount] : tenth) one_more.request(resource, amount);
  EXPECT_NE(plugin_.filter_once(one_more, node_), "ok");
}

TEST_F(Strangers, NamesInTwoContainersAreTwoDevices) {
  FakePod pod("ns/two");
  pod.request("koordinator.sh/gpu", 100).request("metax-tech.com/sgpu", 1).on_node("node-1");
  pod.annotation(kAllocated, R"({"gpu":[{"minor":0}]})");
  plugin_.pod(pod);
  EXPECT_EQ(whole_left(), 3) << "both names in one container";
  with_containers(plugin_, pod, {{{"koordinator.sh/gpu", 100}}, {{"metax-tech.com/sgpu", 1}}});
  EXPECT_EQ(whole_left(), 2);
  plugin_.pod(pod, PLIMSOLL_POD_REMOVED);
  EXPECT_EQ(whole_left(), 4);
}

TEST_F(Strangers, FourSharedAndFourWholePodsDoNotGetTheSameFour) {
  for (int i = 0; i < 4; ++i)
    on_node("shared-" + std::to_string(i), {{"nvidia.com/gpu.shared", 1}});
  EXPECT_EQ(asks("nvidia.com/gpu", 1), kRefused);
  EXPECT_EQ(asks("koordinator.sh/gpu", 1), kRefused);
  EXPECT_EQ(asks("nvidia.com/gpu.shared", 1), "ok") << "they share what they have";
}

TEST_F(Strangers, WholePodsFirst) {
  FakePod whole("ns/whole");
  whole.request("nvidia.com/gpu", 3);
  EXPECT_THAT(plugin_.place(whole, node_), HasSubstr("\"minor\":2"));
  EXPECT_EQ(asks("nvidia.com/gpu.shared", 1), "ok") << "one is left";
  EXPECT_EQ(asks("nvidia.com/gpu.shared", 2), kRefused);
  EXPECT_EQ(asks("tencent.com/vcuda-core", 30), kRefused) << "it may use any";
  FakePod shared("ns/shared");
  shared.request("nvidia.com/gpu.shared", 1);
  EXPECT_EQ(plugin_.place(shared, node_), "none") << "nothing by minor";
  EXPECT_EQ(asks("nvidia.com/gpu.shared", 1), kRefused) << "promised before it is seen";
  EXPECT_EQ(asks("nvidia.com/gpu", 1), kRefused);
  plugin_.unreserve(shared, "node-1");
  EXPECT_EQ(asks("nvidia.com/gpu", 1), "ok");
}

TEST_F(Strangers, ClaimsMayBeForAnyDevice) {
  FakePod& pod = on_node("claims", {{"cpu", 1}});
  EXPECT_EQ(whole_left(), 4);
  with_claim_of(plugin_, pod);
  EXPECT_EQ(whole_left(), 0);
  FakePod asks("ns/asks");
  asks.request("nvidia.com/gpu", 1);
  const std::string text = plugin_.explain(asks, node_);
  EXPECT_THAT(text, HasSubstr("minor 0: counts as used: a pod may use any of them under another "
                              "name"));
  EXPECT_THAT(text, HasSubstr("pod ns/claims does not say which devices it has, all gpu devices "
                              "count as used"));
  plugin_.pod(pod, PLIMSOLL_POD_REMOVED);
  EXPECT_EQ(whole_left(), 4);
}

TEST_F(Strangers, TheKubeletsCheckpointNamesWhatTheyHave) {
  FakePod& a = on_node("a", {{"nvidia.com/gpu.shared", 1}});
  FakePod& b = on_node("b", {{"nvidia.com/gpu.shared", 1}});
  EXPECT_EQ(whole_left(), 2);
  object_["metadata"]["annotations"] = {
      {"node.koordinator.sh/devices-checkpoints",
       R"([{"podUID":"uid-a","deviceIDs":["GPU-0::3"]},{"podUID":"uid-b","deviceIDs":["GPU-0::1"]}])"}};
  plugin_.device("node-1", object_);
  EXPECT_EQ(whole_left(), 3) << "both share one";
  plugin_.pod(a, PLIMSOLL_POD_REMOVED);
  EXPECT_EQ(whole_left(), 3);
  plugin_.pod(b, PLIMSOLL_POD_REMOVED);
  EXPECT_EQ(whole_left(), 4);
}

TEST_F(Strangers, TheCheckpointAlsoNamesWhatThoseHaveThatWereBoundHere) {
  FakePod shared("ns/shared");
  shared.request("nvidia.com/gpu.shared", 2);
  EXPECT_EQ(plugin_.place(shared, node_), "none");
  shared.on_node("node-1");
  plugin_.pod(shared);
  EXPECT_EQ(whole_left(), 2);
  object_["metadata"]["annotations"] = {
      {"node.koordinator.sh/devices-checkpoints",
       R"([{"podUID":"uid-shared","deviceIDs":["GPU-0::3","GPU-1::0"]}])"}};
  plugin_.device("node-1", object_);
  EXPECT_EQ(whole_left(), 2);
  FakePod pod("ns/asks");
  pod.request("nvidia.com/gpu", 2);
  EXPECT_THAT(plugin_.place(pod, node_), AllOf(HasSubstr("\"minor\":2"), HasSubstr("\"minor\":3")));
}

TEST_F(Strangers, APodThatGoesGivesBackWhatItHeld) {
  FakePod& stranger = on_node("stranger", {{"nvidia.com/gpumem", 3000}});
  FakePod pod("ns/asks");
  pod.request("nvidia.com/gpu", 4);
  plimsoll_event event{};
  event.size = sizeof event;
  event.resource = sdk::str("AssignedPod");
  event.actions = PLIMSOLL_ACTION_DELETE;
  event.old_pod = &stranger.get();
  plugin_.pod(stranger, PLIMSOLL_POD_REMOVED);
  EXPECT_EQ(plugin_.hint(pod, event), PLIMSOLL_HINT_QUEUE);
}

TEST(StrangerArgs, ThePatternsAreThoseOfTheProfile) {
  FakeHost host;
  FakeNode node("node-1", 2);
  host.add(node);
  Instance plugin(host, R"({"deviceTypes":[{"name":"gpu","sameHardware":
    {"devices":["example.com/slice-*"],"amounts":["example.com/*-bytes"]}}]})");
  ASSERT_TRUE(plugin.made()) << host.error;
  plugin.node(node);
  plugin.device("node-1",
                test::device_object("node-1", {test::gpu(0, "1Gi"), test::gpu(1, "1Gi")}));
  const auto left = [&](const char* resource) {
    FakePod stranger("ns/stranger");
    stranger.request(resource, 1).on_node("node-1");
    with_claim_of(plugin, stranger);
    int count = 2;
    for (; count > 0; --count) {
      FakePod pod("ns/asks");
      pod.request("nvidia.com/gpu", count);
      if (plugin.filter_once(pod, node) == "ok") break;
    }
    plugin.pod(stranger, PLIMSOLL_POD_REMOVED);
    return count;
  };
  EXPECT_EQ(left("example.com/slice-4"), 1);
  EXPECT_EQ(left("example.com/hbm-bytes"), 0);
  EXPECT_EQ(left("example.com/sliced"), 2);
  EXPECT_EQ(left("nvidia.com/gpu.shared"), 2) << "the profile's take the place of the others";
}

TEST(StrangerArgs, NodesWithoutADeviceObjectAreTheKubelets) {
  FakeHost host;
  FakeNode node("node-1", 2);
  host.add(node);
  Instance plugin(host);
  plugin.node(node);
  FakePod shared("ns/shared");
  shared.request("nvidia.com/gpu.shared", 1).annotation(kAllocated, R"({"gpu":[{"minor":1}]})");
  EXPECT_EQ(plugin.place(shared, node), "{}") << "what its author wrote there is not so";
  plugin.device("node-1",
                test::device_object("node-1", {test::gpu(0, "1Gi"), test::gpu(1, "1Gi")}));
  FakePod pod("ns/asks");
  pod.request("nvidia.com/gpu", 2);
  EXPECT_EQ(plugin.filter_once(pod, node), kRefused) << "promised before there was an object";
}

}  // namespace
}  // namespace plimsoll::devices

// Preemption as the scheduler does it with AddPod and RemovePod: all pods of lower priority are
// taken away, then as many as possible put back, the most important first. What is left to evict
// must be the right set: one that yields a legal partition, a whole card, a virtual function.

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/plugins/nodedevice/plugin_instance.hpp"

namespace plimsoll::devices {
namespace {

using sdk::FakeCycle;
using sdk::FakeHost;
using sdk::FakeNode;
using sdk::FakePod;
using test::Instance;
using test::Json;
using test::kAllocated;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PreemptionOfDevices : public ::testing::Test {
 protected:
  PreemptionOfDevices() {
    host_.add(node_);
    plugin_.node(node_);
  }

  // Bound by the plugin.
  FakePod& placed(const std::string& name, const char* resource, int64_t amount, int priority,
                  const char* hint = nullptr) {
    auto& pod = pods_.emplace_back(std::make_unique<FakePod>("ns/" + name));
    pod->priority(priority).request(resource, amount);
    if (hint != nullptr) pod->annotation("scheduling.koordinator.sh/device-allocate-hint", hint);
    const std::string annotation = plugin_.place(*pod, node_);
    EXPECT_THAT(annotation, HasSubstr("minor")) << name;
    pod->annotation(kAllocated, annotation).on_node("node-1");
    plugin_.pod(*pod);
    return *pod;
  }

  static int minor_of(FakePod& pod) {
    return Json::parse(*sdk::Pod(&pod.get()).annotation(kAllocated)).front()[0]["minor"];
  }

  // Kubernetes: SelectVictimsOnNode. The names of the victims, or {"none"} if nothing helps.
  std::vector<std::string> victims(FakePod& preemptor) {
    FakeCycle cycle;
    EXPECT_EQ(plugin_.pre_filter(cycle, preemptor), "ok");
    EXPECT_NE(plugin_.filter(cycle, preemptor, node_), "ok") << "there is no need";
    std::vector<FakePod*> lower;
    for (const auto& pod : pods_)
      if (pod->get().priority < preemptor.get().priority) lower.push_back(pod.get());
    for (FakePod* pod : lower) plugin_.what_if(cycle, preemptor, *pod, node_, false);
    if (plugin_.filter(cycle, preemptor, node_) != "ok") return {"none"};
    std::stable_sort(lower.begin(), lower.end(),
                     [](FakePod* a, FakePod* b) { return a->get().priority > b->get().priority; });
    std::vector<std::string> names;
    for (FakePod* pod : lower) {
      plugin_.what_if(cycle, preemptor, *pod, node_, true);
      if (plugin_.filter(cycle, preemptor, node_) == "ok") continue;
      plugin_.what_if(cycle, preemptor, *pod, node_, false);
      names.emplace_back(sdk::view(pod->get().meta.name));
    }
    EXPECT_EQ(plugin_.filter(cycle, preemptor, node_), "ok");
    std::sort(names.begin(), names.end());
    return names;
  }
  // Evicts them, and places the pod; its annotation.
  Json carried_out(FakePod& preemptor, const std::vector<std::string>& names) {
    for (const auto& pod : pods_)
      if (std::count(names.begin(), names.end(), sdk::view(pod->get().meta.name)) != 0)
        plugin_.pod(*pod, PLIMSOLL_POD_REMOVED);
    return Json::parse(plugin_.place(preemptor, node_), nullptr, false);
  }

  FakeHost host_;
  FakeNode node_{"node-1", 2};
  Instance plugin_{host_};
  std::vector<std::unique_ptr<FakePod>> pods_;
};

// Pairs of cards under Honor. The two pods of lowest priority sit in different pairs: evicting them
// would leave two cards that may not be used together.
TEST_F(PreemptionOfDevices, OnlyASetThatIsAPartitionHelps) {
  std::vector<Json> cards;
  for (int i = 0; i < 4; ++i) cards.push_back(test::gpu(i, "16Gi", 0, "pci0"));
  Json object = test::device_object("node-1", cards);
  object["metadata"]["labels"]["node.koordinator.sh/gpu-partition-policy"] = "Honor";
  object["metadata"]["annotations"]["scheduling.koordinator.sh/gpu-partitions"] =
      R"({"1":[{"minors":[0]},{"minors":[1]},{"minors":[2]},{"minors":[3]}],
          "2":[{"minors":[0,1]},{"minors":[2,3]}]})";
  plugin_.device("node-1", object);
  std::map<int, std::string> by_minor;
  for (int i = 0; i < 4; ++i) {
    // Two of each pair: one of priority 1, one of priority 50 (the second of a pair comes second).
    const std::string name = "p" + std::to_string(i);
    by_minor[minor_of(placed(name, "nvidia.com/gpu", 1, i % 2 == 0 ? 1 : 50))] = name;
  }
  ASSERT_EQ(by_minor.size(), 4U);
  FakePod preemptor("ns/preemptor");
  preemptor.priority(100).request("nvidia.com/gpu", 2);
  const std::vector<std::string> evicted = victims(preemptor);
  std::vector<std::string> low{by_minor[0], by_minor[1]};
  std::vector<std::string> high{by_minor[2], by_minor[3]};
  for (auto* pair : {&low, &high}) std::sort(pair->begin(), pair->end());
  EXPECT_TRUE(evicted == low || evicted == high) << testing::PrintToString(evicted);
  const Json given = carried_out(preemptor, evicted);
  ASSERT_TRUE(given.is_object()) << given;
  const int first = given["gpu"][0]["minor"];
  EXPECT_EQ(given["gpu"][1]["minor"], first + 1);
  EXPECT_EQ(first % 2, 0) << given;
}

TEST_F(PreemptionOfDevices, NoPartitionNoEviction) {
  std::vector<Json> cards;
  for (int i = 0; i < 4; ++i) cards.push_back(test::gpu(i, "16Gi", 0, "pci0"));
  cards[1]["health"] = false;
  Json object = test::device_object("node-1", cards);
  object["metadata"]["labels"]["node.koordinator.sh/gpu-partition-policy"] = "Honor";
  object["metadata"]["annotations"]["scheduling.koordinator.sh/gpu-partitions"] =
      R"({"1":[{"minors":[0]},{"minors":[2]},{"minors":[3]}],"2":[{"minors":[0,1]},{"minors":[2,3]}]})";
  plugin_.device("node-1", object);
  placed("a", "nvidia.com/gpu", 1, 1);
  placed("b", "nvidia.com/gpu", 1, 1);
  placed("important", "nvidia.com/gpu", 1, 1000);
  FakePod preemptor("ns/preemptor");
  preemptor.priority(100).request("nvidia.com/gpu", 2);
  // One pair has a card that failed, in the other one sits a pod that may not be evicted; unless
  // that one sits beside the failed card.
  const bool beside_failed = minor_of(*pods_[2]) == 0;
  EXPECT_THAT(victims(preemptor),
              testing::Conditional(beside_failed, ElementsAre("a", "b"), ElementsAre("none")));
}

TEST_F(PreemptionOfDevices, SharesOfOneCard) {
  plugin_.device("node-1",
                 test::device_object("node-1", {test::gpu(0, "16Gi"), test::gpu(1, "16Gi")}));
  FakePod& a = placed("a", "koordinator.sh/gpu", 60, 10);
  FakePod& b = placed("b", "koordinator.sh/gpu", 70, 20);
  FakePod& c = placed("c", "koordinator.sh/gpu", 30, 30);
  const bool with_a = minor_of(c) == minor_of(a);
  ASSERT_NE(minor_of(a), minor_of(b));
  FakePod whole("ns/whole");
  whole.priority(100).request("nvidia.com/gpu", 1);
  // c, of higher priority, shares a card: the other card costs one victim.
  const std::vector<std::string> evicted = victims(whole);
  EXPECT_THAT(evicted, testing::Conditional(with_a, ElementsAre("b"), ElementsAre("a")));
  EXPECT_TRUE(carried_out(whole, evicted).is_object());
  FakePod half("ns/half");
  half.priority(100).request("koordinator.sh/gpu", 50);
  EXPECT_NE(plugin_.place(half, node_).find("Insufficient"), std::string::npos);
}

TEST_F(PreemptionOfDevices, AVirtualFunction) {
  constexpr const char* kVf = R"({"rdma":{"vfSelector":{}}})";
  plugin_.device("node-1", test::device_object("node-1", {test::rdma(1, "0000:1f:00", 0, "a", 1),
                                                          test::rdma(2, "0000:3f:00", 0, "b", 1)}));
  placed("plain", "koordinator.sh/rdma", 10, 1);
  FakePod& vf = placed("vf", "koordinator.sh/rdma", 10, 20, kVf);
  placed("other", "koordinator.sh/rdma", 10, 1000, kVf);
  FakePod asking("ns/asking");
  asking.priority(100)
      .request("koordinator.sh/rdma", 10)
      .annotation("scheduling.koordinator.sh/device-allocate-hint", kVf);
  const std::string bus = Json::parse(
      *sdk::Pod(&vf.get()).annotation(kAllocated))["rdma"][0]["extension"]["vfs"][0]["busID"];
  const std::vector<std::string> evicted = victims(asking);
  EXPECT_THAT(evicted, ElementsAre("vf")) << "the one without a function has nothing to give";
  EXPECT_EQ(carried_out(asking, evicted)["rdma"][0]["extension"]["vfs"][0]["busID"], bus);
}

TEST_F(PreemptionOfDevices, WhatFailedOrIsGoneIsNotWorthAnEviction) {
  Json object = test::device_object("node-1", {test::gpu(0, "16Gi"), test::gpu(1, "16Gi")});
  plugin_.device("node-1", object);
  placed("a", "nvidia.com/gpu", 1, 1);
  placed("b", "nvidia.com/gpu", 1, 2);
  object["spec"]["devices"][0]["health"] = false;
  plugin_.device("node-1", object);
  FakePod one("ns/one");
  one.priority(100).request("nvidia.com/gpu", 1);
  EXPECT_THAT(victims(one), ElementsAre(minor_of(*pods_[0]) == 1 ? "a" : "b"));
  FakePod two("ns/two");
  two.priority(100).request("nvidia.com/gpu", 2);
  EXPECT_THAT(victims(two), ElementsAre("none"));
}

}  // namespace
}  // namespace plimsoll::devices

// Links as the plugin hears of them: from Device objects and Node objects, and what it says of
// them.

#include <gmock/gmock.h>

#include "bench/links/machines.hpp"
#include "tests/plugins/nodedevice/plugin_instance.hpp"

namespace plimsoll::devices {
namespace {

using links_bench::rtx8000;
using links_bench::Told;
using sdk::FakeHost;
using sdk::FakeNode;
using sdk::FakePod;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kKey = "plimsoll.io/device-links";

class DeviceLinks : public ::testing::Test {
 protected:
  DeviceLinks() {
    host_.add(node_);
    plugin_.node(node_);
  }
  // The minors that a pod of two cards gets; it does not keep them.
  std::vector<int> two_cards() {
    FakePod pod("ns/p" + std::to_string(++pods_));
    pod.request("nvidia.com/gpu", 2);
    const std::string given = plugin_.place(pod, node_);
    plugin_.unreserve(pod, "node-1");
    std::vector<int> minors;
    const test::Json read = test::Json::parse(given, nullptr, false);
    EXPECT_FALSE(read.is_discarded()) << given;
    if (read.is_discarded()) return minors;
    for (const test::Json& card : read["gpu"]) minors.push_back(card["minor"]);
    return minors;
  }
  void annotate(const std::string& links) {
    node_.annotation(kKey, links);
    plugin_.node(node_, PLIMSOLL_NODE_CHANGED);
  }

  FakeHost host_;
  FakeNode node_{"node-1", 2};
  test::Instance plugin_{host_};
  int pods_ = 0;
};

TEST_F(DeviceLinks, TheNodeAnnotationCountsUntilTheDeviceObjectHasItsOwn) {
  plugin_.device("node-1", links_bench::device_object(rtx8000(), Told::kTopology));
  EXPECT_THAT(two_cards(), ElementsAre(0, 1));
  annotate(links_bench::links_annotation(rtx8000()));
  EXPECT_THAT(two_cards(), ElementsAre(0, 3));
  links_bench::Machine other = rtx8000();
  other.lanes = {{1, 3, 1}};
  plugin_.device("node-1", links_bench::device_object(other, Told::kLinks));
  EXPECT_THAT(two_cards(), ElementsAre(1, 3));
  plugin_.device("node-1", links_bench::device_object(rtx8000(), Told::kTopology));
  EXPECT_THAT(two_cards(), ElementsAre(0, 3));
  annotate("{}");
  EXPECT_THAT(two_cards(), ElementsAre(0, 1));
}

TEST_F(DeviceLinks, AnUnreadableNodeAnnotationIsSaidOnce) {
  plugin_.device("node-1", links_bench::device_object(rtx8000(), Told::kTopology));
  annotate(R"({"gpu":[{"minors":[0]}]})");
  const auto complaint = HasSubstr(
      "Node node-1: annotation plimsoll.io/device-links: gpu[0].minors: must be at least two; that "
      "part is ignored");
  EXPECT_THAT(host_.logs, ElementsAre(complaint));
  EXPECT_THAT(host_.metrics["device_problems_total{Node,links_ignored}"], ElementsAre(1));
  plugin_.node(node_, PLIMSOLL_NODE_CHANGED);
  EXPECT_EQ(host_.logs.size(), 1U);
  EXPECT_THAT(two_cards(), ElementsAre(0, 1));
  FakePod pod("ns/p");
  pod.request("nvidia.com/gpu", 2);
  EXPECT_THAT(plugin_.explain(pod, node_),
              HasSubstr("of the Node object is ignored: annotation plimsoll.io/device-links"));
  annotate(links_bench::links_annotation(rtx8000()));
  EXPECT_THAT(plugin_.explain(pod, node_), Not(HasSubstr("ignored")));
}

TEST_F(DeviceLinks, ExplainSaysWhyTheseCards) {
  plugin_.device("node-1", links_bench::device_object(rtx8000(), Told::kLinks));
  FakePod pod("ns/p");
  pod.request("nvidia.com/gpu", 2);
  EXPECT_THAT(plugin_.explain(pod, node_),
              HasSubstr("gpu 0 3: the fastest ring through them has 50Gi/s"));
}

}  // namespace
}  // namespace plimsoll::devices

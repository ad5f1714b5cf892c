#include "lab/simulate/placements.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/line/table.hpp"

namespace plimsoll::cli {
namespace {

using testing::ElementsAre;

TEST(PlacementOf, ReadsZonesDevicesAndReasons) {
  const auto pod = nlohmann::json::parse(R"({
    "metadata": {"name": "p", "namespace": "ns", "annotations": {
      "topology.plimsoll.io/zones": "{\"a\":{\"cpu\":[1],\"memory\":[1,2]},\"b\":{}}",
      "scheduling.koordinator.sh/device-allocated": "{\"gpu\":[{\"minor\":3},{\"minor\":4}],\"rdma\":[{\"minor\":0}]}"}},
    "spec": {"nodeName": "n"}, "status": {"phase": "Running"}})");
  const Placement placement = placement_of(pod);
  EXPECT_EQ(placement.pod, "ns/p");
  EXPECT_EQ(placement.node, "n");
  EXPECT_EQ(zones_text(placement), "a:1,2");
  EXPECT_EQ(devices_text(placement), "gpu 3,4  rdma 0");
}

TEST(PlacementOf, OddAnnotationsAreLeftOut) {
  for (const char* odd :
       {"", "no json", "[]", "{\"a\":7}", "{\"gpu\":[3]}", "{\"gpu\":{\"minor\":\"x\"}}"}) {
    nlohmann::json pod{{"metadata", {{"name", "p"}, {"namespace", "ns"}}}};
    pod["metadata"]["annotations"] = {{"topology.plimsoll.io/zones", odd},
                                      {"scheduling.koordinator.sh/device-allocated", odd}};
    const Placement placement = placement_of(pod);
    EXPECT_EQ(zones_text(placement), "-") << odd;
    EXPECT_EQ(devices_text(placement), "-") << odd;
  }
}

TEST(MessageParts, OneReasonEach) {
  EXPECT_THAT(
      message_parts("0/12 nodes are available: 10 Insufficient cpu, 2 node(s) had a, b or c."),
      ElementsAre("0/12 nodes are available", "10 Insufficient cpu", "2 node(s) had a, b or c"));
  EXPECT_THAT(message_parts("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had a. "
                            "preemption: 0/2 nodes are available: 1 b, 1 c."),
              ElementsAre("0/2 nodes are available", "1 Insufficient cpu", "1 node(s) had a",
                          "preemption: 0/2 nodes are available: 1 b, 1 c"));
  EXPECT_THAT(message_parts("0/3 nodes are available: pod has no seat."),
              ElementsAre("0/3 nodes are available", "pod has no seat"));
  EXPECT_THAT(message_parts("disk is full"), ElementsAre("disk is full"));
  EXPECT_THAT(message_parts(""), ElementsAre(""));
}

TEST(Table, ColumnsAreAsWideAsTheirWidestText) {
  Table table({"A", "LONG", "C"});
  table.add({"aaa", "b", ""});
  EXPECT_EQ(table.text(), "A    LONG  C\naaa  b\n");
}

}  // namespace
}  // namespace plimsoll::cli

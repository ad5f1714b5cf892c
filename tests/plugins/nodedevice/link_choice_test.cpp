// Links decide between sets of devices, and only where sets differ and the pod takes whole devices.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/links/machines.hpp"
#include "plugins/nodedevice/allocation/explain.hpp"
#include "tests/plugins/nodedevice/device_fixtures.hpp"

namespace plimsoll::devices {
namespace {

using links_bench::dgx1;
using links_bench::links_annotation;
using links_bench::rtx8000;
using links_bench::Told;
using test::demand_of;
using test::Json;
using test::outcome;
using testing::HasSubstr;

constexpr const char* kPartitions = "scheduling.koordinator.sh/gpu-partitions";

NodeState node_of(const links_bench::Machine& machine, Told told = Told::kLinks) {
  return test::node_of(links_bench::device_object(machine, told));
}

PodDemand gpus(int64_t count) {
  return demand_of({{"nvidia.com/gpu", count}});
}

void take(NodeState& node, std::initializer_list<int> minors) {
  for (const int minor : minors) node.add({test::whole_gpu(minor, int64_t{16} << 30)});
}

std::string pcie_of(const Json& object, int minor) {
  for (const Json& device : object["spec"]["devices"]) {
    if (device["minor"] == minor) return device["topology"]["pcieID"];
  }
  return "";
}

void annotate(Json& object, const char* key, const std::string& text) {
  object["metadata"]["annotations"][key] = text;
}

TEST(LinkChoice, TakesTheFastestRing) {
  const NodeState node = node_of(dgx1());
  EXPECT_EQ(outcome(node, gpus(2)), "gpu 2 3") << "two lanes, where 0 and 1 have one";
  EXPECT_EQ(outcome(node, gpus(4)), "gpu 0 1 2 3");
  EXPECT_EQ(outcome(node, gpus(8)), "gpu 0 1 2 3 4 5 6 7");
  EXPECT_EQ(outcome(node_of(dgx1(), Told::kTopology), gpus(2)), "gpu 0 1");
}

TEST(LinkChoice, TakesBridgedCardsAcrossZones) {
  NodeState node = node_of(rtx8000());
  EXPECT_EQ(outcome(node, gpus(2)), "gpu 0 3");
  take(node, {0, 3});
  EXPECT_EQ(outcome(node, gpus(2)), "gpu 1 2");
}

TEST(LinkChoice, LeavesTheBestRestToOthers) {
  NodeState node = node_of(rtx8000());
  take(node, {0});
  EXPECT_EQ(outcome(node, gpus(1)), "gpu 3") << "the other half of a bridge that is lost anyway";
  NodeState without = node_of(rtx8000(), Told::kTopology);
  take(without, {0});
  EXPECT_EQ(outcome(without, gpus(1)), "gpu 1");
}

TEST(LinkChoice, SharesAreGivenAsWithoutLinks) {
  NodeState node = node_of(rtx8000());
  take(node, {0});
  const PodDemand half = demand_of({{"koordinator.sh/gpu", 50}});
  EXPECT_EQ(outcome(node, half), "gpu 1");
}

TEST(LinkChoice, EqualLinksChangeNothing) {
  Json object = links_bench::device_object(dgx1(), Told::kTopology);
  annotate(object, kLinksAnnotation,
           R"({"gpu":[{"minors":[7,6,5,4,3,2,1,0],"type":"NVSwitch","bandwidth":"450Gi"}]})");
  NodeState node = test::node_of(object);
  take(node, {5});
  EXPECT_EQ(outcome(node, gpus(1)), "gpu 4");
  EXPECT_EQ(outcome(node, gpus(2)), "gpu 6 7");
  EXPECT_EQ(outcome(node, gpus(3)), "gpu 4 6 7");
}

TEST(LinkChoice, BandwidthCountsForMoreThanLanes) {
  Json object = links_bench::device_object(rtx8000(), Told::kTopology);
  annotate(object, kLinksAnnotation,
           R"({"gpu":[{"minors":[0,1],"lanes":3},{"minors":[2,3],"bandwidth":"76Gi"}]})");
  EXPECT_EQ(outcome(test::node_of(object), gpus(2)), "gpu 2 3") << "three lanes are 75Gi";
}

TEST(LinkChoice, StaysWithinTheRequiredScope) {
  const auto within = [](int64_t count, const std::string& scope) {
    return demand_of({{"nvidia.com/gpu", count}},
                     R"({"gpu":{"requiredTopologyScope":")" + scope + R"("}})");
  };
  NodeState node = node_of(rtx8000());
  EXPECT_EQ(outcome(node, within(2, "NUMANode")), "gpu 0 1");
  EXPECT_EQ(outcome(node, within(2, "PCIe")), "Insufficient Topology Scoped GPU Devices");
  EXPECT_EQ(outcome(node, within(1, "Device")), "Insufficient Topology Scoped GPU Devices");
  NodeState other = node_of(dgx1());
  take(other, {1, 2});
  EXPECT_EQ(outcome(other, within(2, "PCIe")), "gpu 6 7") << "two lanes, which 4 and 5 have not";
}

TEST(LinkChoice, OnlyPartitionsAreGivenWhereTheyMustBe) {
  Json object = links_bench::device_object(dgx1(), Told::kLinks);
  annotate(object, kPartitions,
           R"({"2":[{"minors":[0,1]},{"minors":[2,3]},{"minors":[4,5]},{"minors":[6,7]}],
               "4":[{"minors":[0,1,2,3]},{"minors":[4,5,6,7]}]})");
  object["metadata"]["labels"]["node.koordinator.sh/gpu-partition-policy"] = "Honor";
  NodeState node = test::node_of(object);
  EXPECT_EQ(outcome(node, gpus(2)), "gpu 2 3") << "two lanes, where 0 and 1 have one";
  EXPECT_EQ(outcome(node, gpus(3)), "node(s) Unsupported number of GPU requests (unresolvable)");
  take(node, {0});
  EXPECT_EQ(outcome(node, gpus(2)), "gpu 2 3");
  take(node, {2});
  EXPECT_EQ(outcome(node, gpus(2)), "gpu 6 7");
}

TEST(LinkChoice, AllocationScoresGoBeforeLinks) {
  Json object = links_bench::device_object(dgx1(), Told::kLinks);
  annotate(object, kPartitions,
           R"({"2":[{"minors":[0,1],"allocationScore":2},{"minors":[2,3],"allocationScore":1}]})");
  EXPECT_EQ(outcome(test::node_of(object), gpus(2)), "gpu 0 1");
}

TEST(LinkChoice, PartitionsTellOfLinks) {
  Json object = links_bench::device_object(rtx8000(), Told::kTopology);
  annotate(object, kPartitions,
           R"({"2":[{"minors":[0,3],"ringBusBandwidth":"50Gi"},
                    {"minors":[1,2],"ringBusBandwidth":"50Gi"}]})");
  NodeState node = test::node_of(object);
  EXPECT_EQ(outcome(node, gpus(3)), "gpu 0 1 2") << "with one of the pairs";
  take(node, {0});
  EXPECT_EQ(outcome(node, gpus(1)), "gpu 3");
  annotate(object, kPartitions,
           R"({"2":[{"minors":[0,3],"ringBusBandwidth":"50Gi"}],
               "4":[{"minors":[0,1,2,3],"ringBusBandwidth":"100Gi"}]})");
  NodeState contradicted = test::node_of(object);
  take(contradicted, {0});
  EXPECT_EQ(outcome(contradicted, gpus(1)), "gpu 1")
      << "a set cannot be faster than a part of it: nothing is known of links";
}

TEST(LinkChoice, JointAllocationTakesTheBestLinkedPlaceThatHasAll) {
  Json object = links_bench::device_object(dgx1(), Told::kLinks);
  for (const int at : {1, 2, 3})
    object["spec"]["devices"].push_back(
        test::rdma(at, "0000:0" + std::to_string(at) + ":00", at / 2, pcie_of(object, 2 * at), 0));
  const PodDemand demand =
      demand_of({{"nvidia.com/gpu", 2}, {"koordinator.sh/rdma", 1}}, "",
                R"({"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"})");
  EXPECT_EQ(outcome(test::node_of(object), demand), "gpu 2 3; rdma 1")
      << "0 and 3 are as fast, but switch 0 has no NIC";
}

TEST(LinkChoice, NodeAnnotationCountsIfTheDeviceObjectHasNone) {
  const auto table = parse_links(test::types(), links_annotation(rtx8000()));
  ASSERT_TRUE(table.has_value()) << table.error();
  NodeState node = node_of(rtx8000(), Told::kTopology);
  node.set_node_links(std::make_shared<const LinkTable>(*table));
  EXPECT_EQ(outcome(node, gpus(2)), "gpu 0 3");
  Json object = links_bench::device_object(rtx8000(), Told::kTopology);
  annotate(object, kLinksAnnotation, R"({"gpu":[{"minors":[1,3]}]})");
  auto devices = parse_device_object(test::types(), object.dump());
  ASSERT_TRUE(devices.has_value());
  node.set_object(std::make_shared<const NodeDevices>(*std::move(devices)));
  EXPECT_EQ(outcome(node, gpus(2)), "gpu 1 3");
  node.set_object(std::make_shared<const NodeDevices>(*parse_device_object(
      test::types(), links_bench::device_object(rtx8000(), Told::kTopology).dump())));
  EXPECT_EQ(outcome(node, gpus(2)), "gpu 0 3") << "it is still there";
}

TEST(LinkChoice, MoreThanSixteenDevicesGrowFromEachOne) {
  links_bench::Machine machine{"", 20, 2, 10, {}};
  for (int i = 0; i + 1 < machine.cards; ++i) machine.lanes.emplace_back(i, i + 1, 1 + i % 4);
  NodeState node = node_of(machine);
  EXPECT_EQ(outcome(node, gpus(2)), "gpu 3 4") << "four lanes";
  EXPECT_EQ(outcome(node, gpus(3)), "gpu 2 3 4") << "three and four";
  EXPECT_EQ(outcome(node, gpus(1)), "gpu 0") << "one lane";
  EXPECT_EQ(outcome(node, gpus(20)).substr(0, 10), "gpu 0 1 2 ");
}

TEST(LinkChoice, OtherTypesHaveLinksToo) {
  std::vector<Json> devices;
  for (int i = 0; i < 4; ++i)
    devices.push_back(test::rdma(i, "0000:0" + std::to_string(i), 0, "", 0));
  Json object = test::device_object("n", devices);
  annotate(object, kLinksAnnotation, R"({"rdma":[{"minors":[1,3]}]})");
  const NodeState node = test::node_of(object);
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/rdma", 200}})), "rdma 1 3");
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/rdma", 100}})), "rdma 0");
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/rdma", 50}})), "rdma 0") << "a share";
}

TEST(LinkChoice, UnreadableLinksAreNone) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "must be an object by device type"},
      {"{", "parse error"},
      {R"({"gpu":{}})", "gpu: must be a list"},
      {R"({"gpu":[1]})", "gpu[0]: must be an object"},
      {R"({"gpu":[{}]})", "gpu[0].minors: must be at least two"},
      {R"({"gpu":[{"minors":[1,1]}]})", "gpu[0].minors: 1 is listed twice"},
      {R"({"gpu":[{"minors":[0,-1]}]})", "gpu[0].minors[1]: must not be negative"},
      {R"({"gpu":[{"minors":[0,1],"lanes":0}]})", "gpu[0].lanes: must be from 1 to 1000"},
      {R"({"gpu":[{"minors":[0,1],"type":2}]})", "gpu[0].type: must be a string"},
      {R"({"gpu":[{"minors":[0,1],"bandwidth":"fast"}]})", "is not a quantity"},
  };
  for (const auto& [text, problem] : cases) {
    SCOPED_TRACE(text);
    Json object = links_bench::device_object(rtx8000(), Told::kTopology);
    annotate(object, kLinksAnnotation, text);
    auto devices = parse_device_object(test::types(), object.dump());
    ASSERT_TRUE(devices.has_value());
    ASSERT_EQ(devices->warnings.size(), 1U);
    EXPECT_THAT(devices->warnings[0], HasSubstr("annotation plimsoll.io/device-links: "));
    EXPECT_THAT(devices->warnings[0], HasSubstr(problem));
    NodeState node;
    node.set_object(std::make_shared<const NodeDevices>(*std::move(devices)));
    EXPECT_EQ(outcome(node, gpus(2)), "gpu 0 1");
  }
  EXPECT_TRUE(parse_links(test::types(), R"({"gpu":[{"minors":[0,90]}],"tpu":5})").has_value())
      << "devices and types that are not there are left out";
}

TEST(LinkChoice, ExplainsWhyThisSet) {
  const auto said = [](const NodeState& node, int64_t count) {
    Allocation chosen;
    EXPECT_TRUE(Allocator(test::types(), nullptr).allocate(node, {}, gpus(count), chosen).fits());
    return explain_links(test::types(), node, chosen);
  };
  EXPECT_EQ(said(node_of(dgx1()), 2),
            "gpu 2 3: the fastest ring through them has 50Gi/s, all their links 50Gi/s; to others "
            "they leave links of 350Gi/s\n");
  EXPECT_EQ(said(node_of(rtx8000()), 3),
            "gpu 0 1 2: no ring of links goes through them, all their links 50Gi/s; to others they "
            "leave links of 0/s\n");
  EXPECT_EQ(said(node_of(rtx8000()), 1), "gpu 0: to others they leave links of 50Gi/s\n");
  EXPECT_EQ(said(node_of(rtx8000(), Told::kTopology), 2), "");
}

}  // namespace
}  // namespace plimsoll::devices

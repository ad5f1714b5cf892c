#include "plugins/nodedevice/allocation/allocator.hpp"

#include <gtest/gtest.h>

#include "plugins/nodedevice/allocation/explain.hpp"
#include "tests/plugins/nodedevice/device_fixtures.hpp"

namespace plimsoll::devices {
namespace {

using test::Ask;
using test::demand_of;
using test::Json;
using test::outcome;

constexpr const char* kVf = R"({"rdma":{"vfSelector":{"matchLabels":{"type":"general"}}}})";
constexpr const char* kJoint = R"({"deviceTypes":["gpu","rdma"]})";

PodDemand gpus_with_nic(int64_t gpus) {
  return demand_of({{"nvidia.com/gpu", gpus}, {"koordinator.sh/rdma", 1}}, kVf, kJoint);
}

DeviceShare used_vf(int minor, const std::string& bus, int64_t amount = 1) {
  DeviceShare share = test::share("rdma", minor, {{"koordinator.sh/rdma", amount}});
  share.vfs.push_back({0, bus, {}});
  return share;
}

TEST(Allocator, JointAllocationFollowsTheGpus) {
  const NodeState node = test::node_of(test::fixture_a());
  EXPECT_EQ(outcome(node, gpus_with_nic(1)), "gpu 0; rdma 1(0000:1f:00.2)");
  EXPECT_EQ(outcome(node, gpus_with_nic(2)), "gpu 0 1; rdma 1(0000:1f:00.2)");
  EXPECT_EQ(outcome(node, gpus_with_nic(3)), "gpu 0 1 2; rdma 1(0000:1f:00.2) 2(0000:3f:00.2)");
}

constexpr const char* kSamePcie = R"({"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"})";

// The cards of PCIe id 0 come first, but its NIC is taken.
TEST(Allocator, JointAllocationGoesWhereAllTypesAre) {
  NodeState node = test::node_of(test::fixture_a());
  node.add({test::share("rdma", 1, {{"koordinator.sh/rdma", 100}})});
  const auto gpus = [](int64_t count, int64_t nics = 1) {
    return demand_of({{"nvidia.com/gpu", count}, {"koordinator.sh/rdma", nics}}, "", kSamePcie);
  };
  EXPECT_EQ(outcome(node, gpus(1)), "gpu 2; rdma 2");
  EXPECT_EQ(outcome(node, gpus(2)), "gpu 2 3; rdma 2");
  EXPECT_EQ(outcome(node, gpus(3)), "gpu 4 5 6; rdma 3 4") << "one zone rather than two";
  EXPECT_EQ(outcome(node, gpus(6)), "gpu 2 3 4 5 6 7; rdma 2 3 4");
  EXPECT_EQ(outcome(node, gpus(7)), "Insufficient rdma devices");
  EXPECT_EQ(outcome(node, gpus(2, 200)), "gpu 4 6; rdma 3 4") << "two NICs are at two PCIe ids";
  EXPECT_EQ(outcome(node, gpus(1, 200)), "node(s) Device Joint-Allocate rules violation");
  EXPECT_EQ(outcome(node, demand_of({{"nvidia.com/gpu", 2}, {"koordinator.sh/rdma", 200}},
                                    R"({"gpu":{"requiredTopologyScope":"PCIe"}})", kSamePcie)),
            "node(s) Device Joint-Allocate rules violation");
}

// The first card is at a place without a NIC; at the other id are cards of both zones.
TEST(Allocator, JointAllocationFindsAPlaceInOneZoneOfAnIdThatSeveralHave) {
  const NodeState node = test::node_of(test::device_object(
      "n", {test::gpu(0, "16Gi", 0, "0"), test::gpu(1, "16Gi", 1, "1"),
            test::gpu(2, "16Gi", 0, "1"), test::rdma(0, "0000:10:00", 0, "1", 0)}));
  for (const char* scope : {"NUMANode", "PCIe"}) {
    const std::string hint = R"({"gpu":{"requiredTopologyScope":")" + std::string(scope) + "\"}}";
    const auto gpus = [&](int64_t count) {
      return demand_of({{"nvidia.com/gpu", count}, {"koordinator.sh/rdma", 100}}, hint, kSamePcie);
    };
    EXPECT_EQ(outcome(node, gpus(1)), "gpu 2; rdma 0") << scope;
    EXPECT_EQ(outcome(node, gpus(2)), scope == std::string_view("PCIe")
                                          ? "Insufficient Topology Scoped GPU Devices"
                                          : "Insufficient rdma devices")
        << "they are in two zones, or at two ids";
  }
}

TEST(Allocator, JointAllocationKeepsToPartitions) {
  NodeState node = test::node_of(test::fixture_a());
  node.add({test::share("rdma", 1, {{"koordinator.sh/rdma", 100}})});
  const NodeLabels honor{"nvidia", "H800", "Honor"};
  const auto gpus = [](int64_t count) {
    return demand_of({{"nvidia.com/gpu", count}, {"koordinator.sh/rdma", 1}}, "", kSamePcie);
  };
  EXPECT_EQ(outcome(node, gpus(2), honor), "gpu 2 3; rdma 2");
  EXPECT_EQ(outcome(node, gpus(4), honor), "gpu 4 5 6 7; rdma 3 4");
  EXPECT_EQ(outcome(node, gpus(8), honor), "Insufficient rdma devices");
  EXPECT_EQ(outcome(node, gpus(3), honor),
            "node(s) Unsupported number of GPU requests (unresolvable)");
}

// All NICs are given wherever they are: they do not have to be where the cards are.
TEST(Allocator, WhatIsGivenInFullTakesNoPartInJointAllocation) {
  const NodeState node = test::node_of(test::fixture_a());
  EXPECT_EQ(outcome(node, demand_of({{"nvidia.com/gpu", 2}, {"koordinator.sh/rdma", 1}},
                                    R"({"rdma":{"allocateStrategy":"ApplyForAll"}})", kSamePcie)),
            "gpu 0 1; rdma 1 2 3 4");
}

TEST(Allocator, PacksIntoWhatIsInUse) {
  NodeState node = test::node_of(test::fixture_a());
  node.add({test::whole_gpu(5), used_vf(3, "0000:51:00.2")});
  EXPECT_EQ(outcome(node, gpus_with_nic(1)), "gpu 4; rdma 3(0000:51:00.3)");

  NodeState other = test::node_of(test::fixture_a());
  other.add({test::whole_gpu(5), used_vf(3, "0000:51:00.2", 100)});
  EXPECT_EQ(outcome(other, gpus_with_nic(2)), "gpu 6 7; rdma 4(0000:b8:00.2)");
}

TEST(Allocator, ANarrowScopeRefusesWhatDoesNotFitIntoIt) {
  NodeState node = test::node_of(test::fixture_a());
  const auto scoped = [&](int64_t count, const std::string& scope) {
    return outcome(node, demand_of({{"nvidia.com/gpu", count}},
                                   R"({"gpu":{"requiredTopologyScope":")" + scope + "\"}}"));
  };
  EXPECT_EQ(scoped(2, "PCIe"), "gpu 0 1");
  EXPECT_EQ(scoped(3, "PCIe"), "Insufficient Topology Scoped GPU Devices");
  EXPECT_EQ(scoped(4, "NUMANode"), "gpu 0 1 2 3");
  EXPECT_EQ(scoped(5, "NUMANode"), "Insufficient Topology Scoped GPU Devices");
  EXPECT_EQ(scoped(8, "Node"), "gpu 0 1 2 3 4 5 6 7");
  EXPECT_EQ(scoped(9, "Node"), "Insufficient Topology Scoped GPU Devices");
}

TEST(Allocator, MinorOrderWithoutTopology) {
  NodeState node = test::node_of(
      test::device_object("n", {test::gpu(0, "16Gi"), test::gpu(1, "16Gi"), test::gpu(2, "16Gi"),
                                test::gpu(3, "16Gi", -1, "", false)}));
  EXPECT_EQ(outcome(node, demand_of({{"nvidia.com/gpu", 2}})), "gpu 0 1");
  node.add({test::whole_gpu(0, int64_t{16} << 30)});
  EXPECT_EQ(outcome(node, demand_of({{"nvidia.com/gpu", 2}})), "gpu 1 2");
  EXPECT_EQ(outcome(node, demand_of({{"nvidia.com/gpu", 3}})), "Insufficient gpu devices");
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/rdma", 1}})),
            "Insufficient rdma devices (unresolvable)");
}

TEST(Allocator, FractionsCompleteEachOther) {
  NodeState node = test::node_of(test::device_object("n", {test::gpu(0, "16Gi")}));
  Allocation half;
  const Allocator allocator(test::types(), nullptr);
  const PodDemand demand = demand_of({{"koordinator.sh/gpu", 50}});
  ASSERT_TRUE(allocator.allocate(node, {}, demand, half).fits());
  EXPECT_EQ(half[0].amounts.get(1), int64_t{8} << 30) << "bytes follow from the ratio";
  node.add(half);
  EXPECT_EQ(outcome(node, demand), "gpu 0");
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/gpu", 51}})), "Insufficient gpu devices");
  node.add(half);
  EXPECT_EQ(outcome(node, demand), "Insufficient gpu devices");
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/gpu-memory", 1}})),
            "Insufficient gpu devices");
}

TEST(Allocator, SharesOfBytesNeverOvercommitACard) {
  NodeState node = test::node_of(test::device_object("n", {test::gpu(0, "15472384Ki")}));
  const Allocator allocator(test::types(), nullptr);
  const PodDemand by_bytes = demand_of({{"koordinator.sh/gpu-memory", 1825361101}});
  for (int i = 0; i < 8; ++i) {
    Allocation given;
    ASSERT_TRUE(allocator.allocate(node, {}, by_bytes, given).fits()) << i;
    node.add(given);
  }
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/gpu-memory-ratio", 12}})),
            "Insufficient gpu devices");
}

// A third of a card is 34 percent when rounded up; three of them are a card nevertheless.
TEST(Allocator, BytesDecideAndPercentAddUpToTheWhole) {
  NodeState node = test::node_of(test::device_object("n", {test::gpu(0, "24Gi")}));
  const Allocator allocator(test::types(), nullptr);
  const PodDemand third = demand_of({{"koordinator.sh/gpu-memory", int64_t{8} << 30}});
  for (const int64_t percent : {34, 34, 32}) {
    Allocation given;
    ASSERT_TRUE(allocator.allocate(node, {}, third, given).fits());
    EXPECT_EQ(given[0].amounts.get(2), percent);
    node.add(given);
  }
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/gpu-memory", 1}})),
            "Insufficient gpu devices");
}

// A share that somebody else wrote down in percent only takes the bytes that follow from them.
TEST(Allocator, PercentWithoutBytesTakeBytes) {
  NodeState node = test::node_of(test::device_object("n", {test::gpu(0, "16Gi")}));
  const DeviceShare half = test::share("gpu", 0, {{"koordinator.sh/gpu-memory-ratio", 50}});
  node.add({half});
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/gpu-memory", int64_t{8} << 30}})), "gpu 0");
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/gpu-memory", (int64_t{8} << 30) + 1}})),
            "Insufficient gpu devices");
  node.remove({half});
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/gpu-memory", int64_t{16} << 30}})), "gpu 0");
}

TEST(Allocator, ADeviceWithoutTheResourceDoesNotHaveIt) {
  Json card = test::gpu(0, "16Gi");
  card["resources"].erase("koordinator.sh/gpu-core");
  const NodeState node = test::node_of(test::device_object("n", {card}));
  EXPECT_EQ(outcome(node, demand_of({{"nvidia.com/gpu", 1}})), "Insufficient gpu devices");
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/gpu-memory-ratio", 100}})), "gpu 0");
}

TEST(Allocator, SharedCardsByScore) {
  const std::vector<std::pair<std::string, int64_t>> weights = {
      {"koordinator.sh/gpu-memory-ratio", 1}, {"koordinator.sh/gpu-memory", 1}};
  NodeState node = test::node_of(
      test::device_object("n", {test::gpu(0, "100"), test::gpu(1, "100"), test::gpu(2, "100")}));
  const auto use = [&](int minor, int64_t part) {
    node.add({test::share("gpu", minor,
                          {{"koordinator.sh/gpu-core", part},
                           {"koordinator.sh/gpu-memory", part},
                           {"koordinator.sh/gpu-memory-ratio", part}})});
  };
  use(0, 50);
  use(1, 75);
  use(2, 25);
  const Scorer least(test::types(), Strategy::kLeastAllocated, weights);
  const Scorer most(test::types(), Strategy::kMostAllocated, weights);
  const PodDemand demand = demand_of({{"koordinator.sh/gpu", 20}});
  EXPECT_EQ(outcome(node, demand, {}, &least), "gpu 2");
  EXPECT_EQ(outcome(node, demand, {}, &most), "gpu 1");
}

TEST(Allocator, PartitionsOfAHopperBoard) {
  std::vector<Json> cards;
  for (int i = 0; i < 8; ++i) cards.push_back(test::gpu(i, "80Gi", i / 4, std::to_string(i / 2)));
  NodeState node = test::node_of(test::device_object("n", cards));
  node.add({test::whole_gpu(2), test::whole_gpu(3)});
  const NodeLabels prefer{"nvidia", "H800", "Prefer"};
  const NodeLabels honor{"nvidia", "H800", "Honor"};
  EXPECT_EQ(outcome(node, demand_of({{"nvidia.com/gpu", 2}}), honor), "gpu 0 1");
  EXPECT_EQ(outcome(node, demand_of({{"nvidia.com/gpu", 4}}), honor), "gpu 4 5 6 7");
  for (int64_t count : {3, 6})
    EXPECT_EQ(outcome(node, demand_of({{"nvidia.com/gpu", count}}), honor),
              "node(s) Unsupported number of GPU requests (unresolvable)");
  EXPECT_EQ(outcome(node, demand_of({{"nvidia.com/gpu", 3}}), prefer), "gpu 4 5 6");
  EXPECT_EQ(outcome(node, demand_of({{"nvidia.com/gpu", 8}}), honor),
            "Insufficient Partitioned GPU Devices");
  EXPECT_EQ(outcome(node, demand_of({{"nvidia.com/gpu", 1}}, "", "", "{}")),
            "node(s) missing GPU Partition Table (unresolvable)");
}

TEST(Allocator, HigherAllocationScoresFirst) {
  Json object = test::device_object("n", {test::gpu(0, "80Gi"), test::gpu(1, "80Gi")});
  object["metadata"]["annotations"] = {
      {"scheduling.koordinator.sh/gpu-partitions",
       R"({"1":[{"minors":[0],"allocationScore":1},{"minors":[1],"allocationScore":2}]})"}};
  NodeState node = test::node_of(object);
  const PodDemand any = demand_of({{"nvidia.com/gpu", 1}});
  const PodDemand restricted =
      demand_of({{"nvidia.com/gpu", 1}}, "", "", R"({"allocatePolicy":"Restricted"})");
  EXPECT_EQ(outcome(node, any), "gpu 1");
  node.add({test::whole_gpu(1)});
  EXPECT_EQ(outcome(node, any), "gpu 0");
  EXPECT_EQ(outcome(node, restricted), "Insufficient Partitioned GPU Devices");
}

TEST(Allocator, AMalformedObjectGivesNothing) {
  NodeState node = test::node_of(test::fixture_a());
  node.set_object(nullptr);
  node.malformed = true;
  node.problem = "Device n: spec.devices[0].minor: missing";
  EXPECT_EQ(outcome(node, demand_of({{"nvidia.com/gpu", 1}})),
            "node(s) had a Device object that cannot be read (unresolvable)");
}

TEST(Allocator, CountsNicsByHint) {
  const NodeState node = test::node_of(test::fixture_a());
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/rdma", 1}},
                                    R"({"rdma":{"allocateStrategy":"ApplyForAll"}})")),
            "rdma 1 2 3 4");
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/rdma", 3}},
                                    R"({"rdma":{"allocateStrategy":"RequestsAsCount"}})")),
            "rdma 1 2 3");
  EXPECT_EQ(outcome(node, demand_of({{"koordinator.sh/rdma", 5}},
                                    R"({"rdma":{"allocateStrategy":"RequestsAsCount"}})")),
            "Insufficient rdma devices");
}

TEST(Allocator, AnExclusivePcieIsNotShared) {
  NodeState node = test::node_of(test::fixture_a());
  node.add({used_vf(1, "0000:1f:00.2")});
  const Ask ask = {{"koordinator.sh/rdma", 1}};
  EXPECT_EQ(outcome(node, demand_of(ask)), "rdma 1");
  EXPECT_EQ(outcome(node, demand_of(ask, R"({"rdma":{"exclusivePolicy":"PCIeLevel"}})")), "rdma 2");
}

TEST(Scorer, NodesAsKoordinatorScoresThem) {
  const Scorer least(test::types(), Strategy::kLeastAllocated, Scorer::default_weights());
  const Scorer most(test::types(), Strategy::kMostAllocated, Scorer::default_weights());
  const auto score = [](const Scorer& scorer, const NodeState& node, const Ask& ask) {
    const PodDemand demand = demand_of(ask);
    return scorer.score_node(node, demand.request, demand.hints);
  };
  const NodeState one = test::node_of(test::device_object("n", {test::gpu(0, "8Gi")}));
  EXPECT_EQ(score(least, one, {{"koordinator.sh/gpu", 100}}), 50);
  const NodeState two =
      test::node_of(test::device_object("n", {test::gpu(0, "8Gi"), test::gpu(1, "8Gi")}));
  EXPECT_EQ(score(least, two, {{"koordinator.sh/gpu", 50}}), 87);
  NodeState quarter = one;
  quarter.add({test::share("gpu", 0,
                           {{"koordinator.sh/gpu-core", 25},
                            {"koordinator.sh/gpu-memory", int64_t{2} << 30},
                            {"koordinator.sh/gpu-memory-ratio", 25}})});
  EXPECT_EQ(score(least, quarter, {{"koordinator.sh/gpu", 50}}), 50);
  EXPECT_EQ(score(most, quarter, {{"koordinator.sh/gpu", 50}}), 50);
}

TEST(DeviceHints, RefusesWhatItDoesNotUnderstand) {
  const auto problem = [](const char* hint, const char* joint, const char* partition) {
    const auto hints = parse_device_hints(test::types(), hint, joint, partition);
    return hints ? "" : hints.error();
  };
  EXPECT_EQ(problem("{}", "{}", "{}"), "");
  EXPECT_EQ(problem("{broken", "", ""),
            "invalid DeviceAllocateHint annotation, err: it is not JSON");
  EXPECT_EQ(problem("", "[]", ""),
            "invalid DeviceJointAllocate annotation, err: it must be a JSON object");
  EXPECT_EQ(problem("", R"({"requiredScope":"SameRack"})", ""),
            "invalid DeviceJointAllocate annotation, err: requiredScope must be one of SamePCIe");
  EXPECT_EQ(problem("", "", R"({"allocatePolicy":"Strict"})"),
            "invalid GPUPartitionSpec annotation, err: allocatePolicy must be one of Restricted, "
            "BestEffort");
  EXPECT_EQ(problem(R"({"gpu":{"selector":{"matchExpressions":[{"key":"a","operator":"Like"}]}}})",
                    "", ""),
            "invalid Selector of DeviceHint, deviceType: gpu, err: operator must be one of In, "
            "NotIn, Exists, DoesNotExist");
  EXPECT_EQ(problem(R"({"rdma":{"vfSelector":3}})", "", ""),
            "invalid VFSelector of DeviceHint, deviceType: rdma, err: must be an object");
}

TEST(Explain, SaysWhatIsShortAndWhyPerDevice) {
  NodeState node = test::node_of(test::device_object(
      "n", {test::gpu(0, "16Gi"), test::gpu(1, "16Gi"), test::gpu(2, "16Gi", -1, "", false)}));
  node.add({test::share("gpu", 0, {{"koordinator.sh/gpu-core", 60}})});
  EXPECT_EQ(explain_devices(test::types(), node, demand_of({{"nvidia.com/gpu", 2}})),
            "gpu: 2 wanted, 1 short: of 3 devices 1 fits\n"
            "  minor 0: has koordinator.sh/gpu-core 40 free, 100 wanted\n"
            "  minor 2: is unhealthy\n");
}

// As Koordinator's agent names them: cards on an NVSwitch board have its partitions, others do not.
TEST(Allocator, TheModelsOfNvswitchBoards) {
  const NodeState state = test::node_of(test::fixture_a());
  const auto knows_partitions = [&](std::string_view model, std::string_view vendor = "nvidia") {
    return outcome(state, demand_of({{"nvidia.com/gpu", 3}}), {vendor, model, "Honor"}) ==
           "node(s) Unsupported number of GPU requests (unresolvable)";
  };
  for (const char* model : {"H100", "H800", "H20", "H100-80GB-HBM3", "H800-SXM5-80GB", "H20-3e"})
    EXPECT_TRUE(knows_partitions(model)) << model;
  for (const char* model :
       {"", "A100-SXM4-80GB", "H100-PCIe", "H100-80GB-PCIe", "H100-NVL", "H200", "H1000", "T4"})
    EXPECT_FALSE(knows_partitions(model)) << model;
  EXPECT_FALSE(knows_partitions("H100-80GB-HBM3", "huawei"));
}

}  // namespace
}  // namespace plimsoll::devices

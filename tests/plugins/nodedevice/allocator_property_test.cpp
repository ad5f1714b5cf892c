// Random nodes and demands: what Filter says (check) is what Reserve finds (allocate), whatever the
// hints, the partition table and the strategy; and what is given was free.

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/plugins/nodedevice/device_fixtures.hpp"

namespace plimsoll::devices {
namespace {

using test::Ask;
using test::Json;

constexpr std::array kStrategies = {Strategy::kLeastAllocated, Strategy::kMostAllocated};

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}

  int pick(int below) { return static_cast<int>(random_() % static_cast<uint32_t>(below)); }
  bool flip() { return pick(2) == 0; }
  template <size_t N>
  const char* one_of(const char* const (&texts)[N]) {
    return texts[pick(static_cast<int>(N))];
  }

 private:
  std::mt19937 random_;
};

Json random_object(Dice& dice) {
  std::vector<Json> devices;
  const int gpus = dice.pick(9);
  const bool has_tree = dice.pick(3) != 0;
  for (int i = 0; i < gpus; ++i) {
    const std::string pcie = has_tree ? std::to_string(dice.pick(4)) : "";
    devices.push_back(test::gpu(i, "16Gi", dice.pick(2), pcie, dice.pick(8) != 0));
  }
  const int nics = dice.pick(5);
  for (int i = 0; i < nics; ++i)
    devices.push_back(test::rdma(i, "0000:" + std::to_string(10 + i) + ":00", dice.pick(2),
                                 std::to_string(dice.pick(4)), dice.pick(3)));
  Json object = test::device_object("n", devices);
  if (dice.pick(4) == 0)
    object["metadata"]["annotations"]["scheduling.koordinator.sh/gpu-partitions"] =
        R"({"1":[{"minors":[0]},{"minors":[1],"allocationScore":2}],"2":[{"minors":[2,3]}]})";
  return object;
}

// Shares that pods before have: any part of any device.
void use_some(Dice& dice, NodeState& node) {
  for (const char* name : {"gpu", "rdma"}) {
    const int type = test::types().find_type(name);
    std::vector<int32_t> minors;
    for (const DeviceState& device : node.type(type).devices)
      if (dice.pick(3) == 0) minors.push_back(device.minor);
    for (const int32_t minor : minors) {
      const int64_t part = 10 * (1 + dice.pick(10));
      const Ask amounts = type == 0 ? Ask{{"koordinator.sh/gpu-core", part},
                                          {"koordinator.sh/gpu-memory", part << 27},
                                          {"koordinator.sh/gpu-memory-ratio", part}}
                                    : Ask{{"koordinator.sh/rdma", part}};
      node.add({test::share(name, minor, amounts)});
    }
  }
  if (dice.pick(6) == 0) node.add_unknown(0, 1 + dice.pick(2));
}

Ask random_ask(Dice& dice) {
  Ask ask;
  switch (dice.pick(5)) {
    case 0:
      ask = {{"nvidia.com/gpu", 1 + dice.pick(4)}};
      break;
    case 1:
      ask = {{"koordinator.sh/gpu", 10 * (1 + dice.pick(10))}};
      break;
    case 2:
      ask = {{"koordinator.sh/gpu-memory", int64_t{1 + dice.pick(16)} << 30}};
      break;
    case 3:
      ask = {{"koordinator.sh/gpu.shared", 2},
             {"koordinator.sh/gpu-memory-ratio", 20 * (1 + dice.pick(8))}};
      break;
    default:
      break;
  }
  if (ask.empty() || dice.flip())
    ask.emplace_back("koordinator.sh/rdma", 10 * (1 + dice.pick(10)) * (dice.flip() ? 1 : 10));
  return ask;
}

PodDemand random_demand(Dice& dice) {
  const char* hint = dice.one_of({"", "", R"({"rdma":{"allocateStrategy":"ApplyForAll"}})",
                                  R"({"rdma":{"allocateStrategy":"RequestsAsCount"}})",
                                  R"({"rdma":{"exclusivePolicy":"PCIeLevel"}})",
                                  R"({"rdma":{"vfSelector":{"matchLabels":{"type":"general"}}}})",
                                  R"({"gpu":{"requiredTopologyScope":"PCIe"}})",
                                  R"({"gpu":{"requiredTopologyScope":"NUMANode"}})"});
  const char* joint = dice.one_of({"", R"({"deviceTypes":["gpu","rdma"]})",
                                   R"({"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"})",
                                   R"({"deviceTypes":["rdma","gpu"]})",
                                   R"({"deviceTypes":["rdma","gpu"],"requiredScope":"SamePCIe"})"});
  const char* partition = dice.one_of({"", "", "", R"({"allocatePolicy":"Restricted"})"});
  return test::demand_of(random_ask(dice), hint, joint, partition);
}

void expect_free(const NodeState& node, const Allocation& given) {
  for (const DeviceShare& share : given) {
    const DeviceState* device = node.type(share.type).find(share.minor);
    ASSERT_NE(device, nullptr);
    EXPECT_TRUE(device->available);
    for (size_t dim = 0; dim < share.amounts.value.size(); ++dim)
      EXPECT_LE(share.amounts.value[dim], device->free.value[dim]);
  }
}

TEST(AllocatorProperty, CheckSaysWhatAllocateDoes) {
  int fitted = 0;
  int refused = 0;
  for (uint32_t seed = 1; seed <= 6000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    NodeState node = test::node_of(random_object(dice));
    use_some(dice, node);
    const PodDemand demand = random_demand(dice);
    const NodeLabels labels{"nvidia", dice.one_of({"", "H800"}),
                            dice.one_of({"", "Prefer", "Honor"})};
    for (const Strategy strategy : kStrategies) {
      const Scorer scorer(test::types(), strategy, Scorer::default_weights());
      const Allocator allocator(test::types(), &scorer);
      Allocation given;
      const Verdict found = allocator.allocate(node, labels, demand, given);
      ASSERT_EQ(allocator.check(node, labels, demand), found);
      ASSERT_EQ(found.fits(), !given.empty() || node.unmanaged());
      expect_free(node, given);
      ++(found.fits() ? fitted : refused);
    }
  }
  EXPECT_GT(fitted, 2000) << "the cases must be of both kinds to say anything";
  EXPECT_GT(refused, 2000);
}

// The NIC decides where, and the score decides which NIC: the one that is used most has no GPU.
TEST(AllocatorProperty, TheScoreCountsInFilterToo) {
  NodeState node = test::node_of(test::device_object(
      "n", {test::gpu(0, "16Gi", 0, "a"), test::rdma(0, "0000:10:00", 0, "a", 0),
            test::rdma(1, "0000:11:00", 0, "b", 0)}));
  node.add({test::share("rdma", 1, {{"koordinator.sh/rdma", 50}})});
  const PodDemand demand =
      test::demand_of({{"nvidia.com/gpu", 1}, {"koordinator.sh/rdma", 10}}, "",
                      R"({"deviceTypes":["rdma","gpu"],"requiredScope":"SamePCIe"})");
  const Scorer most(test::types(), Strategy::kMostAllocated, Scorer::default_weights());
  const Scorer least(test::types(), Strategy::kLeastAllocated, Scorer::default_weights());
  EXPECT_EQ(test::outcome(node, demand, {}, &most),
            "node(s) Device Joint-Allocate rules violation");
  EXPECT_EQ(test::outcome(node, demand, {}, &least), "gpu 0; rdma 0");
}

}  // namespace
}  // namespace plimsoll::devices

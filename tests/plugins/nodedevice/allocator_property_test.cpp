// Random nodes and demands: what Filter says (check) is what Reserve finds (allocate), whatever the
// hints, the partition table and the strategy; and what is given was free.

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <set>

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
    for (size_t dim = 0; dim < share.amounts.value.size(); ++dim) {
      EXPECT_LE(share.amounts.value[dim], device->free.value[dim]);
    }
  }
}

TEST(AllocatorProperty, CheckSaysWhatAllocateDoes) {
  int fitted = 0;
  int refused = 0;
  for (uint32_t seed = 1; seed <= 2500; ++seed) {
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
  EXPECT_GT(fitted, 800) << "the cases must be of both kinds to say anything";
  EXPECT_GT(refused, 800);
}

// Everything that a node without partitions has for "nvidia.com/gpu: n" and one or more NICs at the
// same PCIe ids: all sets of n cards, one after the other.
bool exists_at_the_same_pcie(const NodeState& node, int64_t gpus, int64_t nics, int64_t nic_part,
                             Scope scope) {
  struct Card {
    int numa;
    int pcie;
  };
  std::vector<Card> cards;
  std::map<int, int64_t> nics_at;
  for (const DeviceState& device : node.type(0).devices)
    if (device.available && !device.in_use) cards.push_back({device.numa, device.pcie});
  for (const DeviceState& device : node.type(1).devices)
    if (device.available && device.free.get(0) >= nic_part) ++nics_at[device.pcie];
  for (uint32_t set = 0; set < 1U << cards.size(); ++set) {
    if (__builtin_popcount(set) != gpus) continue;
    std::set<int> places;
    std::set<std::pair<int, int>> parts;
    for (size_t i = 0; i < cards.size(); ++i) {
      if ((set >> i & 1U) == 0) continue;
      places.insert(cards[i].pcie);
      if (scope == Scope::kPcie) parts.emplace(cards[i].numa, cards[i].pcie);
      if (scope == Scope::kNuma) parts.emplace(cards[i].numa, -1);
    }
    int64_t near = 0;
    bool everywhere = true;
    for (int place : places) {
      near += nics_at[place];
      everywhere = everywhere && nics_at[place] > 0;
    }
    if (everywhere && near >= nics && parts.size() <= 1) return true;
  }
  return false;
}

std::set<int> places_of(const NodeState& node, const Allocation& given, int type) {
  std::set<int> places;
  for (const DeviceShare& share : given)
    if (share.type == type) places.insert(node.type(type).find(share.minor)->pcie);
  return places;
}

TEST(AllocatorProperty, JointAllocationIsRefusedOnlyIfThereIsNoPlace) {
  int fitted = 0;
  int refused = 0;
  for (uint32_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    Json object = test::device_object("n", {});
    const int places = 2 + dice.pick(4);
    const int cards = 2 + dice.pick(7);
    for (int i = 0; i < cards; ++i) {
      const int place = dice.pick(places);
      object["spec"]["devices"].push_back(
          test::gpu(i, "16Gi", place % 2, std::to_string(place), dice.pick(8) != 0));
    }
    const int nics_there = 2 + dice.pick(6);
    for (int i = 0; i < nics_there; ++i) {
      const int place = dice.pick(places);
      object["spec"]["devices"].push_back(test::rdma(i, "0000:" + std::to_string(10 + i) + ":00",
                                                     place % 2, std::to_string(place), 0));
    }
    NodeState node = test::node_of(object);
    if (dice.flip()) use_some(dice, node);
    const int64_t gpus = 1 + dice.pick(4);
    const int64_t nics = 1 + dice.pick(3);
    const int64_t part = nics > 1 ? 100 : 10 * (1 + dice.pick(10));
    const int scope = dice.pick(4);
    const char* hints[] = {"", "", R"({"gpu":{"requiredTopologyScope":"NUMANode"}})",
                           R"({"gpu":{"requiredTopologyScope":"PCIe"}})"};
    const Scope scopes[] = {Scope::kUnset, Scope::kUnset, Scope::kNuma, Scope::kPcie};
    const PodDemand demand = test::demand_of(
        {{"nvidia.com/gpu", gpus}, {"koordinator.sh/rdma", nics > 1 ? nics * 100 : part}},
        hints[scope], R"({"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"})");
    const Scorer scorer(test::types(), kStrategies[seed % 2], Scorer::default_weights());
    const Allocator allocator(test::types(), &scorer);
    Allocation given;
    const Verdict found = allocator.allocate(node, {}, demand, given);
    ASSERT_EQ(found.fits(), exists_at_the_same_pcie(node, gpus, nics, part, scopes[scope]));
    ASSERT_EQ(allocator.check(node, {}, demand), found);
    expect_free(node, given);
    if (found.fits()) {
      ASSERT_EQ(places_of(node, given, 0), places_of(node, given, 1));
      ASSERT_GE(static_cast<int64_t>(given.size()), gpus + nics);
    }
    ++(found.fits() ? fitted : refused);
  }
  EXPECT_GT(fitted, 400) << "the cases must be of both kinds to say anything";
  EXPECT_GT(refused, 400);
}

}  // namespace
}  // namespace plimsoll::devices

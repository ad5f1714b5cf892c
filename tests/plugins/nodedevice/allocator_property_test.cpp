// Random nodes and demands: what Filter says (check) is what Reserve finds (allocate), whatever the
// hints, the partition table and the strategy; and what is given was free.

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "tests/plugins/nodedevice/random_devices.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::devices {
namespace {

using test::Ask;
using test::Dice;
using test::Json;

constexpr std::array kStrategies = {Strategy::kLeastAllocated, Strategy::kMostAllocated};

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
  const uint32_t first = plimsoll::test::test_seed();
  for (uint32_t seed = first; seed < first + 2500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    NodeState node = test::node_of(test::random_object(dice));
    test::use_some(dice, node);
    const PodDemand demand = test::random_demand(dice);
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
  const uint32_t first = plimsoll::test::test_seed();
  for (uint32_t seed = first; seed < first + 2000; ++seed) {
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
    if (dice.flip()) test::use_some(dice, node);
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

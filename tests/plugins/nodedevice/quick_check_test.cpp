// Many nodes of few shapes that fill up and empty, many demands: the quick answers are those of the
// allocator and of the scorer, whatever was remembered before.

#include "plugins/nodedevice/allocation/quick_check.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "plugins/nodedevice/accounts/state_answers.hpp"
#include "tests/plugins/nodedevice/random_devices.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::devices {
namespace {

using test::Ask;
using test::Dice;
using test::Json;

constexpr const char* kTables[] = {
    R"({"1":[{"minors":[0]},{"minors":[1],"allocationScore":2}],"2":[{"minors":[2,3]}]})",
    R"({"1":[{"minors":[0]},{"minors":[1]},{"minors":[2]},{"minors":[3]}],)"
    R"("2":[{"minors":[0,1],"ringBusBandwidth":"100Gi"},{"minors":[2,3],"allocationScore":3}],)"
    R"("4":[{"minors":[0,1,2,3]}]})"};

// A shape: its nodes differ in names and health only, except where they differ in one more thing.
Json random_shape(Dice& dice) {
  std::vector<Json> devices;
  const int gpus = dice.pick(9);
  const bool has_tree = dice.pick(4) != 0;
  const bool uniform = dice.pick(4) != 0;
  for (int i = 0; i < gpus; ++i) {
    const char* memory = uniform || dice.flip() ? "16Gi" : "24Gi";
    Json gpu = test::gpu(i, memory, dice.pick(2), has_tree ? std::to_string(dice.pick(4)) : "");
    gpu["labels"] = {{"link", dice.flip() ? "fast" : "slow"}};
    devices.push_back(std::move(gpu));
  }
  const int nics = dice.pick(5);
  for (int i = 0; i < nics; ++i)
    devices.push_back(test::rdma(i, "0000:" + std::to_string(10 + i) + ":00", dice.pick(2),
                                 std::to_string(dice.pick(4)), dice.pick(3)));
  Json object = test::device_object("n", devices);
  auto& metadata = object["metadata"];
  if (dice.flip())
    metadata["annotations"]["scheduling.koordinator.sh/gpu-partitions"] = dice.one_of(kTables);
  if (dice.pick(3) == 0) metadata["labels"]["node.koordinator.sh/gpu-partition-policy"] = "Honor";
  return object;
}

NodeState random_node(Dice& dice, Json object, ShapeTable& shapes) {
  for (Json& device : object["spec"]["devices"]) {
    if (dice.pick(10) == 0) device["health"] = false;
    device["id"] = std::to_string(dice.pick(1 << 30));
  }
  NodeState node = test::node_of(object);
  node.shape = shapes.intern(*node.object);
  return node;
}

PodDemand demand_with_selectors(Dice& dice) {
  const char* hint = dice.one_of(
      {R"({"gpu":{"selector":{"matchLabels":{"link":"fast"}}}})",
       R"({"gpu":{"selector":{"matchExpressions":[{"key":"link","operator":"NotIn","values":["fast"]}]},)"
       R"("requiredTopologyScope":"NUMANode"}})",
       R"({"rdma":{"vfSelector":{"matchLabels":{"type":"general"}},"exclusivePolicy":"PCIeLevel"}})",
       R"({"rdma":{"selector":{"matchLabels":{"none":"such"}},"allocateStrategy":"ApplyForAll"}})",
       R"({"rdma":{"allocateStrategy":"RequestsAsCount","exclusivePolicy":"DeviceLevel"}})",
       R"({"gpu":{"requiredTopologyScope":"PCIe"},"rdma":{"requiredTopologyScope":"Device"}})"});
  const char* joint = dice.one_of({"", R"({"deviceTypes":["gpu","rdma"]})",
                                   R"({"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"})",
                                   R"({"deviceTypes":["rdma","gpu"],"requiredScope":"SamePCIe"})"});
  const char* partition =
      dice.one_of({"", "", R"({"allocatePolicy":"Restricted"})",
                   R"({"allocatePolicy":"BestEffort"})", R"({"ringBusBandwidth":"50Gi"})"});
  return test::demand_of(test::random_ask(dice), hint, joint, partition);
}

// One profile: its scorer, and what it remembers.
struct Profile {
  Profile(Strategy strategy, const ShapeTable& shapes)
      : scorer(test::types(), strategy, Scorer::default_weights()),
        allocator(test::types(), &scorer),
        quick(test::types(), allocator, shapes) {}
  Scorer scorer;
  Allocator allocator;
  QuickCheck quick;
};

// As score_node has it, device by device.
int64_t score_in_full(const Scorer& scorer, const NodeState& node, const PodDemand& demand) {
  int64_t score = 0;
  for (const TypeRequest& asked : demand.request.types) {
    Amounts total;
    Amounts free;
    const TypeHint* hint = demand.hints.hint(asked.type);
    for (const DeviceState& device : node.type(asked.type).devices) {
      if (hint != nullptr && hint->selector &&
          (device.info == nullptr || !hint->selector->matches(device.info->labels)))
        continue;
      total.present |= device.total.present;
      free.present |= device.total.present;
      for (size_t dim = 0; dim < total.value.size(); ++dim) {
        total.value[dim] += device.total.value[dim];
        free.value[dim] += device.free.value[dim];
      }
    }
    score += scorer.score_device(asked.type, asked.per_device, total, free);
  }
  return score;
}

TEST(QuickCheck, SaysWhatTheAllocatorSays) {
  int fitted = 0;
  int refused = 0;
  int placed = 0;
  int by_state = 0;
  const uint32_t first = plimsoll::test::test_seed();
  for (uint32_t seed = first; seed < first + 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    ShapeTable shapes;
    const Json objects[] = {random_shape(dice), random_shape(dice), random_shape(dice)};
    std::vector<NodeState> nodes;
    for (int i = 0; i < 12; ++i) nodes.push_back(random_node(dice, objects[dice.pick(3)], shapes));
    if (dice.flip()) nodes.back().shape = 0;
    std::deque<Profile> profiles;
    profiles.emplace_back(Strategy::kLeastAllocated, shapes);
    profiles.emplace_back(Strategy::kMostAllocated, shapes);
    const NodeLabels labels{"nvidia", dice.one_of({"", "H800"}),
                            dice.one_of({"", "Prefer", "Honor"})};
    std::vector<std::pair<size_t, Allocation>> given;
    StateNumbers numbers;
    for (uint32_t i = 0; i < nodes.size(); ++i) numbers.changed(i);
    for (int step = 0; step < 60; ++step) {
      const int sort = dice.pick(3);
      const PodDemand demand = sort == 0   ? test::demand_of(test::random_ask(dice), "", "", "")
                               : sort == 1 ? test::random_demand(dice)
                                           : demand_with_selectors(dice);
      if (demand.request.empty()) continue;
      Profile& profile = profiles[static_cast<size_t>(dice.pick(2))];
      const QuickPlan plan = profile.quick.prepare(demand);
      const auto wanted = static_cast<size_t>(dice.pick(12));
      numbers.refresh([&](uint32_t slot) { return &nodes[slot]; },
                      [](uint32_t) { return std::string(); });
      StateAnswers<Verdict> verdicts(numbers);
      StateAnswers<int64_t> scores(numbers);
      std::vector<uint32_t> changed;
      for (size_t i = 0; i < nodes.size(); ++i) {
        Allocation allocation;
        const Verdict expected = profile.allocator.allocate(nodes[i], labels, demand, allocation);
        const Verdict found = profile.quick.check(nodes[i], labels, demand, plan);
        ASSERT_EQ(found, expected)
            << "step " << step << " node " << i << ": "
            << reason_text(test::types(), found.reason, found.type) << " for "
            << reason_text(test::types(), expected.reason, expected.type);
        ASSERT_EQ(QuickCheck::score(profile.scorer, nodes[i], demand, plan),
                  score_in_full(profile.scorer, nodes[i], demand))
            << "step " << step << " node " << i;
        const auto slot = static_cast<uint32_t>(i);
        const Verdict* same = verdicts.of(
            slot, [&] { return profile.quick.check_state(nodes[i], labels, demand, plan); });
        if (same != nullptr) {
          ++by_state;
          ASSERT_EQ(*same, expected) << "step " << step << " node " << i;
        }
        const int64_t* score = scores.of(slot, [&] {
          return plan.selects ? std::nullopt
                              : std::optional<int64_t>(
                                    QuickCheck::score(profile.scorer, nodes[i], demand, plan));
        });
        if (score != nullptr) {
          ASSERT_EQ(*score, score_in_full(profile.scorer, nodes[i], demand)) << "node " << i;
        }
        ++(found.fits() ? fitted : refused);
        if (i != wanted || allocation.empty()) continue;
        nodes[i].add(allocation);
        changed.push_back(slot);
        given.emplace_back(i, std::move(allocation));
        ++placed;
      }
      if (given.size() > 20 || (!given.empty() && dice.pick(4) == 0)) {
        const auto gone = given.begin() + dice.pick(static_cast<int>(given.size()));
        nodes[gone->first].remove(gone->second);
        changed.push_back(static_cast<uint32_t>(gone->first));
        given.erase(gone);
      }
      if (dice.pick(10) == 0) nodes[wanted].add_unknown(0, dice.flip() ? 1 : 0);
      changed.push_back(static_cast<uint32_t>(wanted));
      for (const uint32_t slot : changed) numbers.changed(slot);
    }
  }
  EXPECT_GT(fitted, 5000);
  EXPECT_GT(refused, 5000);
  EXPECT_GT(placed, 300);
  EXPECT_GT(by_state, 2000);
}

TEST(QuickCheck, TakesNodesForAlikeThatDifferInNamesOnly) {
  ShapeTable shapes;
  const NodeState one = test::node_of(test::fixture_a("one"));
  Json other = test::fixture_a("two");
  other["spec"]["devices"][0]["id"] = "another";
  EXPECT_EQ(shapes.intern(*one.object), 1U);
  EXPECT_EQ(shapes.intern(*test::node_of(other).object), 1U);
  other["spec"]["devices"][0]["topology"]["nodeID"] = 1;
  EXPECT_EQ(shapes.intern(*test::node_of(other).object), 2U);
  other["metadata"]["labels"]["node.koordinator.sh/gpu-partition-policy"] = "Honor";
  EXPECT_EQ(shapes.intern(*test::node_of(other).object), 3U);
  EXPECT_EQ(shapes.count(), 3U);
  EXPECT_TRUE(shapes.at(1).name.empty());
}

TEST(QuickCheck, ThereAreNoMoreNumbersThanStates) {
  StateNumbers numbers;
  const auto refresh = [&](const NodeState* state, const std::string& facts) {
    numbers.refresh([&](uint32_t) { return state; }, [&](uint32_t) { return facts; });
  };
  const NodeState one = test::node_of(test::fixture_a("one"));  // its shape is not known
  NodeState bare(test::types());
  for (uint32_t slot = 0; slot < 3; ++slot) numbers.changed(slot);
  EXPECT_EQ(numbers.of(0), 0U);
  refresh(&bare, "a");
  EXPECT_EQ(numbers.of(0), 1U);
  EXPECT_EQ(numbers.of(2), 1U);
  numbers.changed(1);
  EXPECT_EQ(numbers.of(1), 0U);
  refresh(&bare, "b");  // other labels
  EXPECT_EQ(numbers.of(1), 2U);
  numbers.changed(1);
  refresh(nullptr, "b");  // the number of a state that is gone is given again
  EXPECT_EQ(numbers.of(1), 2U);
  numbers.changed(0);
  refresh(&one, "a");
  EXPECT_EQ(numbers.of(0), 0U);
  EXPECT_EQ(numbers.last(), 2U);
  for (uint32_t slot = 10; slot < 20 + StateNumbers::kMost; ++slot) {
    numbers.changed(slot);
    bare.malformed = slot % 2 == 0;
    refresh(&bare, std::to_string(slot));
  }
  EXPECT_EQ(numbers.last(), StateNumbers::kMost);
  EXPECT_EQ(numbers.of(19 + StateNumbers::kMost), 0U);
}

TEST(QuickCheck, ForgetsWhenThereIsTooMuchToRemember) {
  VerdictMemo memo;
  const Verdict refusal{Reason::kInsufficientGpu, 0, false};
  for (uint64_t i = 0; i < VerdictMemo::kMostKept; ++i) memo.put({i}, refusal);
  EXPECT_EQ(memo.find({5}), refusal);
  memo.put({VerdictMemo::kMostKept}, Verdict{});
  EXPECT_EQ(memo.find({5}), std::nullopt);
  EXPECT_EQ(memo.find({VerdictMemo::kMostKept}), Verdict{});
}

}  // namespace
}  // namespace plimsoll::devices

// Device objects and annotations that nobody in their right mind would write, or that somebody
// wrote to do harm: they are refused or read, and nothing else happens.

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <limits>
#include <random>
#include <set>

#include "plugins/nodedevice/accounts/accounts.hpp"
#include "plugins/nodedevice/accounts/allocation_annotation.hpp"
#include "plugins/nodedevice/allocation/explain.hpp"
#include "plugins/nodedevice/text/bounded_json.hpp"
#include "tests/plugins/nodedevice/accounts_text.hpp"
#include "tests/plugins/nodedevice/device_fixtures.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::devices {
namespace {

using test::Ask;
using test::Json;

constexpr int kRounds = 400;

int rounds() {
  return static_cast<int>(
      plimsoll::test::number_from_environment("PLIMSOLL_HOSTILE_ROUNDS", kRounds));
}

std::string deep(size_t levels, const char* open = "[", const char* close = "]") {
  std::string text;
  for (size_t i = 0; i < levels; ++i) text += open;
  for (size_t i = 0; i < levels; ++i) text += close;
  return text;
}

// One random change after another to a JSON value.
class Mutator {
 public:
  explicit Mutator(uint64_t start) : random_(start) {}

  size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }

  Json odd() {
    static const std::vector<Json> kOdd = {nullptr,
                                           true,
                                           0,
                                           -1,
                                           1e300,
                                           -1e-300,
                                           0.5,
                                           std::numeric_limits<int64_t>::max(),
                                           std::numeric_limits<int64_t>::min(),
                                           std::numeric_limits<uint64_t>::max(),
                                           std::numeric_limits<int32_t>::max(),
                                           int64_t{1} << 31,
                                           int64_t{1} << 50,
                                           64,
                                           63,
                                           31,
                                           32,
                                           "",
                                           "9e99",
                                           "-5",
                                           "1Ei",
                                           "99999999999999999999Ei",
                                           "0",
                                           "100",
                                           "1e-9",
                                           "0x10",
                                           " 1",
                                           "1Gi ",
                                           std::string(3000, 'x'),
                                           std::string("\0a", 2),
                                           "\xc3\xa4",
                                           Json::array(),
                                           Json::object(),
                                           Json::parse(deep(40)),
                                           Json::parse(R"([[1],{"a":[]},null])"),
                                           Json({{"minor", 0}})};
    return kOdd[below(kOdd.size())];
  }

  void mutate(Json& value) {
    Json* at = &value;
    while (at->is_structured() && !at->empty() && below(6) != 0) {
      auto it = at->begin();
      std::advance(it, static_cast<std::ptrdiff_t>(below(at->size())));
      at = &*it;
    }
    switch (below(5)) {
      case 0:
        if (at->is_array()) {
          at->push_back(at->empty() ? odd() : (*at)[below(at->size())]);  // something twice
          return;
        }
        break;
      case 1:
        if (at->is_structured() && !at->empty()) {
          auto it = at->begin();
          std::advance(it, static_cast<std::ptrdiff_t>(below(at->size())));
          at->erase(it);
          return;
        }
        break;
      case 2:
        if (at->is_object()) {
          (*at)[std::to_string(below(9))] = odd();
          return;
        }
        break;
      default:
        break;
    }
    *at = odd();
  }

  // The text of a value after some changes; now and then no JSON any more.
  std::string text(Json value) {
    for (size_t changes = 1 + below(4); changes > 0; --changes) mutate(value);
    std::string out = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (below(5) == 0 && !out.empty()) out[below(out.size())] = static_cast<char>(below(256));
    if (below(12) == 0) out.resize(below(out.size() + 1));
    return out;
  }

 private:
  std::mt19937_64 random_;
};

Json sane_object() {
  Json object = test::fixture_a("node-1");
  object["metadata"]["labels"] = {{"node.koordinator.sh/gpu-partition-policy", "Honor"}};
  object["metadata"]["annotations"] = {
      {"scheduling.koordinator.sh/gpu-partitions",
       R"({"1":[{"minors":[0],"allocationScore":1}],"2":[{"minors":[0,1],"gpuLinkType":"NVLink",)"
       R"("ringBusBandwidth":"400Gi","allocationScore":1}]})"},
      {"node.koordinator.sh/devices-checkpoints",
       R"([{"podUID":"u","resourceName":"nvidia.com/gpu","deviceIDs":["GPU-3"]}])"}};
  return object;
}

const std::vector<Ask>& asks() {
  static const std::vector<Ask> kAsks = {
      {{"nvidia.com/gpu", 1}},
      {{"nvidia.com/gpu", 2}},
      {{"koordinator.sh/gpu", 30}},
      {{"koordinator.sh/gpu-memory", int64_t{1} << 33}},
      {{"koordinator.sh/gpu", 400}, {"koordinator.sh/rdma", 200}},
      {{"koordinator.sh/rdma", 5}},
      {{"nvidia.com/gpu", std::numeric_limits<int64_t>::max()}},
      {{"koordinator.sh/gpu.shared", 3}, {"koordinator.sh/gpu-memory", int64_t{1} << 40}}};
  return kAsks;
}

// What is given of this node is there, once, and not more than there is.
void give_what_there_is(const NodeState& node) {
  const Scorer scorer(test::types(), Strategy::kLeastAllocated, Scorer::default_weights());
  const Allocator allocator(test::types(), &scorer);
  for (const Ask& ask : asks()) {
    const PodDemand demand = test::demand_of(ask);
    Allocation given;
    const Verdict verdict = allocator.allocate(node, {}, demand, given);
    EXPECT_EQ(verdict, allocator.check(node, {}, demand));
    (void)scorer.score_node(node, demand.request, demand.hints);
    EXPECT_FALSE(explain_devices(test::types(), node, demand).empty());
    std::set<std::pair<int, int32_t>> seen;
    for (const DeviceShare& share : given) {
      EXPECT_TRUE(seen.emplace(share.type, share.minor).second);
      const DeviceState* device = node.type(share.type).find(share.minor);
      ASSERT_NE(device, nullptr);
      EXPECT_TRUE(device->available);
      for (size_t dim = 0; dim < share.amounts.value.size(); ++dim) {
        EXPECT_GE(share.amounts.value[dim], 0);
        EXPECT_LE(share.amounts.value[dim], device->free.value[dim]);
      }
    }
    if (given.empty()) continue;
    const std::string text = write_allocation(test::types(), given, node);
    EXPECT_EQ(read_allocation(test::types(), text).shares.size(), given.size()) << text;
  }
}

TEST(HostileInput, DeviceObjects) {
  Mutator mutator(plimsoll::test::test_seed());
  int read = 0;
  Accounts accounts(test::types(), nullptr);
  accounts.node_added("node-1", 0);
  for (int i = 0; i < rounds() && !testing::Test::HasFailure(); ++i) {
    std::string text;
    if (mutator.below(3) == 0) {  // within an annotation
      Json object = sane_object();
      Json& annotations = object["metadata"]["annotations"];
      const bool table = mutator.below(2) == 0;
      Json& value = annotations[table ? "scheduling.koordinator.sh/gpu-partitions"
                                      : "node.koordinator.sh/devices-checkpoints"];
      value = mutator.text(Json::parse(value.get<std::string>()));
      text = object.dump(-1, ' ', false, Json::error_handler_t::replace);
    } else {
      text = mutator.text(sane_object());
    }
    SCOPED_TRACE("round " + std::to_string(i) + ": " + text);
    accounts.device_changed("node-1", text);
    const NodeState& node = *accounts.at_slot(0);
    read += node.malformed ? 0 : 1;
    give_what_there_is(node);
  }
  EXPECT_GT(read, rounds() / 20) << "too few are readable to show anything";
  EXPECT_LT(read, rounds()) << "and some are not";
}

TEST(HostileInput, AllocationAnnotations) {
  Mutator mutator(plimsoll::test::test_seed());
  Accounts accounts(test::types(), nullptr);
  accounts.node_added("node-1", 0);
  accounts.device_changed("node-1", sane_object().dump());
  const std::string before = test::accounts_text(accounts);
  const Json sane = Json::parse(
      R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":
      "16Gi","koordinator.sh/gpu-memory-ratio":"100"},"id":"GPU-1"},{"minor":2,"resources":
      {"koordinator.sh/gpu-core":50}}],"rdma":[{"minor":1,"resources":{"koordinator.sh/rdma":"1"},
      "extension":{"vfs":[{"minor":-1,"busID":"0000:1f:00.2"}]}}]})");
  const test::Ask asked{{"nvidia.com/gpu", 2}, {"koordinator.sh/rdma", 1}};
  const auto requests = test::quantities(asked);
  std::vector<std::string> uids;
  for (int i = 0; i < rounds() && !testing::Test::HasFailure(); ++i) {
    const std::string text = mutator.text(sane);
    SCOPED_TRACE("round " + std::to_string(i) + ": " + text);
    const std::string uid = "uid-" + std::to_string(mutator.below(20));
    accounts.pod_assigned({uid, "node-1", text, requests});
    uids.push_back(uid);
    if (i % 8 == 0) give_what_there_is(*accounts.at_slot(0));
  }
  for (const std::string& uid : uids) accounts.pod_removed(uid);
  EXPECT_EQ(test::accounts_text(accounts), before) << "whatever was read of them, it is given back";
}

TEST(HostileInput, Hints) {
  Mutator mutator(plimsoll::test::test_seed());
  const Json hint = Json::parse(
      R"({"rdma":{"selector":{"matchLabels":{"a":"b"}},"vfSelector":{"matchExpressions":
      [{"key":"type","operator":"In","values":["general"]}]},"allocateStrategy":"ApplyForAll",
      "requiredTopologyScope":"PCIe","exclusivePolicy":"PCIeLevel"}})");
  const Json joint = Json::parse(R"({"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"})");
  const Json partition =
      Json::parse(R"({"allocatePolicy":"Restricted","ringBusBandwidth":"200Gi"})");
  const NodeState node = test::node_of(test::fixture_a());
  const Allocator allocator(test::types(), nullptr);
  int accepted = 0;
  for (int i = 0; i < rounds() && !testing::Test::HasFailure(); ++i) {
    const std::string texts[] = {mutator.text(hint), mutator.text(joint), mutator.text(partition)};
    SCOPED_TRACE("round " + std::to_string(i) + ": " + texts[0] + texts[1] + texts[2]);
    const size_t which = mutator.below(3);
    auto hints = parse_device_hints(test::types(), which == 0 ? texts[0] : hint.dump(),
                                    which == 1 ? texts[1] : "", which == 2 ? texts[2] : "");
    if (!hints) continue;
    ++accepted;
    for (const Ask& ask : asks()) {
      PodDemand demand = test::demand_of(ask);
      demand.hints = *hints;
      Allocation given;
      EXPECT_EQ(allocator.allocate(node, {}, demand, given), allocator.check(node, {}, demand));
    }
  }
  EXPECT_GT(accepted, rounds() / 20);
}

// Copying or printing such a value would need a stack frame for each level.
TEST(HostileInput, NestedDeeply) {
  const std::string bottomless = deep(200'000);
  const std::string objects = deep(100'000, R"({"a":)", "}");
  for (const std::string& value : {bottomless, objects, deep(100)}) {
    EXPECT_TRUE(parse_bounded_json(value).is_discarded());
    EXPECT_FALSE(parse_device_object(test::types(), value));
    EXPECT_FALSE(parse_device_object(
        test::types(), R"({"metadata":{"name":"n"},"spec":{"devices":)" + value + "}}"));
    for (const std::string& text : {value, R"({"gpu":)" + value + "}"}) {
      const ReadAllocation read = read_allocation(test::types(), text);
      EXPECT_TRUE(read.shares.empty());
      EXPECT_FALSE(read.problems.empty());
    }
    for (const std::string& text :
         {R"({"rdma":{"selector":{"matchLabels":)" + value + "}}}", R"({"rdma":)" + value + "}"})
      EXPECT_FALSE(parse_device_hints(test::types(), text, "", ""));
    EXPECT_FALSE(parse_device_hints(test::types(), "", R"({"deviceTypes":)" + value + "}", ""));
    EXPECT_FALSE(
        parse_device_hints(test::types(), "", "", R"({"ringBusBandwidth":)" + value + "}"));
  }
  EXPECT_FALSE(parse_bounded_json(deep(kMaxJsonDepth)).is_discarded());
  EXPECT_FALSE(
      parse_bounded_json(R"(["[[[[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",1])")
          .is_discarded())
      << "brackets in texts do not count";
}

TEST(HostileInput, NumbersBeyondAllSense) {
  const auto problem = [](const Json& minor, const Json& memory) {
    Json device = test::gpu(0, "16Gi");
    device["minor"] = minor;
    device["resources"]["koordinator.sh/gpu-memory"] = memory;
    const auto read = parse_device_object(test::types(), test::device_object("n", {device}).dump());
    if (!read) return read.error();
    return read->unreadable.empty() ? "" : "Device n: " + read->unreadable.front();
  };
  EXPECT_EQ(problem(std::numeric_limits<int32_t>::max(), "16Gi"), "");
  EXPECT_EQ(problem(0, "99999999999999999999Ei"), "") << "as much as anybody can count";
  const std::string where = "Device n: spec.devices[0]";
  const std::string no_gpu = "; this gpu is not given until it is right";
  const std::string not_0 = "; gpu 0 is not given until it is right";
  EXPECT_EQ(problem(int64_t{1} << 31, "1"), where + ".minor: is too large" + no_gpu);
  EXPECT_EQ(problem(std::numeric_limits<uint64_t>::max(), "1"),
            where + ".minor: is too large" + no_gpu);
  EXPECT_EQ(problem(std::numeric_limits<int64_t>::min(), "1"),
            where + ".minor: is out of range" + no_gpu);
  EXPECT_EQ(problem(-1, "1"), where + ".minor: must not be negative" + no_gpu);
  EXPECT_EQ(problem(0, "-1"),
            where + ".resources[koordinator.sh/gpu-memory]: must not be negative" + not_0);
  EXPECT_EQ(problem(0, Json::array()),
            where + ".resources[koordinator.sh/gpu-memory]: [] is not a quantity" + not_0);

  // As many devices as fit into a number, of two pods: the sum does not run over.
  Accounts accounts(test::types(), nullptr);
  accounts.node_added("n", 0);
  accounts.device_changed("n", test::device_object("n", {test::gpu(0, "1Gi")}).dump());
  const test::Ask everything{{"nvidia.com/gpu", std::numeric_limits<int64_t>::max()}};
  const auto all = test::quantities(everything);
  for (const char* uid : {"a", "b", "c"}) accounts.pod_assigned({uid, "n", std::nullopt, all});
  EXPECT_GT(accounts.at_slot(0)->type(0).unknown_whole, 0);
  EXPECT_EQ(test::outcome(*accounts.at_slot(0), test::demand_of({{"nvidia.com/gpu", 1}})),
            "Insufficient gpu devices");
  for (const char* uid : {"a", "b", "c"}) accounts.pod_removed(uid);
  EXPECT_EQ(accounts.at_slot(0)->type(0).unknown_whole, 0);
}

// The largest object that an API server stores holds about so many; in any order.
TEST(HostileInput, ThousandsOfDevices) {
  std::vector<Json> devices;
  for (int i = 0; i < 8000; ++i)
    devices.push_back({{"type", "gpu"},
                       {"minor", 8000 - i},
                       {"health", true},
                       {"resources", {{"koordinator.sh/gpu-core", "100"}}}});
  Json object = test::device_object("n", devices);
  const auto start = std::chrono::steady_clock::now();
  Accounts accounts(test::types(), nullptr);
  accounts.node_added("n", 0);
  EXPECT_TRUE(accounts.device_changed("n", object.dump()).empty());
  EXPECT_EQ(accounts.at_slot(0)->type(0).devices.size(), 8000U);
  EXPECT_EQ(accounts.at_slot(0)->type(0).devices.front().minor, 1);
  object["spec"]["devices"][7999]["minor"] = 8000;
  const auto problems = accounts.device_changed("n", object.dump());
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(
      problems[0],
      "Device n: spec.devices[7999].minor: 8000 is already the minor of another gpu; gpu 8000 "
      "is not given until it is right");
  const auto seconds = std::chrono::steady_clock::now() - start;
  std::cout << std::chrono::duration_cast<std::chrono::milliseconds>(seconds).count() << " ms\n";
}

}  // namespace
}  // namespace plimsoll::devices

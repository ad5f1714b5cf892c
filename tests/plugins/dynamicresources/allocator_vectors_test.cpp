// The allocator against what Kubernetes 1.37.2 allocates (tests/vectors/dra.jsonl.gz).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "plugins/dynamicresources/allocator/allocator.hpp"
#include "plugins/dynamicresources/cel/selector.hpp"
#include "tests/conformance/vector_file.hpp"
#include "tests/plugins/dynamicresources/objects_of_json.hpp"
#include "tests/plugins/dynamicresources/plain_search.hpp"

namespace plimsoll::dra::test {
namespace {

const std::map<Fault, std::string> kClasses = {
    {Fault::kNoClassName, "no_class_name"},
    {Fault::kClassNotFound, "class_not_found"},
    {Fault::kTooManyDevices, "too_many_devices"},
    {Fault::kEmptyConstraint, "empty_constraint"},
    {Fault::kAllPoolIncomplete, "all_pool_incomplete"},
    {Fault::kAllPoolInvalid, "all_pool_invalid"},
    {Fault::kAllConstraint, "all_constraint"},
    {Fault::kCapacityNotRepresentable, "capacity_not_representable"},
    {Fault::kCapacityNegative, "capacity_negative"},
    {Fault::kCelCompile, "cel_compile"},
    {Fault::kCelRuntime, "cel_runtime"},
    {Fault::kInvalidPoolOnNode, "invalid_pool_on_node"},
    {Fault::kDerivedAttributes, "derived_attributes"},
    {Fault::kNodeSelector, "node_selector"},
    {Fault::kSelectorEmpty, "selector_empty"},
    {Fault::kUnsupportedMode, "unsupported_mode"}};

Judgement judge(const std::string& expression, std::string_view driver, const Device& device) {
  using Kind = Judgement::Kind;
  static std::map<std::string, tl::expected<cel::Selector, cel::CompileError>> known;
  auto at = known.find(expression);
  if (at == known.end()) at = known.emplace(expression, cel::Selector::compile(expression)).first;
  if (!at->second) return {Kind::kCompileError, at->second.error().text};
  const auto matches = at->second->matches(driver, device);
  if (!matches) return {Kind::kRuntimeError, matches.error()};
  return {*matches ? Kind::kTrue : Kind::kFalse, {}};
}

DeviceResult use_of(const std::string& id, bool shared) {
  const size_t first = id.find('/');
  const size_t last = id.rfind('/');
  DeviceResult result;
  result.driver = id.substr(0, first);
  result.pool = id.substr(first + 1, last - first - 1);
  result.device = id.substr(last + 1);
  if (shared) result.share_id = "share";
  return result;
}

std::vector<DeviceResult> allocated_of(const Json& c) {
  std::vector<DeviceResult> results;
  const Json allocated = c.value("allocated", Json::object());
  for (const auto& id : allocated.value("devices", Json::array())) {
    results.push_back(use_of(id, false));
  }
  for (const auto& share : allocated.value("shares", Json::array())) {
    const auto id = share.get<std::string>();
    results.push_back(use_of(id.substr(0, id.rfind('/')), true));
  }
  for (const auto& [id, amounts] : entries(allocated, "consumedCapacity").items()) {
    DeviceResult& result = results.emplace_back(use_of(id, true));
    for (const auto& [name, amount] : amounts.items()) {
      result.consumed_capacity[name] = quantity_of(amount);
    }
  }
  return results;
}

// Where the reference gives no answer of its own: it depends on the order in which the slices came.
bool is_left_out(const Json& c) {
  return c.contains("orderDependent");
}

struct Tally {
  std::map<std::string, size_t> compared;
  size_t wrong = 0, left_out = 0;
  uint64_t steps = 0, reference_steps = 0, most = 0;
};

void compare_case(const Json& c, Tally& tally) {
  const std::string id = c["id"];
  const Json features = c.value("features", Json::array());
  World world;
  DeviceNumbers numbers;
  Inventory inventory(
      numbers, judge,
      {std::find(features.begin(), features.end(), "DRAListTypeAttributes") != features.end()});
  std::map<std::string, int> names;
  for (const Json& object : c.value("resourceSlices", Json::array())) {
    Slice slice = slice_of(object);
    // Real names are unique; upstream's table has some twice.
    if (const int before = names[slice.name]++; before > 0) slice.name += std::string(before, '~');
    world.slices.push_back(slice);
    inventory.set(std::move(slice));
  }
  Allocated allocated(numbers);
  world.lists = inventory.gates().list_attributes;
  world.allocated = allocated_of(c);
  for (const DeviceResult& result : world.allocated) allocated.add(result);
  std::map<std::string, DeviceClass> classes;
  for (const Json& object : c.value("deviceClasses", Json::array())) {
    DeviceClass made = class_of(object);
    classes[made.name] = made;
  }
  for (const Json& object : c["claims"]) world.claims.push_back(claim_of(object));
  std::vector<const Claim*> asked;
  for (const Claim& claim : world.claims) asked.push_back(&claim);
  const auto find_class = [&](const std::string& name) {
    const auto at = classes.find(name);
    return at == classes.end() ? nullptr : &at->second;
  };
  Allocator allocator(inventory, allocated, find_class, asked);

  for (const Json& node : c["nodes"]) {
    const auto name = node["metadata"]["name"].get<std::string>();
    const Json& expected = c["result"][name];
    if (expected.contains("referenceViolates")) {  // a constraint, with lists
      ++tally.left_out;
      continue;
    }
    std::map<std::string, std::string> labels;
    for (const auto& [key, value] : entries(node["metadata"], "labels").items()) {
      labels[key] = value;
    }
    const Node facts{name, [&](std::string_view key) -> std::optional<std::string_view> {
                       const auto at = labels.find(std::string(key));
                       if (at == labels.end()) return {};
                       return at->second;
                     }};
    const Outcome outcome = allocator.allocate(facts);
    std::vector<Allocation> solution;
    Json got, wanted{{"outcome", expected["outcome"]}};
    switch (outcome.kind) {
      case Outcome::Kind::kAllocated:
        got["outcome"] = "allocated";
        solution = allocator.allocations(outcome, name, [] { return std::string("share"); });
        EXPECT_EQ(fault_in(world, name, solution), "") << id << " " << name;
        for (const Allocation& one : solution) got["allocations"].push_back(json_of(one));
        for (const Json& one : expected.value("allocations", Json::array())) {
          wanted["allocations"].push_back(comparable(one));
        }
        break;
      case Outcome::Kind::kNone:
        got["outcome"] = "none";
        break;
      case Outcome::Kind::kTimedOut:
        got["outcome"] = "timed out";
        break;
      case Outcome::Kind::kError: {
        got["outcome"] = "error";
        got["errorClass"] = kClasses.at(outcome.failure.fault);
        wanted["errorClass"] = expected.value("errorClass", "");
        std::string text = outcome.failure.error;
        if (got["errorClass"] == "cel_compile") text.resize(text.find(": CEL compile error") + 19);
        if (got["errorClass"] != "cel_runtime") {
          got["error"] = text;
          wanted["error"] = expected.value("error", "");
        }
      }
    }
    ++tally.compared[c["slice"]];
    tally.steps += outcome.steps;
    tally.most = std::max(tally.most, outcome.steps);
    const uint64_t theirs = expected.value("steps", uint64_t{0});
    tally.reference_steps += theirs;
    EXPECT_LE(outcome.steps, theirs + 100) << id << " " << name;
    if (got != wanted && ++tally.wrong <= 20) {
      ADD_FAILURE() << id << " on " << name << "\n got    " << got << "\n wanted " << wanted;
    }
  }
}

TEST(AllocatorVectors, AllocatesWhatKubernetesAllocates) {
  Tally tally;
  const auto read =
      conformance::for_each_line("tests/vectors/dra.jsonl.gz", [&](std::string_view line) {
        const Json c = Json::parse(line);
        if (c["slice"] == "alpha") return true;  // gates that do not exist here
        if (is_left_out(c)) {
          tally.left_out += c["nodes"].size();
        } else {
          compare_case(c, tally);
        }
        return true;
      });
  ASSERT_TRUE(read.has_value());
  const std::map<std::string, size_t> all = {{"A1", 3062}, {"A2", 869}, {"A3", 187}, {"B", 1377}};
  EXPECT_EQ(tally.compared, all);
  EXPECT_LT(tally.left_out, 10U);
  std::cout << "steps " << tally.steps << " of " << tally.reference_steps << ", most " << tally.most
            << "\n";
  EXPECT_EQ(tally.wrong, 0U);
  EXPECT_LT(tally.steps, tally.reference_steps / 5);
  EXPECT_LT(tally.most, 2000U);
}

}  // namespace
}  // namespace plimsoll::dra::test

// What the allocator costs: questions asked once, searches that end, and input that nobody meant
// well. Counted in questions and steps, never in time.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "plugins/dynamicresources/allocator/allocator.hpp"

namespace plimsoll::dra::test {
namespace {

Quantity units(int64_t amount) {
  return {Quantity::Nanos{amount} * 1'000'000'000, Quantity::Format::kDecimal};
}

Node node_of(std::string_view name) {
  return {name, [](std::string_view) { return std::nullopt; }};
}

// A cluster in which every expression is true, and how often one was looked at.
class AllocatorBounds : public testing::Test {
 protected:
  static Slice slice(const std::string& node, int64_t devices) {
    Slice made;
    made.name = "slice-" + node;
    made.driver = "gpu";
    made.pool = node;
    made.node_name = node;
    made.slice_count = 1;
    for (int64_t index = 0; index < devices; ++index) {
      made.devices.emplace_back().name = "device-" + std::to_string(index);
    }
    return made;
  }
  static Request request(const std::string& name, int64_t count) {
    DeviceRequest asked;
    asked.name = name;
    asked.class_name = "gpu";
    asked.count = count;
    return {name, false, {asked}};
  }
  static Claim claim(std::vector<Request> requests) {
    Claim made;
    made.name = "claim";
    made.requests = std::move(requests);
    return made;
  }

  Outcome allocate(const std::vector<Claim>& claims, const std::string& node = "node",
                   uint64_t most_work = Allocator::kMostWork) {
    std::vector<const Claim*> asked;
    for (const Claim& one : claims) asked.push_back(&one);
    Allocator allocator(
        inventory_, allocated_, [&](const std::string&) { return &class_; }, asked, most_work);
    return allocator.allocate(node_of(node));
  }

  // Forty devices of which no twenty are within what they share, as only a search can tell.
  void add_endless(const std::string& node) {
    Slice made = slice(node, 40);
    for (size_t index = 0; index < 40; ++index) {
      Device& device = made.devices[index];
      device.consumes.push_back(
          {"set", {{"counter", units(1'000'003 + static_cast<int64_t>(index * index * 7919))}}});
    }
    made.slice_count = 2;
    Slice counters = slice(node, 0);
    counters.name = "counters-" + node;
    counters.slice_count = 2;
    counters.counters = {{"set", {{"counter", units(21'000'000)}}}};
    inventory_.set(std::move(made));
    inventory_.set(std::move(counters));
  }

  size_t judged_ = 0;
  bool by_driver_ = false;  // an expression is true of the driver that it names, and of no other
  uint64_t steps_ = 1;      // of an expression on a device
  DeviceClass class_{"gpu", {"device.driver == \"gpu\""}, {}};
  DeviceNumbers numbers_;
  Inventory inventory_{
      numbers_,
      [this](const std::string& text, std::string_view driver, const Device&) {
        ++judged_;
        const bool is_true = !by_driver_ || text == driver;
        return Judgement{is_true ? Judgement::Kind::kTrue : Judgement::Kind::kFalse, {}, steps_};
      },
      {}};
  Allocated allocated_{numbers_};
};

TEST_F(AllocatorBounds, AnExpressionIsAskedOncePerDeviceAndSlice) {
  for (int node = 0; node < 50; ++node) {
    inventory_.set(slice("node-" + std::to_string(node), 8));
  }
  const std::vector<Claim> claims = {claim({request("r", 8)})};
  for (int pod = 0; pod < 20; ++pod) {
    for (int node = 0; node < 50; ++node) {
      const Outcome outcome = allocate(claims, "node-" + std::to_string(node));
      ASSERT_EQ(outcome.kind, Outcome::Kind::kAllocated);
      ASSERT_EQ(outcome.steps, 9U);
    }
  }
  EXPECT_EQ(judged_, 400U);
  inventory_.set(slice("node-7", 8));
  for (int node = 0; node < 50; ++node) (void)allocate(claims, "node-" + std::to_string(node));
  EXPECT_EQ(judged_, 408U);
}

// An expression that takes a million steps on each device: an attempt asks about few of them, and
// the next one knows what they said.
TEST_F(AllocatorBounds, SlowExpressionsEndTheAttemptAndNotTheLoop) {
  constexpr size_t kAtMost = Allocator::kMostJudged / 1'000'000 + 1;
  steps_ = 1'000'000;
  inventory_.set(slice("node", 30));
  const std::vector<Claim> claims = {claim({request("r", 30)})};
  int attempts = 1;
  for (Outcome outcome = allocate(claims); outcome.kind != Outcome::Kind::kAllocated; ++attempts) {
    ASSERT_EQ(outcome.kind, Outcome::Kind::kTimedOut);
    ASSERT_LE(judged_, kAtMost * static_cast<size_t>(attempts));
    ASSERT_LT(attempts, 31);
    outcome = allocate(claims);
  }
  EXPECT_GT(attempts, 5);
  EXPECT_EQ(judged_, 30U);
}

// Eight of sixteen with one root, of which no root has more than seven: 6,435 ways for each first
// device in a search that tries them all.
TEST_F(AllocatorBounds, HopelessSearchesEndEarly) {
  Slice made = slice("node", 16);
  for (size_t index = 0; index < 16; ++index) {
    made.devices[index].attributes["gpu/root"] = "root-" + std::to_string(index % 3);
  }
  inventory_.set(std::move(made));
  Claim wants = claim({request("a", 8)});
  wants.constraints.push_back({{}, "gpu/root", {}});
  Outcome outcome = allocate({wants});
  EXPECT_EQ(outcome.kind, Outcome::Kind::kNone);
  EXPECT_LE(outcome.steps, 120U);

  // The same with eight requests for one.
  wants.requests.clear();
  for (int index = 0; index < 8; ++index)
    wants.requests.push_back(request("r" + std::to_string(index), 1));
  outcome = allocate({wants});
  EXPECT_EQ(outcome.kind, Outcome::Kind::kNone);
  EXPECT_LE(outcome.steps, 120U);

  // Seventeen claims for sixteen devices.
  outcome = allocate(std::vector<Claim>(17, claim({request("r", 1)})));
  EXPECT_EQ(outcome.kind, Outcome::Kind::kNone);
  EXPECT_LE(outcome.steps, 150U);
}

// Each of 31 requests may take one device in eight ways, and the last one never fits.
TEST_F(AllocatorBounds, ManyAlternativesAreNotMultiplied) {
  inventory_.set(slice("node", 32));
  std::vector<Request> requests;
  for (int index = 0; index < 32; ++index) {
    Request one{"r" + std::to_string(index), true, {}};
    for (int alternative = 0; alternative < 8; ++alternative) {
      one.alternatives.push_back(request("s" + std::to_string(alternative), 1).alternatives[0]);
    }
    requests.push_back(one);
  }
  for (DeviceRequest& asked : requests.back().alternatives) {
    asked.capacity["memory"] = units(1);  // which no device has
  }
  const Outcome outcome = allocate({claim(requests)});
  EXPECT_EQ(outcome.kind, Outcome::Kind::kNone);
  EXPECT_LE(outcome.steps, 300U);
}

// A card and a network card with one root, which only the last of many nodes has. The others are
// no reason to give up before it.
TEST_F(AllocatorBounds, ManyNodesWithoutASolutionAreNoTimeout) {
  constexpr int kNodes = 2'000;
  by_driver_ = true;
  for (int node = 0; node < kNodes; ++node) {
    for (const auto& [driver, devices] : {std::pair("gpu", 8), {"nic", 8}, {"cpu", 64}}) {
      Slice made = slice("node-" + std::to_string(node), devices);
      made.name = driver + ("-" + std::to_string(node));
      made.driver = driver;
      for (Device& device : made.devices) {
        const bool other = made.driver == "nic" && node + 1 < kNodes;
        device.attributes["x/root"] = (other ? "other-" : "") + device.name;
      }
      inventory_.set(std::move(made));
    }
  }
  DeviceClass gpu{"gpu", {"gpu"}, {}}, nic{"nic", {"nic"}, {}};
  Claim wants = claim({request("a", 1), request("b", 1)});
  wants.requests[1].alternatives[0].class_name = "nic";
  wants.constraints.push_back({{}, "x/root", {}});
  Allocator allocator(inventory_, allocated_,
                      [&](const std::string& name) { return name == "gpu" ? &gpu : &nic; },
                      {&wants});
  for (int node = 0; node < kNodes; ++node) {
    const std::string name = "node-" + std::to_string(node);
    ASSERT_EQ(allocator.judge(node_of(name)).kind,
              node + 1 < kNodes ? Outcome::Kind::kNone : Outcome::Kind::kAllocated)
        << node;
  }
}

// What one node uses up is not taken from the next one, unless all of them together are too much.
TEST_F(AllocatorBounds, EachNodeHasWorkOfItsOwn) {
  const std::vector<Claim> claims = {claim({request("a", 10), request("b", 10)})};
  std::vector<const Claim*> asked = {&claims[0]};
  Allocator allocator(
      inventory_, allocated_, [&](const std::string&) { return &class_; }, asked, 50'000);
  const auto steps = [&](uint64_t node) {
    const std::string name = "node-" + std::to_string(node);
    add_endless(name);
    const Outcome outcome = allocator.judge(node_of(name));
    EXPECT_EQ(outcome.kind, Outcome::Kind::kTimedOut);
    return outcome.steps;
  };
  const uint64_t first = steps(0);
  for (uint64_t node = 1; node < Allocator::kMostNodes; ++node) EXPECT_EQ(steps(node), first);
  EXPECT_LT(steps(Allocator::kMostNodes), first / 2);
  inventory_.set(slice("simple", 30));
  EXPECT_EQ(allocator.judge(node_of("simple")).kind, Outcome::Kind::kAllocated);
}

// Anybody may ask new questions. What was answered to old ones is not kept.
TEST_F(AllocatorBounds, AnswersThatNobodyNeedsTakeNoRoom) {
  inventory_.set(slice("node", 8));
  const KnownSlice& known = *inventory_.slice("slice-node");
  const auto kept = [](const auto& pages, auto answers) {
    return std::count_if(pages.begin(), pages.end(),
                         [&](const auto& page) { return !(page.*answers).empty(); });
  };
  for (int i = 0; i < 300; ++i) {
    const auto question = inventory_.expression(std::to_string(i));
    const auto attribute = inventory_.attribute("x/" + std::to_string(i));
    ASSERT_LE(kept(known.verdicts, &VerdictPage::verdicts), 255) << i;
    ASSERT_LE(kept(known.attributes, &AttributePage::values), 255) << i;
    EXPECT_EQ(inventory_.verdict(*question, known.devices[0]), Judgement::Kind::kTrue);
    EXPECT_EQ(inventory_.value(*attribute, known.devices[0]), kNoValue);
  }
  EXPECT_EQ(known.verdicts.size(), 256U);
  // Of many devices fewer are kept.
  for (int node = 0; node < 1'000; ++node) inventory_.set(slice(std::to_string(node), 128));
  (void)inventory_.expression("one more");
  EXPECT_LE(kept(known.verdicts, &VerdictPage::verdicts), 16'000'000 / 128'000);
}

// Taints of rules come and go, while what is known of the devices stays.
TEST_F(AllocatorBounds, NewTaintsAskNothingAgain) {
  inventory_.set(slice("node", 2));
  const std::vector<Claim> claims = {claim({request("r", 1)})};
  ASSERT_EQ(allocate(claims).kind, Outcome::Kind::kAllocated);
  const size_t judged = judged_;
  const auto taint = [&](std::vector<Taint> taints) {
    inventory_.each_slice([&](Slice& of) {
      for (Device& device : of.devices) device.taints = taints;
    });
  };
  taint({{"broken", "", "NoSchedule"}});
  EXPECT_EQ(allocate(claims).kind, Outcome::Kind::kNone);
  taint({});
  EXPECT_EQ(allocate(claims).kind, Outcome::Kind::kAllocated);
  EXPECT_LE(judged_, judged + 1) << "the second device was looked at, too";
}

// What counting does not see ends by the bound on work.
TEST_F(AllocatorBounds, ASearchWithoutEndIsTimedOut) {
  add_endless("node");
  const Outcome outcome = allocate({claim({request("a", 10), request("b", 10)})}, "node", 100'000);
  EXPECT_EQ(outcome.kind, Outcome::Kind::kTimedOut);
  EXPECT_LE(outcome.steps, 100'000U);
  EXPECT_EQ(allocate({claim({request("a", 1)})}).kind, Outcome::Kind::kAllocated);
}

TEST_F(AllocatorBounds, ManyClaimsAreNoDeepRecursion) {
  Slice made = slice("node", 1);
  made.devices[0].allow_multiple_allocations = true;
  inventory_.set(std::move(made));
  const std::vector<Claim> claims(20'000, claim({request("r", 1)}));
  Outcome outcome = allocate(claims);
  ASSERT_EQ(outcome.kind, Outcome::Kind::kAllocated);
  EXPECT_EQ(outcome.picks.size(), 20'000U);
}

TEST_F(AllocatorBounds, AmountsBeyondAllBoundsAddUp) {
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  const Quantity huge(Quantity::Nanos{1} << 126, Quantity::Format::kDecimal);
  Slice made = slice("node", 4);
  made.slice_count = 2;
  for (Device& device : made.devices) {
    device.allow_multiple_allocations = true;
    device.capacity["memory"] = {huge, {}};
    device.consumes.push_back({"set", {{"counter", units(kMost)}, {"other", huge}}});
  }
  Slice counters = slice("node", 0);
  counters.name = "counters";
  counters.slice_count = 2;
  counters.counters = {{"set", {{"counter", units(kMost)}, {"other", huge}}}};
  inventory_.set(std::move(made));
  inventory_.set(std::move(counters));
  Claim wants = claim({request("r", 1)});
  EXPECT_EQ(allocate({wants}).kind, Outcome::Kind::kAllocated);
  wants.requests.push_back(request("s", 1));
  EXPECT_EQ(allocate({wants}).kind, Outcome::Kind::kNone);
  wants.requests[0].alternatives[0].count = kMost;
  EXPECT_EQ(allocate({wants}).failure.error,
            "claim claim, request r: adding 9223372036854775807 devices exceeds the claim limit of "
            "32, with 0 already accounted for");
  wants.requests[0].alternatives[0].count = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(allocate({wants}).kind, Outcome::Kind::kAllocated);
}

// A pool of 2,000 slices, one per node, with counters for all: built once, not once per node.
TEST_F(AllocatorBounds, APoolOverManyNodes) {
  constexpr int kNodes = 2'000;
  for (int node = 0; node < kNodes; ++node) {
    Slice made = slice("node-" + std::to_string(node), 2);
    made.pool = "rack";
    made.slice_count = kNodes + 1;
    int index = 0;
    for (Device& device : made.devices) {
      device.name += "-of-" + std::to_string(node);
      if (index++ == 0) device.consumes.push_back({"set", {{"links", units(1)}}});
    }
    inventory_.set(std::move(made));
  }
  Slice counters = slice("counters", 0);
  counters.pool = "rack";
  counters.slice_count = kNodes + 1;
  counters.counters = {{"set", {{"links", units(3)}}}};
  inventory_.set(std::move(counters));
  for (int node = 0; node < kNodes; ++node) {
    const Outcome outcome = allocate({claim({request("r", 2)})}, "node-" + std::to_string(node));
    ASSERT_EQ(outcome.kind, node < 3 ? Outcome::Kind::kAllocated : Outcome::Kind::kNone) << node;
    for (const Outcome::Pick& pick : outcome.picks) {
      const Slice& of = pick.device->slice->spec;
      allocated_.add(
          {"r", of.driver, of.pool, pick.device->device->name, false, {}, {}, {}, {}, {}});
    }
  }
  EXPECT_EQ(judged_, 2U * kNodes);
}

}  // namespace
}  // namespace plimsoll::dra::test

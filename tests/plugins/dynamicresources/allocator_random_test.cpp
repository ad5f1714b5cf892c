// Drawn worlds: what the allocator finds is what the plain search finds, whatever came in whichever
// order, and what is gone leaves nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "plugins/dynamicresources/allocator/allocator.hpp"
#include "tests/plugins/dynamicresources/plain_search.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::dra::test {
namespace {

constexpr Quantity::Nanos kOne = 1'000'000'000;

Quantity whole(int64_t amount) {
  return {amount * kOne, Quantity::Format::kDecimal};
}

// "even", "odd", "any", and "broken", which is an error on devices without a number.
Judgement judge_number(const std::string& expression, std::string_view, const Device& device) {
  using Kind = Judgement::Kind;
  if (expression == "any") return {Kind::kTrue, {}};
  const auto at = device.attributes.find("number");
  if (at == device.attributes.end()) {
    return {expression == "broken" ? Kind::kRuntimeError : Kind::kFalse, "no such key: number"};
  }
  if (expression == "broken") return {Kind::kTrue, {}};
  const bool even = std::get<int64_t>(at->second) % 2 == 0;
  return {even == (expression == "even") ? Kind::kTrue : Kind::kFalse, {}};
}

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}

  World world() {
    World made;
    made.judge = judge_number;
    made.lists = chance(30);
    made.classes["any"] = {"any", {"any"}, {}};
    made.classes["even"] = {"even", {"even"}, {}};
    made.classes["odd"] = {"odd", {"odd"}, {}};
    const int64_t pools = number(1, 3);
    for (int64_t pool = 0; pool < pools; ++pool) add_pool(made, "pool-" + std::to_string(pool));
    std::shuffle(made.slices.begin(), made.slices.end(), random_);
    const int64_t claims = number(1, 2);
    for (int64_t index = 0; index < claims; ++index) made.claims.push_back(claim(index));
    for (const Slice& slice : made.slices) {
      for (const Device& device : slice.devices) {
        if (!chance(15)) continue;
        DeviceResult& result = made.allocated.emplace_back();
        result.driver = slice.driver;
        result.pool = slice.pool;
        result.device = device.name;
        if (!device.allow_multiple_allocations) continue;
        result.share_id = "held";
        if (chance(70)) result.consumed_capacity["memory"] = whole(number(1, 4));
      }
    }
    return made;
  }

  std::mt19937& random() { return random_; }
  int64_t number(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random_() % static_cast<uint64_t>(to - from + 1));
  }
  bool chance(int percent) { return number(1, 100) <= percent; }

 private:
  void add_pool(World& world, const std::string& name) {
    const bool counters = chance(25);
    const int64_t slices = number(1, 2);
    const bool incomplete = chance(4);
    int64_t device = 0;
    for (int64_t index = 0; index < slices; ++index) {
      Slice& slice = world.slices.emplace_back(empty_slice(name, index));
      slice.slice_count = slices + (counters ? 1 : 0) + (incomplete ? 1 : 0);
      const int64_t devices = number(1, 4);
      for (int64_t i = 0; i < devices; ++i) {
        slice.devices.push_back(draw_device(chance(2) ? 0 : device++, counters));
      }
    }
    if (counters) {
      Slice& slice = world.slices.emplace_back(empty_slice(name, 9));
      slice.slice_count = slices + 1;
      slice.counters = {{"set", {{"a", whole(number(2, 6))}, {"b", whole(number(2, 6))}}}};
    }
    if (chance(10)) {  // a generation that is gone, or one that is to come
      Slice& slice = world.slices.emplace_back(empty_slice(name, 8));
      slice.generation = chance(70) ? 0 : 2;
      slice.slice_count = 1;
      slice.devices.push_back(draw_device(0, false));
      if (chance(50)) {
        slice.node_name = "other";
        slice.all_nodes = false;
      }
    }
  }

  Slice empty_slice(const std::string& pool, int64_t index) {
    Slice slice;
    slice.name = pool + "-" + std::to_string(index);
    slice.driver = pool == "pool-0" ? "a" : "b";
    slice.pool = pool;
    slice.generation = 1;
    if (chance(70)) {
      slice.node_name = "node";
    } else {
      slice.all_nodes = true;
    }
    return slice;
  }

  Device draw_device(int64_t index, bool counters) {
    Device device;
    device.name = "device-" + std::to_string(index);
    if (chance(97)) device.attributes["number"] = number(0, 3);
    if (chance(95)) device.attributes["x/zone"] = number(0, 2);
    if (chance(90)) device.attributes["x/root"] = "root-" + std::to_string(number(0, 2));
    if (chance(30)) {
      std::vector<int64_t> zones;
      const int64_t size = number(0, 3);
      for (int64_t i = 0; i < size; ++i) zones.push_back(number(0, 2));
      device.attributes["x/zone"] = zones;
    }
    if (chance(15)) device.taints.push_back({"key", "value", chance(80) ? "NoSchedule" : "None"});
    if (counters && chance(80)) {
      device.consumes.push_back({"set", {{"a", whole(number(0, 3))}}});
      if (chance(50)) device.consumes[0].counters["b"] = whole(number(0, 3));
    }
    if (counters && chance(3)) device.consumes.push_back({"none", {}});
    if (chance(20)) device.allow_multiple_allocations = true;
    if (chance(40)) device.capacity["memory"] = {whole(number(4, 8)), {}};
    if (chance(5)) device.binding_conditions.push_back("ready");
    return device;
  }

  DeviceRequest draw_asked(const std::string& name, bool may_be_admin) {
    DeviceRequest made;
    made.name = name;
    made.class_name = chance(60) ? "any" : chance(50) ? "even" : "odd";
    if (chance(10)) made.selectors.emplace_back("even");
    if (chance(3)) made.selectors.emplace_back("broken");
    if (chance(8)) made.mode = "All";
    made.count = chance(3) ? number(20, 40) : number(1, 3);
    made.admin_access = may_be_admin && chance(8);
    if (chance(60)) made.tolerations.push_back({"key", "Exists", "", "", {}});
    if (chance(15)) made.capacity["memory"] = whole(number(1, 4));
    return made;
  }

  Claim claim(int64_t index) {
    Claim claim;
    claim.name = "claim-" + std::to_string(index);
    const int64_t requests = number(1, 4);
    for (int64_t i = 0; i < requests; ++i) {
      Request& request = claim.requests.emplace_back();
      request.name = "r" + std::to_string(i);
      request.first_available = chance(20);
      const int64_t alternatives = request.first_available ? number(1, 3) : 1;
      for (int64_t j = 0; j < alternatives; ++j) {
        request.alternatives.push_back(
            draw_asked(request.first_available ? "s" + std::to_string(j) : request.name,
                       !request.first_available));
      }
    }
    const int64_t constraints = chance(60) ? number(1, 2) : 0;
    for (int64_t i = 0; i < constraints; ++i) {
      Constraint& constraint = claim.constraints.emplace_back();
      const std::string attribute = chance(50) ? "x/zone" : "x/root";
      (chance(65) ? constraint.match_attribute : constraint.distinct_attribute) = attribute;
      if (!chance(40)) continue;
      const auto& request = claim.requests[static_cast<size_t>(number(0, requests - 1))];
      constraint.requests.push_back(request.name);
      if (request.first_available && chance(50)) {
        constraint.requests.back() += "/" + request.alternatives.back().name;
      }
      if (chance(50)) constraint.requests.push_back(claim.requests.front().name);
    }
    return claim;
  }

  std::mt19937 random_;
};

const Node kNode{"node", [](std::string_view) { return std::nullopt; }};

// One process's state, as the plugin would hold it.
struct State {
  explicit State(const World& of)
      : world(of), inventory(numbers, of.judge, {of.lists}), allocated(numbers) {}

  Outcome allocate(uint64_t most_work = Allocator::kMostWork) {
    prepare(most_work);
    return allocator->allocate(kNode);
  }
  void prepare(uint64_t most_work = Allocator::kMostWork) {
    asked.clear();
    for (const Claim& claim : world.claims) asked.push_back(&claim);
    allocator = std::make_unique<Allocator>(
        inventory, allocated, [this](const std::string& name) { return &world.classes.at(name); },
        asked, most_work);
  }
  std::vector<Allocation> allocations(const Outcome& outcome) {
    return allocator->allocations(outcome, "node", [] { return std::string("share"); });
  }
  // As the plain search puts it.
  PlainAnswer answer() {
    const Outcome outcome = allocate();
    PlainAnswer made;
    made.steps = outcome.steps;
    switch (outcome.kind) {
      case Outcome::Kind::kNone:
        made.outcome = "none";
        break;
      case Outcome::Kind::kTimedOut:
        made.outcome = "timed out";
        break;
      case Outcome::Kind::kError:
        switch (outcome.failure.fault) {
          case Fault::kTooManyDevices:
            made.outcome = "too many";
            break;
          case Fault::kAllPoolIncomplete:
            made.outcome = "incomplete";
            break;
          case Fault::kAllPoolInvalid:
            made.outcome = "invalid";
            break;
          case Fault::kAllConstraint:
            made.outcome = "all constraint";
            break;
          case Fault::kInvalidPoolOnNode:
            made.outcome = "invalid pool";
            break;
          case Fault::kCelRuntime:
            made.outcome = "cel";
            break;
          default:
            made.outcome = outcome.failure.error;
        }
        break;
      case Outcome::Kind::kAllocated: {
        made.outcome = "allocated";
        const std::vector<Allocation> all = allocations(outcome);
        EXPECT_EQ(fault_in(world, "node", all), "");
        for (size_t claim = 0; claim < all.size(); ++claim) {
          for (const DeviceResult& one : all[claim].results) {
            made.picks.push_back(std::to_string(claim) + " " + one.request + " " + one.driver +
                                 "/" + one.pool + "/" + one.device);
          }
        }
      }
    }
    return made;
  }

  const World& world;
  DeviceNumbers numbers;
  Inventory inventory;
  Allocated allocated;
  std::vector<const Claim*> asked;
  std::unique_ptr<Allocator> allocator;
};

TEST(AllocatorRandom, FindsWhatThePlainSearchFinds) {
  const uint32_t seed = plimsoll::test::test_seed();
  std::map<std::string, size_t> outcomes;
  uint64_t steps = 0, plain_steps = 0;
  size_t hard = 0;
  for (uint32_t round = 0; round < 1000; ++round) {
    const World world = Draw(seed + round).world();
    const PlainAnswer wanted = plain_search(world, "node");
    if (wanted.gave_up) continue;
    State state(world);
    for (const Slice& slice : world.slices) state.inventory.set(slice);
    for (const DeviceResult& result : world.allocated) state.allocated.add(result);
    const PlainAnswer got = state.answer();
    ASSERT_EQ(got.outcome, wanted.outcome) << "PLIMSOLL_TEST_SEED=" << seed + round;
    ASSERT_EQ(got.picks, wanted.picks) << "PLIMSOLL_TEST_SEED=" << seed + round;
    EXPECT_LE(got.steps, 2 * wanted.steps + 150) << "PLIMSOLL_TEST_SEED=" << seed + round;
    ++outcomes[got.outcome];
    steps += got.steps;
    plain_steps += wanted.steps;
    hard += wanted.steps > 300 ? 1 : 0;
  }
  for (const auto& [outcome, count] : outcomes) std::cout << outcome << " " << count << "\n";
  std::cout << "steps " << steps << " of " << plain_steps << ", hard " << hard << "\n";
  EXPECT_GT(outcomes["allocated"], 100U);
  EXPECT_GT(outcomes["none"], 100U);
  EXPECT_GT(hard, 5U);
  EXPECT_LT(steps, plain_steps * 3 / 4);
}

TEST(AllocatorRandom, FindsTheFirstOfTheNearest) {
  const uint32_t seed = plimsoll::test::test_seed();
  size_t nearer = 0, all_near = 0;
  for (uint32_t round = 0; round < 1000; ++round) {
    Draw draw(seed + round);
    World world = draw.world();
    PlainAnswer wanted = plain_search(world, "node");
    if (wanted.gave_up || wanted.outcome != "allocated") continue;
    for (const Slice& slice : world.slices) {
      for (const Device& device : slice.devices) {
        if (draw.chance(50)) world.away.insert(slice.driver + "/" + slice.pool + "/" + device.name);
      }
    }
    const std::vector<std::string> reference = wanted.picks;
    bool known = true;
    uint32_t away = 0;
    for (;; ++away) {
      world.most_away = away;
      wanted = plain_search(world, "node");
      known = known && !wanted.gave_up;
      if (wanted.outcome == "allocated" || away > 32) break;
    }
    if (!known) continue;
    State state(world);
    for (const Slice& slice : world.slices) state.inventory.set(slice);
    for (const DeviceResult& result : world.allocated) state.allocated.add(result);
    state.prepare();
    const auto is_away = [&](const KnownDevice& device) {
      const Slice& slice = device.slice->spec;
      return world.away.contains(slice.driver + "/" + slice.pool + "/" + device.device->name);
    };
    const Node node{"node", [](std::string_view) { return std::nullopt; }};
    const Outcome got = state.allocator->allocate_near(node, is_away);
    ASSERT_EQ(got.kind, Outcome::Kind::kAllocated) << "PLIMSOLL_TEST_SEED=" << seed + round;
    EXPECT_EQ(got.away, away) << "PLIMSOLL_TEST_SEED=" << seed + round;
    std::vector<std::string> picks;
    const std::vector<Allocation> all = state.allocations(got);
    EXPECT_EQ(fault_in(world, "node", all), "");
    for (size_t claim = 0; claim < all.size(); ++claim) {
      for (const DeviceResult& one : all[claim].results) {
        picks.push_back(std::to_string(claim) + " " + one.request + " " + one.driver + "/" +
                        one.pool + "/" + one.device);
      }
    }
    ASSERT_EQ(picks, wanted.picks) << "PLIMSOLL_TEST_SEED=" << seed + round;
    nearer += picks != reference ? 1 : 0;
    all_near += away == 0 ? 1 : 0;
    const Outcome none = state.allocator->allocate_near(node, is_away, 0);
    EXPECT_EQ(none.kind == Outcome::Kind::kAllocated, away == 0);
  }
  EXPECT_GT(nearer, 50U);
  EXPECT_GT(all_near, 50U);
}

TEST(AllocatorRandom, KnowsNoOrderOfEventsAndNothingThatIsGone) {
  const uint32_t seed = plimsoll::test::test_seed();
  for (uint32_t round = 0; round < 300; ++round) {
    Draw draw(seed + round);
    const World world = draw.world();
    const World other = draw.world();
    State fresh(world);
    for (const Slice& slice : world.slices) fresh.inventory.set(slice);
    for (const DeviceResult& result : world.allocated) fresh.allocated.add(result);
    const PlainAnswer wanted = fresh.answer();

    // Another world first; then this one over it, in another order, with questions between.
    State state(world);
    for (const Slice& slice : other.slices) state.inventory.set(slice);
    for (const DeviceResult& result : other.allocated) state.allocated.add(result);
    (void)state.allocate();
    World shuffled = world;
    std::shuffle(shuffled.slices.begin(), shuffled.slices.end(), draw.random());
    std::shuffle(shuffled.allocated.begin(), shuffled.allocated.end(), draw.random());
    for (const Slice& slice : shuffled.slices) {
      state.inventory.set(slice);
      if (draw.chance(30)) (void)state.allocate();
    }
    for (const DeviceResult& result : shuffled.allocated) {
      state.allocated.add(result);
      if (draw.chance(30)) (void)state.allocate();
    }
    for (const Slice& slice : other.slices) {
      const auto same = [&](const Slice& one) { return one.name == slice.name; };
      if (std::any_of(world.slices.begin(), world.slices.end(), same)) continue;
      state.inventory.remove(slice.name);
      if (draw.chance(30)) (void)state.allocate();
    }
    for (const DeviceResult& result : other.allocated) {
      state.allocated.remove(result);
      if (draw.chance(30)) (void)state.allocate();
    }
    const PlainAnswer got = state.answer();
    ASSERT_EQ(got.outcome, wanted.outcome) << "PLIMSOLL_TEST_SEED=" << seed + round;
    ASSERT_EQ(got.picks, wanted.picks) << "PLIMSOLL_TEST_SEED=" << seed + round;
    ASSERT_EQ(got.steps, wanted.steps) << "PLIMSOLL_TEST_SEED=" << seed + round;

    // All gone: no device has a number any more.
    state.allocator.reset();
    for (const Slice& slice : world.slices) state.inventory.remove(slice.name);
    for (const DeviceResult& result : world.allocated) state.allocated.remove(result);
    ASSERT_EQ(state.numbers.devices(), 0U);
  }
}

}  // namespace
}  // namespace plimsoll::dra::test

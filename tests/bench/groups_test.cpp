// The benchmark of gangs in small, without an API server: what it says of places is so, and
// Plimsoll puts every gang into the smallest domain that an exhaustive search knows.

#include <gtest/gtest.h>

#include <memory>

#include "bench/groups/group_world.hpp"
#include "bench/groups/mix.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::bench {
namespace {

const Network kSmall{.blocks = 2, .racks = 2, .domains = 1, .hosts = 2};

// Tries all nodes for each pod.
bool fits_somehow(const Room& room, Span span, const Gang& gang, size_t pod = 0) {
  if (pod == gang.pods.size()) return true;
  for (size_t node = span.begin; node < span.end; ++node) {
    if (!room[node].hold(gang.pods[pod])) continue;
    Room rest = room;
    rest[node].add(gang.pods[pod], -1);
    if (fits_somehow(rest, span, gang, pod + 1)) return true;
  }
  return false;
}

TEST(GroupsBench, AGangFitsWhereASearchOverAllPlacesFindsOne) {
  const Gang gang{"gang", {{20, 0}, {16, 4}, {16, 4}, {16, 4}}};
  const Room tight{{36, 4}, {32, 8}};
  EXPECT_TRUE(holds(tight, {0, 2}, gang));
  EXPECT_TRUE(fits_somehow(tight, {0, 2}, gang));
  EXPECT_FALSE(holds({{35, 4}, {32, 8}}, {0, 2}, gang));
  EXPECT_FALSE(fits_somehow({{35, 4}, {32, 8}}, {0, 2}, gang));
  EXPECT_FALSE(first_fit({{32, 8}, {36, 4}}, {0, 2}, gang).has_value()) << "no orders are tried";
}

// Says whether the search was right about all gangs that it was asked for.
class Checked final : public Placer {
 public:
  explicit Checked(const Network& network) : network_(network) {}
  std::optional<Places> place(const Room& room, const Gang& gang) override {
    const Span all{0, room.size()};
    if (gang.pods.size() <= 4) {
      ++asked;
      EXPECT_EQ(holds(room, all, gang), fits_somehow(room, all, gang)) << gang.name;
    }
    return by_totals(network_, room, gang);
  }
  void remove(const Gang&) override {}
  int asked = 0;

 private:
  const Network network_;
};

TEST(GroupsBench, TheSearchIsExact) {
  const uint64_t seed = test::test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Checked checked(kSmall);
  const MixResult result =
      run_mix({.network = kSmall, .load = 0.95, .gangs = 60, .seed = seed}, checked);
  EXPECT_EQ(result.wrong, "");
  EXPECT_EQ(result.came, 60);
  EXPECT_GT(checked.asked, 0);
}

TEST(GroupsBench, EveryGangIsInTheSmallestDomain) {
  const uint64_t seed = test::test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  GroupWorld world({.network = kSmall});
  const MixResult result =
      run_mix({.network = kSmall, .load = 0.9, .gangs = 60, .seed = seed}, world);
  EXPECT_EQ(result.wrong, "");
  EXPECT_GT(result.possible, 0);
  EXPECT_EQ(result.placed, result.possible);
  EXPECT_EQ(result.in_smallest, result.possible);
}

TEST(GroupsBench, TimesADecision) {
  GroupWorld world({.network = kSmall, .required = GroupWorld::kRack});
  const Gang gang{"gang", std::vector<Amounts>(20, Amounts{4, 0})};
  const auto places = world.place({}, gang);
  ASSERT_TRUE(places.has_value());
  EXPECT_EQ(places->front() / 2, places->back() / 2) << "one rack of two hosts";
  EXPECT_GT(world.last_decision().decided, 0);
  EXPECT_GE(world.last_decision().committed, world.last_decision().decided);
}

}  // namespace
}  // namespace plimsoll::bench

#include "framework/placement/node_ranking.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/seed.hpp"

namespace plimsoll {
namespace {

TEST(NodeRanking, HasNoBestWithoutNodes) {
  NodeRanking ranking;
  EXPECT_EQ(ranking.best(), NodeRanking::kNone);
  ranking.reset(5);
  EXPECT_EQ(ranking.best(), NodeRanking::kNone);
}

TEST(NodeRanking, PrefersTheHigherTotalThenTheLongerRestThenTheLowerSlot) {
  NodeRanking ranking;
  ranking.reset(4);
  const std::vector<uint64_t> last_chosen = {9, 6, 7, 6};
  ranking.put(2, 10, last_chosen);
  EXPECT_EQ(ranking.best(), 2U);
  ranking.put(3, 10, last_chosen);
  EXPECT_EQ(ranking.best(), 3U);
  ranking.put(1, 10, last_chosen);
  EXPECT_EQ(ranking.best(), 1U);
  ranking.put(0, 11, last_chosen);
  EXPECT_EQ(ranking.best(), 0U);
  ranking.drop(0, last_chosen);
  EXPECT_EQ(ranking.best(), 1U);
}

TEST(NodeRanking, IsTheBestOfAWalk) {
  std::mt19937 dice(test::test_seed());
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(dice() % limit); };
  for (int round = 0; round < 50; ++round) {
    size_t slots = 1 + below(round % 2 == 0 ? 40 : 400);
    // Totals of other magnitudes take more bytes.
    const int64_t unit = int64_t{1} << (round % 5 * 12);
    std::vector<uint64_t> last_chosen(slots);
    NodeRanking ranking;
    ranking.reset(slots);
    std::map<uint32_t, std::pair<int64_t, uint64_t>> kept;
    for (int step = 0; step < 200; ++step) {
      if (below(50) == 0) {
        slots += below(30);
        last_chosen.resize(slots);
        ranking.grow(slots);
      }
      const uint32_t slot = below(static_cast<uint32_t>(slots));
      if (below(3) == 0) {
        ranking.drop(slot, last_chosen);
        kept.erase(slot);
      } else {
        const auto value = std::pair<int64_t, uint64_t>(unit * below(6), below(4));
        kept[slot] = value;
        last_chosen[slot] = value.second;
        if (below(8) == 0) {
          ranking.set(slot, value.first);
          ranking.play_all(last_chosen);
        } else {
          ranking.put(slot, value.first, last_chosen);
        }
      }
      uint32_t best = NodeRanking::kNone;
      for (const auto& [other, value] : kept) {
        if (best == NodeRanking::kNone || value.first > kept[best].first ||
            (value.first == kept[best].first && value.second < kept[best].second)) {
          best = other;
        }
      }
      ASSERT_EQ(ranking.best(), best) << "round " << round << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace plimsoll

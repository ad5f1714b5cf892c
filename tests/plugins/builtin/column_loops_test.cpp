// The loops over columns, held against the plain formulas: at amounts of every magnitude, and at
// those next to the point where a whole percentage begins.

#include "plugins/builtin/columns/column_loops.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/seed.hpp"

namespace plimsoll::builtin {
namespace {

constexpr size_t kNodes = 1'024;
constexpr size_t kRounds = 200;

int64_t percent(int64_t part, int64_t whole) {
  return static_cast<int64_t>(static_cast<__int128>(part) * 100 / whole);
}
int64_t least(int64_t requested, int64_t allocatable) {
  return requested > allocatable ? 0 : percent(allocatable - requested, allocatable);
}
int64_t most(int64_t requested, int64_t allocatable) {
  return percent(std::min(requested, allocatable), allocatable);
}
double fraction(int64_t amount, int64_t allocatable) {
  return std::min(1.0, static_cast<double>(amount) / static_cast<double>(allocatable));
}
int64_t evenness(double first, double second) {
  return static_cast<int64_t>((1 - std::abs((first - second) / 2)) * 100.0);
}

class ColumnLoops : public ::testing::Test {
 protected:
  uint64_t below(uint64_t limit) { return engine_() % limit; }
  // Of one resource on each node: what there is and what is in use.
  void draw(std::vector<int64_t>& allocatable, std::vector<int64_t>& allocated) {
    for (size_t i = 0; i < kNodes; ++i) {
      const auto all = static_cast<int64_t>(below(uint64_t{1} << (1 + below(61))));
      allocatable[i] = all;
      allocated[i] = 0;
      if (all == 0) continue;
      allocated[i] = static_cast<int64_t>(below(static_cast<uint64_t>(all) + 2));
      if (below(2) != 0) continue;
      const auto whole = static_cast<__int128>(all) * static_cast<int64_t>(below(101)) / 100;
      allocated[i] =
          std::max<int64_t>(0, static_cast<int64_t>(whole) + 1 - static_cast<int64_t>(below(3)));
    }
  }

  std::mt19937_64 engine_{test::test_seed()};
  std::vector<int64_t> all_[2] = {std::vector<int64_t>(kNodes), std::vector<int64_t>(kNodes)};
  std::vector<int64_t> used_[2] = {std::vector<int64_t>(kNodes), std::vector<int64_t>(kNodes)};
};

TEST_F(ColumnLoops, ScoreAsTheFormulasDo) {
  std::vector<int64_t> scores(kNodes);
  size_t compared = 0;
  size_t left_out = 0;
  for (size_t round = 0; round < kRounds && !HasFailure(); ++round) {
    for (const int k : {0, 1}) draw(all_[k], used_[k]);
    const LoadColumn first{all_[0].data(), used_[0].data(), static_cast<int64_t>(below(3))};
    const LoadColumn second{all_[1].data(), used_[1].data(), static_cast<int64_t>(below(5'000))};
    const auto compare = [&](auto loop, const auto& expected) {
      loop(kNodes, first, second, scores.data());
      for (size_t i = 0; i < kNodes; ++i) {
        if (scores[i] == kLeftOut) {
          ++left_out;
          continue;
        }
        ASSERT_EQ(scores[i], expected(i))
            << used_[0][i] << " of " << all_[0][i] << ", " << used_[1][i] << " of " << all_[1][i];
        ++compared;
      }
    };
    const auto sum = [&](auto of) {
      return [&, of](size_t i) {
        return (of(used_[0][i] + first.add, all_[0][i]) +
                of(used_[1][i] + second.add, all_[1][i])) /
               2;
      };
    };
    compare(score_least_allocated, sum(least));
    compare(score_most_allocated, sum(most));
    compare(score_balanced, [&](size_t i) {
      const int64_t with = evenness(fraction(used_[0][i] + first.add, all_[0][i]),
                                    fraction(used_[1][i] + second.add, all_[1][i]));
      const int64_t without =
          evenness(fraction(used_[0][i], all_[0][i]), fraction(used_[1][i], all_[1][i]));
      return 50 + (50 + with - without) / 2;
    });
  }
  EXPECT_GT(compared, kRounds * kNodes);
  EXPECT_GT(left_out, 0U);
}

TEST_F(ColumnLoops, LeaveOutOnlyWhatTheyMust) {
  std::vector<int64_t> scores(1);
  const auto score = [&](int64_t all, int64_t used, int64_t add = 0) {
    const int64_t memory = 1 << 20;
    const int64_t none = 0;
    score_least_allocated(1, {&all, &used, add}, {&memory, &none, 0}, scores.data());
    return scores[0];
  };
  EXPECT_EQ(score(1000, 0), 100);
  EXPECT_EQ(score(1000, 2000), 50);
  EXPECT_EQ(score(1000, std::numeric_limits<int64_t>::max(), 500), 50);
  EXPECT_EQ(score(0, 0), kLeftOut);
  EXPECT_EQ(score((int64_t{1} << 46) - 1, 0), 100);
  EXPECT_EQ(score(int64_t{1} << 46, 0), kLeftOut);
  EXPECT_EQ(score(1000, -1), kLeftOut);
}

TEST_F(ColumnLoops, SpreadScoresAreRoundedAndTurnedAsTheFormulasDo) {
  for (size_t round = 0; round < kRounds; ++round) {
    const uint64_t bound = uint64_t{1} << (1 + below(56));  // 100 times one of them fits an int64
    std::vector<double> sums(kNodes);
    for (double& sum : sums) {
      sum = static_cast<double>(below(std::min(bound, uint64_t{1} << 50))) / 4;
    }
    sums[0] = 0.49999999999999994;  // adding a half would round it up
    std::vector<int64_t> scores(kNodes);
    round_all(sums.data(), kNodes, scores.data());
    for (size_t i = 0; i < kNodes; ++i) ASSERT_EQ(scores[i], std::llround(sums[i])) << sums[i];

    for (int64_t& score : scores) score = static_cast<int64_t>(below(bound));
    const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
    const int64_t low = *least;
    const int64_t high = *most;
    std::vector<int64_t> turned = scores;
    fewer_is_better(low, high, kNodes, turned.data());
    for (size_t i = 0; i < kNodes; ++i) {
      ASSERT_EQ(turned[i], high == 0 ? 100 : percent(high + low - scores[i], high)) << scores[i];
    }
  }
  std::vector<int64_t> none(kNodes, 0);
  fewer_is_better(0, 0, kNodes, none.data());
  EXPECT_EQ(none, std::vector<int64_t>(kNodes, 100));
}

TEST_F(ColumnLoops, FindRunsAndMarks) {
  for (int round = 0; round < 500; ++round) {
    std::vector<uint32_t> numbers(1 + below(1'000));
    std::vector<uint8_t> marks(numbers.size());
    const auto rare = static_cast<uint32_t>(below(2) == 0 ? 3 : 400);
    for (size_t i = 0; i < numbers.size(); ++i) {
      marks[i] = static_cast<uint8_t>(below(rare) == 0 ? 1 : 0);
      numbers[i] = i == 0 ? static_cast<uint32_t>(below(9)) : numbers[i - 1] + 1 + marks[i];
    }
    size_t length = 1;
    while (length < numbers.size() && numbers[length] == numbers[length - 1] + 1) ++length;
    ASSERT_EQ(run_length(numbers.data(), numbers.size()), length);
    for (size_t from = 0; from <= marks.size(); ++from) {
      const auto next = std::find(marks.begin() + static_cast<long>(from), marks.end(), 1);
      ASSERT_EQ(next_marked(marks.data(), from, marks.size()), next - marks.begin());
    }
  }
}

TEST_F(ColumnLoops, MarkNodesThatLackSomething) {
  for (const int k : {0, 1}) draw(all_[k], used_[k]);
  std::vector<uint32_t> pods(kNodes);
  std::vector<int64_t> room(kNodes);
  for (size_t i = 0; i < kNodes; ++i) {
    pods[i] = static_cast<uint32_t>(below(5));
    room[i] = static_cast<int64_t>(below(5));
  }
  const int64_t need = 5'000'000;
  std::vector<uint8_t> lacks(kNodes);
  mark_insufficient(kNodes, need, all_[0].data(), used_[0].data(), lacks.data());
  for (size_t i = 0; i < kNodes; ++i) EXPECT_EQ(lacks[i], need > all_[0][i] - used_[0][i]);
  mark_too_many_pods(kNodes, pods.data(), room.data(), lacks.data());
  for (size_t i = 0; i < kNodes; ++i) {
    EXPECT_EQ(lacks[i], need > all_[0][i] - used_[0][i] || pods[i] + 1 > room[i]);
  }
}

}  // namespace
}  // namespace plimsoll::builtin

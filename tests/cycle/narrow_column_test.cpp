#include "framework/placement/narrow_column.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/seed.hpp"

namespace plimsoll {
namespace {

std::vector<int64_t> all_of(const NarrowColumn& column) {
  std::vector<int64_t> values;
  for (size_t i = 0; i < column.size(); ++i) values.push_back(column[i]);
  return values;
}

TEST(NarrowColumn, TakesAsManyBytesAsItsWidestNumberNeeds) {
  const struct {
    int64_t value;
    size_t bytes;
  } cases[] = {{0, 1},
               {127, 1},
               {128, 2},
               {-128, 1},
               {-129, 2},
               {32'767, 2},
               {32'768, 4},
               {-32'769, 4},
               {std::numeric_limits<int32_t>::max(), 4},
               {std::numeric_limits<int32_t>::max() + int64_t{1}, 8},
               {std::numeric_limits<int64_t>::min(), 8},
               {std::numeric_limits<int64_t>::max(), 8}};
  for (const auto& [value, bytes] : cases) {
    NarrowColumn column;
    column.reset(100);
    column.set(1, -7);
    column.set(99, value);
    EXPECT_EQ(column.bytes(), bytes * 100) << value;
    EXPECT_EQ(column[99], value);
    EXPECT_EQ(column[1], -7) << "beside " << value;
    EXPECT_EQ(column[98], 0) << "beside " << value;
    column.reset(100);
    EXPECT_EQ(column.bytes(), 100U) << "it begins anew";
    EXPECT_EQ(column[99], 0);
  }
}

TEST(NarrowColumn, IsAnArrayOfIntegers) {
  std::mt19937_64 dice(test::test_seed());
  for (int round = 0; round < 200; ++round) {
    NarrowColumn column;
    std::vector<int64_t> kept(1 + dice() % 20);
    column.reset(kept.size());
    // Most numbers are small, as scores are.
    const auto number = [&] { return static_cast<int64_t>(dice()) >> dice() % 64; };
    for (int step = 0; step < 20; ++step) {
      switch (dice() % 4) {
        case 0:
          kept.resize(kept.size() + dice() % 10, 0);
          column.resize(kept.size());
          break;
        case 1: {
          std::vector<uint32_t> at;
          std::vector<int64_t> values;
          for (uint32_t i = 0; i < kept.size(); ++i) {
            if (dice() % 2 != 0) continue;
            at.push_back(i);
            values.push_back(kept[i] = number());
          }
          column.set_many(at, values);
          break;
        }
        default: {
          const size_t at = dice() % kept.size();
          column.set(at, kept[at] = number());
        }
      }
      ASSERT_EQ(all_of(column), kept) << "round " << round << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace plimsoll

// The measure itself: what is linear passes, what is quadratic or stays does not.

#include "tests/support/growth.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/sanitized.hpp"

namespace plimsoll::test {
namespace {

std::vector<std::string> names(size_t count, size_t round) {
  std::vector<std::string> made;
  for (size_t i = 0; i < count; ++i) {
    made.push_back("a-name-of-some-length-" + std::to_string(round) + "-" + std::to_string(i));
  }
  return made;
}

// Looks for each name in a list of those before it.
MakeGrowing quadratic() {
  return [](size_t entries, size_t round) {
    auto input = std::make_shared<std::vector<std::string>>(names(entries, round));
    const auto take = [input] {
      volatile size_t found = 0;
      for (size_t i = 0; i < input->size(); ++i) {
        for (size_t j = 0; j < i; ++j) found = found + ((*input)[i] == (*input)[j] ? 1 : 0);
      }
    };
    return Growing{take, [] {}};
  };
}

// Keeps names; forgets them again if `forgets`.
MakeGrowing keeping(std::set<std::string>& kept, bool forgets) {
  return [&kept, forgets](size_t entries, size_t round) {
    auto input = std::make_shared<std::vector<std::string>>(names(entries, round));
    return Growing{[&kept, input] { kept.insert(input->begin(), input->end()); },
                   [&kept, forgets] {
                     if (forgets) kept.clear();
                   }};
  };
}

TEST(Growth, WhatIsLinearAndReturnsIsFine) {
  std::set<std::string> kept;
  expect_linear("names", keeping(kept, true));
}

TEST(Growth, WhatStaysIsFound) {
  static std::set<std::string> kept;
  EXPECT_NONFATAL_FAILURE(expect_linear("names", keeping(kept, false)), "left behind");
}

TEST(Growth, WhatIsQuadraticIsFound) {
  if (kSanitized) GTEST_SKIP() << "the optimised build judges growth";
  static GrowthLimits limits;
  limits.few = 100;
  limits.many = 3'000;
  limits.cpu_floor_seconds = 0;
  EXPECT_NONFATAL_FAILURE(expect_linear("comparisons", quadratic(), limits), "CPU seconds at");
}

}  // namespace
}  // namespace plimsoll::test

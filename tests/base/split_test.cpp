#include "framework/base/split.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using testing::ElementsAre;

TEST(Split, KeepsEmptyParts) {
  EXPECT_THAT(split("a,,b,", ","), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ","), ElementsAre(""));
  EXPECT_THAT(split("a__b_c___d", "__"), ElementsAre("a", "b_c", "_d"));
}

}  // namespace
}  // namespace plimsoll

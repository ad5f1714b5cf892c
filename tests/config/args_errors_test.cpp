#include "config/args_errors.hpp"

#include <gtest/gtest.h>

namespace plimsoll::config {
namespace {

using Errors = std::vector<ArgsError>;

TEST(ArgsErrors, OneALine) {
  EXPECT_EQ(
      split_args_errors("a.b[0].c: wrong\nno path here: wrong\n\nargs are not JSON"),
      (Errors{{"a.b[0].c", "wrong"}, {"", "no path here: wrong"}, {"", "args are not JSON"}}));
}

TEST(ArgsErrors, AggregatesAreTakenApart) {
  EXPECT_EQ(
      split_args_errors("[scoringStrategy.type: Invalid value: \"x\": one, two, invalid, unknown "
                        "field \"cache.y\", preemptionMode: Invalid value: \"z\": invalid]"),
      (Errors{{"scoringStrategy.type", "Invalid value: \"x\": one, two, invalid"},
              {"cache.y", "unknown field"},
              {"preemptionMode", "Invalid value: \"z\": invalid"}}));
  EXPECT_EQ(split_args_errors("[not, a, list]"), (Errors{{"", "[not, a, list]"}}));
}

TEST(ArgsErrors, UnknownFieldsAreSaidInOneWay) {
  const Errors expected{{"a.b", "unknown field"}};
  EXPECT_EQ(split_args_errors("a.b: unknown field"), expected);
  EXPECT_EQ(split_args_errors("a: unknown field \"b\""), expected);
  EXPECT_EQ(split_args_errors("unknown field \"a.b\""), expected);
  EXPECT_EQ(split_args_errors("a b[0].c/d!: unknown field, did you mean \"c\"?"),
            (Errors{{"a b[0].c/d!", "unknown field, did you mean \"c\"?"}}));
}

TEST(ArgsErrors, ARefusalWithoutWordsIsStillOne) {
  EXPECT_EQ(split_args_errors("").size(), 1U);
  EXPECT_EQ(split_args_errors("\n\n").size(), 1U);
}

}  // namespace
}  // namespace plimsoll::config

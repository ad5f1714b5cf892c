// Texts that the SDK writes and reads: lists, durations, times.

#include <gtest/gtest.h>
#include <plimsoll/duration.hpp>
#include <plimsoll/join.hpp>
#include <plimsoll/time_text.hpp>

#include <vector>

namespace plimsoll::sdk {
namespace {

TEST(Join, PutsTheSeparatorBetweenItems) {
  EXPECT_EQ(join(std::vector<std::string>{}), "");
  EXPECT_EQ(join(std::vector<std::string>{"", "b"}), ", b");
  EXPECT_EQ(join(std::vector<int>{1, -2, 3}, ";"), "1;-2;3");
  EXPECT_EQ(join(std::vector<int>{1, 2}, ",", [](int i) { return std::string(i, 'x'); }), "x,xx");
}

struct DurationCase {
  const char* text;
  std::int64_t nanoseconds;
  const char* printed;
};

class Duration : public testing::TestWithParam<DurationCase> {};

TEST_P(Duration, IsGos) {
  const auto parsed = parse_duration(GetParam().text);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->count(), GetParam().nanoseconds);
  EXPECT_EQ(format_duration(*parsed), GetParam().printed);
}

INSTANTIATE_TEST_SUITE_P(Text, Duration,
                         testing::Values(DurationCase{"15s", 15'000'000'000, "15s"},
                                         DurationCase{"600s", 600'000'000'000, "10m0s"},
                                         DurationCase{"1h", 3'600'000'000'000, "1h0m0s"},
                                         DurationCase{"1h30m", 5'400'000'000'000, "1h30m0s"},
                                         DurationCase{"3600.05s", 3'600'050'000'000, "1h0m0.05s"},
                                         DurationCase{"1h1m1.5s", 3'661'500'000'000, "1h1m1.5s"},
                                         DurationCase{"1.5h", 5'400'000'000'000, "1h30m0s"},
                                         DurationCase{"100ms", 100'000'000, "100ms"},
                                         DurationCase{"0", 0, "0s"},
                                         DurationCase{"-2s", -2'000'000'000, "-2s"},
                                         DurationCase{"1.5us", 1'500, "1.5\u00b5s"},
                                         DurationCase{"7ns", 7, "7ns"}));

TEST(Duration, RefusesOtherText) {
  for (const char* text :
       {"", "5", "s", "1x", "1.2.3s", "1s ", "5 s", "1h30", "-", ".s", "99999999999999h"}) {
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
  }
}

TEST(TimeText, IsRfc3339) {
  using std::chrono::system_clock;
  const system_clock::time_point when{std::chrono::microseconds(1'704'067'199'000'250)};
  EXPECT_EQ(time_text(when, false), "2023-12-31T23:59:59Z");
  EXPECT_EQ(time_text(when, true), "2023-12-31T23:59:59.000250Z");
}

TEST(TimeText, IsReadWithFractionsAndOffsets) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_time("2024-02-29T12:00:00.25Z"), 1'709'208'000'250);
  EXPECT_EQ(parse_time("2024-02-29T13:30:00+01:30"), 1'709'208'000'000);
  EXPECT_EQ(parse_time("0001-01-01T00:00:00Z"), -62'135'596'800'000);
  for (const char* text :
       {"", "2024-02-29", "2024-13-01T00:00:00Z", "2024-02-29T12:00:00", "2024-02-29T12:00:00+01",
        "2024-02-29T12:00:00Zx", "2024-02-29 12:00:00Z"}) {
    EXPECT_FALSE(parse_time(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace plimsoll::sdk

#include "framework/api/quantity.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace plimsoll {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

Quantity quantity(std::string_view text) {
  auto parsed = Quantity::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Quantity();
}

TEST(Quantity, RoundsUpAndSaturates) {
  struct {
    std::string_view text;
    int64_t value;
    int64_t milli;
  } const cases[] = {
      {"100m", 1, 100},
      {"1n", 1, 1},
      {"1.5", 2, 1500},
      {"0", 0, 0},
      {"1Ki", 1024, 1024000},
      {"0.5Mi", 524288, 524288000},
      {"-1.5", -2, -1500},
      {"8Ei", kMax, kMax},
      {"9223372036854775807", kMax, kMax},
      {"1e30", kMax, kMax},
      {"-1e30", kMin, kMin},
      {"1e-30", 1, 1},
      {"1e999999999999", kMax, kMax},
      {"9300P", kMax, kMax},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(quantity(each.text).value(), each.value) << each.text;
    EXPECT_EQ(quantity(each.text).milli_value(), each.milli) << each.text;
  }
}

TEST(Quantity, RefusesWhatKubernetesRefuses) {
  for (std::string_view text : {"", " ", "1 ", "abc", "1x", "1.2.3", "1e", "--1", "1Kib", "0x10",
                                "1e99999999999999999999", "1e+-3"}) {
    EXPECT_FALSE(Quantity::parse(text)) << text;
  }
  EXPECT_FALSE(Quantity::parse(std::string(100'000, '9')));
}

TEST(Quantity, AddsAndComparesAcrossFormatsAndSizes) {
  Quantity sum = quantity("9223372036854775807");
  sum.add(quantity("1"));
  EXPECT_EQ(sum.text(), "9223372036854775808");
  EXPECT_EQ(sum.value(), kMax);
  sum.sub(quantity("9223372036854775807"));
  EXPECT_EQ(sum.cmp(quantity("1000m")), 0);
  EXPECT_LT(quantity("1G").cmp(quantity("1Gi")), 0);
  EXPECT_GT(quantity("1e1000").cmp(quantity("999Ei")), 0);
  Quantity zero;
  zero.add(quantity("2Ki"));
  EXPECT_EQ(zero.text(), "2Ki");
  EXPECT_EQ(zero.format(), Quantity::Format::kBinarySI);
}

TEST(Quantity, ReadsJsonStringsAndNumbers) {
  EXPECT_EQ(Quantity::parse_json("\"1500m\"")->milli_value(), 1500);
  EXPECT_EQ(Quantity::parse_json("2")->value(), 2);
  const Quantity null = *Quantity::parse_json("null");
  EXPECT_TRUE(null.is_zero());
  EXPECT_EQ(null.format(), Quantity::Format::kNone) << "UnmarshalJSON leaves it as it was";
  EXPECT_EQ(null.json(), "\"0\"");
  EXPECT_EQ(Quantity::parse_json("0")->format(), Quantity::Format::kDecimalSI);
  Quantity sum = null;
  sum.add(*Quantity::parse("1Gi"));
  EXPECT_EQ(sum.text(), "1Gi");
  EXPECT_FALSE(Quantity::parse_json("true"));
  EXPECT_EQ(quantity("1000m").json(), "\"1\"");
}

}  // namespace
}  // namespace plimsoll

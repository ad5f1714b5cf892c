// Exact quantities against what Kubernetes' own code says (tests/vectors/quantity.jsonl.gz).
#include "plugins/dynamicresources/values/quantity.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/conformance/vector_file.hpp"

namespace plimsoll::dra {
namespace {

using Json = nlohmann::json;
constexpr Quantity::Nanos kUnit = 1'000'000'000;

std::string format_name(Quantity::Format format) {
  return format == Quantity::Format::kBinary    ? "BinarySI"
         : format == Quantity::Format::kDecimal ? "DecimalSI"
                                                : "DecimalExponent";
}

void compare_parse(const Json& c) {
  const auto parsed = Quantity::parse(c["in"].get<std::string>());
  ASSERT_EQ(parsed.has_value(), !c.contains("err"));
  if (!parsed) return;
  EXPECT_EQ(format_name(parsed->format()), c["format"]);
  EXPECT_EQ((parsed->nanos() > 0) - (parsed->nanos() < 0), c["sign"].get<int>());
  if (c.value("beyondInt64", false)) return;
  EXPECT_EQ(parsed->text(), c.value("canonicalForced", c["canonical"].get<std::string>()));
}

void compare_sum(const Json& expected, Quantity::Nanos nanos) {
  if (expected.value("beyondInt64", false)) return;
  const auto format = expected["format"] == "BinarySI"    ? Quantity::Format::kBinary
                      : expected["format"] == "DecimalSI" ? Quantity::Format::kDecimal
                                                          : Quantity::Format::kExponent;
  EXPECT_EQ(Quantity(nanos, format).text(),
            expected.value("canonicalForced", expected["canonical"].get<std::string>()));
}

void compare_arithmetic(const Json& c) {
  const auto a = Quantity::parse(c["a"].get<std::string>());
  const auto b = Quantity::parse(c["b"].get<std::string>());
  ASSERT_TRUE(a && b);
  EXPECT_EQ((*a > *b) - (*a < *b), c["cmp"].get<int>());
  EXPECT_EQ(*a == *b, c["equal"].get<bool>());
  compare_sum(c["add"], a->nanos() + b->nanos());
  compare_sum(c["sub"], a->nanos() - b->nanos());
}

TEST(ClaimQuantity, AgreesWithKubernetes) {
  int compared = 0;
  const auto read = conformance::for_each_line("tests/vectors/quantity.jsonl.gz", [&](auto line) {
    const Json c = Json::parse(line);
    SCOPED_TRACE(c["id"].get<std::string>());
    if (c["kind"] == "parse") compare_parse(c);
    if (c["kind"] == "arith") compare_arithmetic(c);
    compared += c["kind"] == "parse" || c["kind"] == "arith" ? 1 : 0;
    return true;
  });
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(compared, 1301);
}

TEST(ClaimQuantity, SaturatesAndStaysAddable) {
  for (const std::string& text : {std::string("1e99999999"), std::string("9e30"),
                                  std::string(3000, '9'), "1" + std::string(5000, '0') + "E"}) {
    const auto parsed = Quantity::parse(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    const Quantity sum(parsed->nanos() + parsed->nanos(), parsed->format());
    EXPECT_GT(sum, *parsed);
    EXPECT_FALSE(sum.text().empty());
  }
  EXPECT_EQ(Quantity::parse("99999999Ei"), Quantity::parse("9223372036854775807"));
  EXPECT_EQ(Quantity::parse("1e-99999999")->text(), "1e-9");
  EXPECT_EQ(Quantity::parse("0e99999999")->text(), "0");
  EXPECT_EQ(Quantity::parse("." + std::string(5000, '0') + "1Ei")->text(), "1n");
}

TEST(ClaimQuantity, WritesLargeSums) {
  EXPECT_EQ(Quantity((Quantity::Nanos{1} << 80) * kUnit, Quantity::Format::kBinary).text(),
            "1048576Ei");
  EXPECT_EQ(Quantity(Quantity::Nanos{1'000'000'000'000'000'000} * kUnit * 1000,
                     Quantity::Format::kDecimal)
                .text(),
            "1000E");
}

TEST(QuantityTest, MultipliesExactly) {
  const auto product = [](const char* a, const char* b) {
    return Quantity::parse(a)->times(*Quantity::parse(b)).text();
  };
  EXPECT_EQ(product("4", "500m"), "2");
  EXPECT_EQ(product("1500m", "1500m"), "2250m");
  EXPECT_EQ(product("16Gi", "1"), "16Gi");
  EXPECT_EQ(product("3", "1n"), "3n");
  EXPECT_EQ(product("1n", "1n"), "1n") << "rounded up";
  EXPECT_EQ(product("-2", "500m"), "-1");
  EXPECT_GT(*Quantity::parse("9E"), Quantity());
  EXPECT_GT(Quantity::parse("9E")->times(*Quantity::parse("9E")), *Quantity::parse("9E"));
}

}  // namespace
}  // namespace plimsoll::dra

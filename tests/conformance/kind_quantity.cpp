#include <array>
#include <cstdio>

#include "framework/api/quantity.hpp"
#include "tests/conformance/kinds.hpp"

namespace plimsoll::conformance {
namespace {

std::string_view format_name(Quantity::Format format) {
  switch (format) {
    case Quantity::Format::kNone:
      return "";
    case Quantity::Format::kDecimalSI:
      return "DecimalSI";
    case Quantity::Format::kBinarySI:
      return "BinarySI";
    default:
      return "DecimalExponent";
  }
}

std::string double_text(double number) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.17g", number);
  return text.data();
}

// One quantity against its description.
void expect_quantity(const std::string& what, const Json& expected, const Quantity& quantity,
                     Findings& findings) {
  int64_t whole = 0;
  const bool fits = quantity.as_int64(&whole);
  const std::string text = quantity.text();
  const int64_t value = quantity.value();
  const int64_t milli = quantity.milli_value();
  // The value does not fit: Go wraps around there, so it is enough to have survived.
  if (member(expected, "beyondInt64") == true) return;
  findings.expect(what + "format", member(expected, "format"), format_name(quantity.format()));
  findings.expect(what + "canonical", member(expected, "canonical"), text);
  if (expected.contains("canonicalForced")) {
    findings.expect(what + "canonicalForced", expected["canonicalForced"], quantity.canonical());
  }
  findings.expect(what + "sign", member(expected, "sign"), quantity.sign());
  findings.expect(what + "isZero", member(expected, "isZero"), quantity.is_zero());
  findings.expect(what + "asInt64", member(expected, "asInt64"), Json::array({whole, fits}));
  findings.expect(what + "approxFloat64", member(expected, "approxFloat64"),
                  double_text(quantity.approximate_double()));
  findings.expect(what + "value", member(expected, "value"), value);
  if (member(expected, "beyondInt64Milli") == true) return;
  findings.expect(what + "milliValue", member(expected, "milliValue"), milli);
}

void check_arith(const Json& test_case, Findings& findings) {
  const auto a = Quantity::parse(test_case.at("a").get<std::string>());
  const auto b = Quantity::parse(test_case.at("b").get<std::string>());
  if (!a || !b) {
    findings.add("an operand was refused: " + (a ? b : a).error().message);
    return;
  }
  findings.expect("cmp", test_case.at("cmp"), a->cmp(*b));
  findings.expect("equal", test_case.at("equal"), a->cmp(*b) == 0);
  Quantity sum = *a;
  sum.add(*b);
  expect_quantity("add.", test_case.at("add"), sum, findings);
  Quantity difference = *a;
  difference.sub(*b);
  expect_quantity("sub.", test_case.at("sub"), difference, findings);
}

}  // namespace

void check_quantity(const Json& test_case, Findings& findings) {
  const std::string kind = test_case.at("kind");
  if (kind == "arith") return check_arith(test_case, findings);
  const bool json = kind == "json";
  if (!json && kind != "parse") return findings.add("unknown kind " + kind);
  const auto parsed = json ? Quantity::parse_json(test_case.at("json").get<std::string>())
                           : Quantity::parse(test_case.at("in").get<std::string>());
  if (!parsed || test_case.contains("err")) {
    findings.expect("err", member(test_case, "err"),
                    parsed ? Json() : Json(parsed.error().message));
    return;
  }
  expect_quantity("", test_case, *parsed, findings);
  if (json) findings.expect("marshal", member(test_case, "marshal"), parsed->json());
}

}  // namespace plimsoll::conformance

// Selectors where the recorded answers say nothing: features, limits, hostile texts.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "plugins/dynamicresources/cel/data/run.hpp"
#include "plugins/dynamicresources/cel/selector.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::dra::cel {
namespace {

Device gpu() {
  Device device;
  device.attributes = {{"model", std::string("H100")},
                       {"gpu.example.com/index", int64_t{3}},
                       {"healthy", true},
                       {"driverVersion", Version{"535.104.5-rc.1"}},
                       {"nic.example.com/index", int64_t{7}},
                       {"zones", std::vector<int64_t>{0, 1}}};
  device.capacity["memory"].value = Quantity::parse("80Gi").value();
  device.capacity["gpu.example.com/slices"].value = Quantity::parse("7").value();
  return device;
}

// "true", "false", "compile: TEXT", "unsupported: TEXT" or "run: TEXT".
std::string answer(const std::string& expression) {
  const auto selector = Selector::compile(expression);
  if (!selector) {
    const bool unsupported = selector.error().kind == CompileError::Kind::kUnsupported;
    return (unsupported ? "unsupported: " : "compile: ") + selector.error().text;
  }
  const auto matches = selector->matches("gpu.example.com", gpu());
  if (!matches) return "run: " + matches.error();
  return *matches ? "true" : "false";
}

void expect_all(const std::string& wanted, std::initializer_list<const char*> expressions) {
  for (const char* expression : expressions) EXPECT_EQ(answer(expression), wanted) << expression;
}

bool begins(const std::string& expression, const std::string& wanted) {
  const std::string text = answer(expression);
  EXPECT_TRUE(text.starts_with(wanted)) << expression.substr(0, 200) << "\n  " << text;
  return text.starts_with(wanted);
}

// As kube-scheduler 1.37.2 answers.
TEST(Selector, WhatHasNoOrderIsNotCompared) {
  expect_all("run: no such overload",
             {R"([dyn(1), device.attributes["gpu.example.com"].zones].max() == 1)",
              R"([dyn(1), device.attributes["gpu.example.com"].zones].isSorted())"});
  expect_all("false", {R"([dyn(2), dyn(1), dyn([3])].isSorted())"});
  expect_all("true", {R"([dyn(1), dyn("a")].isSorted() && [dyn(1), dyn("a")].max() == 1)"});
  begins(R"([device.attributes["gpu.example.com"].zones, dyn(1)].min() == 1)",
         "run: no such overload");
  const std::string least = "int('-9223372036854775808')";
  for (const std::string& expression :
       {"quantity('5').sub(" + least + ").isLessThan(quantity('0'))",
        "quantity('-5').sub(" + least + ").isGreaterThan(quantity('0'))",
        "quantity('5m').sub(" + least + ").isGreaterThan(quantity('0'))"}) {
    EXPECT_EQ(answer(expression), "true") << expression;
  }
}

TEST(Selector, ReadsTheDevice) {
  expect_all("true", {
                         R"(device.driver == "gpu.example.com")",
                         R"(device.attributes[device.driver].model == "H100")",
                         R"(device.attributes["gpu.example.com"].index == 3)",
                         R"(device.attributes["nic.example.com"].index == 7)",
                         R"("nic.example.com" in device.attributes && !("x" in device.attributes))",
                         R"(device.attributes.size() == 2 && device.attributes["x"].size() == 0)",
                         R"(device.attributes["gpu.example.com"].size() == 5)",
                         R"(device.attributes["gpu.example.com"].exists(k, k == "zones"))",
                         R"(1 in device.attributes["gpu.example.com"].zones)",
                         R"(device.attributes["gpu.example.com"].driverVersion.minor() == 104)",
                         R"(device.capacity["gpu.example.com"].memory == quantity("80Gi"))",
                         R"(device.capacity["gpu.example.com"].all(k, k in ["memory", "slices"]))",
                         R"(device.attributes.all(d, device.attributes[d].?index.hasValue()))",
                     });
}

TEST(Selector, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(answer("device.drivr == \"x\""), "compile: 1:7: undefined field 'drivr'");
  EXPECT_EQ(answer("true &&\n  nope"), "compile: 2:3: undeclared reference to 'nope'");
  EXPECT_EQ(answer("true && (1"), "compile: 1:11: Syntax error: unexpected end of the expression");
  EXPECT_EQ(answer("1 == \"x\""),
            "compile: 1:3: found no matching overload for '_==_' applied to '(int, string)'");
  EXPECT_EQ(answer("device.driver"),
            "compile: 1:7: must evaluate to bool or the unknown type, not string");
  EXPECT_EQ(answer("device.attributes[\"a\"].b"), "run: no such key: b");
  EXPECT_EQ(answer("device.attributes[device.driver].model"),
            "run: CEL result of type string could not be converted to bool");
  EXPECT_EQ(answer("[1][2] == 1"), "run: index out of bounds: 2");
}

TEST(Selector, RefusesByNameWhatItLeavesOut) {
  EXPECT_EQ(answer("timestamp(\"x\") == timestamp(\"y\")"),
            "unsupported: 1:1: not supported by this scheduler: timestamp");
  for (const char* expression :
       {"duration('1s') > duration('2s')", "url('http://x').getHost() == 'x'", "isIP('1.2.3.4')",
        "cidr('10.0.0.0/8').containsIP('10.0.0.1')", "'%d'.format([1]) == '1'",
        "format.uuid().validate('x').hasValue()", "[1].exists(i, v, v == 1)",
        "[1].transformList(i, v, v) == [1]", "[1].sortBy(x, x) == [1]",
        "google.protobuf.Int64Value{value: 1} == 1", "type(1) == net.IP",
        "type(1) == google.protobuf.Timestamp", "ip.isCanonical('1.1.1.1')"}) {
    begins(expression, "unsupported: ");
  }
}

TEST(Selector, AbsorbsErrorsAsTheReferenceDoes) {
  expect_all("true", {"1 / 0 == 1 || true", "[1, 2].exists(x, 1 / (x - 1) == 1)",
                      "![1, 2].all(x, 1 / (x - 1) == 2)", "cel.bind(x, 1 / 0, true)",
                      "cel.bind(x, 1 / 0, x == 1 || true)", "!(1 / 0 in [])"});
  expect_all("run: division by zero",
             {"1 / 0 == 1 || false", "1 / 0 == 1 && true", "[1].all(x, x / 0 == 1)",
              "[0, 1].exists_one(x, 1 / x == 1)", "[0].map(x, 1 / x) == []"});
}

TEST(Selector, HasOddCornersOfTheReference) {
  const std::string version = "device.attributes[device.driver].driverVersion";
  begins(version + " in [1, 2]", "run: internal error");
  EXPECT_EQ(answer(version + " in [1, 2].map(x, x)"), "false");
  EXPECT_EQ(answer("device.attributes[device.driver].?healthy.orValue(1) == true"), "true");
  EXPECT_EQ(answer("dyn(device.attributes[device.driver].?healthy)"), "true");
  begins("dyn(" + version + ") in {1: 2}", "run: internal error");
  EXPECT_EQ(answer("dyn(" + version + ") in {}"), "false");
  begins("dyn({1: 2})[?" + version + "].hasValue()", "run: invalid qualifier type");
  EXPECT_EQ(answer("device.attributes['x'].?y[?[1][5]].hasValue()"), "false");
  begins("'a'.charAt(9223372036854775807) == ''", "run: index out of range");
  begins("dyn({1: 2})[?dyn(null)].hasValue()", "compile: ");
  EXPECT_EQ(answer(version + " != 5"), "true");
  EXPECT_EQ(answer("[" + version + "].flatten().size() == 1"), "true");
  expect_all("true", {"quantity('1k').add(1) == quantity('1001')",
                      "quantity('1001') != quantity('1k').add(1)", "--'a' == 'a'", "!!1 == 1",
                      "dyn([semver('1.0.0')]) == [dyn(true)]"});
  expect_all("run: no such overload",
             {"quantity('1001') == quantity('1k').add(1)",
              "[semver('1.0.0')] + [semver('1.0.0')] == dyn([true, true])"});
}

TEST(Selector, BindsNamesInside) {
  expect_all("true",
             {
                 "cel.bind(a, 1, cel.bind(a, a + 1, a == 2))",
                 "cel.bind(a, [1, 2].map(y, y), [5, 6].map(z, a.size() + z) == [7, 8])",
                 "cel.bind(a, [1].map(y, y + 1), [9].exists(y, a == [2] && y == 9))",
                 "[1, 2].map(x, [x, x * 2].filter(x, x > 1)) == [[2], [2, 4]]",
                 "[[1], [2]].exists(x, x.exists(y, y == 2) && x.size() == 1)",
                 "[3].all(device, device == 3 && .device.driver != '')",
                 "optional.of(2).optMap(x, x + 1).optFlatMap(x, optional.of(x * 2)).value() == 6",
             });
}

TEST(Selector, CountsPlacesInCodePoints) {
  expect_all("true",
             {"'aé€😀'.size() == 4", "'aé€😀'.charAt(3) == '😀'", "'aé€😀b'.substring(1, 3) == 'é€'",
              "'aé€a'.lastIndexOf('a') == 3", "'éé'.indexOf('é', 1) == 1", "bytes('é').size() == 2",
              "'é'.split('') == ['é']", "'\\u00e9\\U0001F600' == 'é😀'",
              "'\\u2003x\\u3000'.trim() == 'x'"});
}

TEST(Selector, ReadsNumbersAsGoDoes) {
  expect_all("true", {"double('1_000') == 1000.0", "double('0x1p4') == 16.0",
                      "double('inf') > 1e308", "double('1e-999') == 0.0",
                      "string(1000000.0) == '1e+06'", "string(123456.5) == '123456.5'",
                      "string(0.00001) == '1e-05'", "-9223372036854775808 < 0", "0x10 == 16",
                      "int('+5') == 5", "1 == 1 // a comment", "dyn(1) == 1u && dyn(1) == 1.0"});
  for (const char* wrong : {"9223372036854775808 > 0", "int('+-5') == 5", "double('1e999') > 1.0",
                            "int('') == 0", "uint('-1') == 0u", "1..2 == 1", "1u2 == 1u"}) {
    begins(wrong, "compile: ");
  }
}

TEST(Selector, KnowsWhichQuantitiesAreWhole) {
  expect_all("true", {"quantity('1.5k').isInteger()", "!quantity('1.5Gi').isInteger()",
                      "!quantity('1000m').isInteger()", "quantity('1k').add(5).isInteger()",
                      "quantity('2Gi').asInteger() == 2147483648",
                      "quantity('1k').sub(quantity('1')).compareTo(quantity('999')) == 0",
                      "sign(quantity('-0.1')) == -1"});
}

TEST(Selector, FindsPatterns) {
  expect_all("true",
             {"'aaa'.findAll('').size() == 4", "'abacb'.findAll('b*') == ['', 'b', '', 'b']",
              "'aaa'.findAll('a', 2) == ['a', 'a']", "'a1'.find('[0-9]') == '1'",
              "'ab'.matches('(?<x>a)(?P<y>b)')", "matches('ab', '^a.$')",
              "'a.b'.matches('a' + r'\\.' + 'b')"});
  begins("'a'.matches('(')", "compile: 1:13: invalid matches argument");
  begins("'a'.find('(') == ''", "compile: ");
  begins("'a'.matches(device.driver + '(')", "run: error parsing regexp");
}

// --- what strangers write ---

std::string times(size_t count, const std::string& text) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(SelectorHostile, LimitsLengthAndDepth) {
  begins(times(Selector::kLongest, " ") + "true", "compile: 1:1: the expression has");
  const size_t most = Selector::kLongest / 3;
  const std::vector<std::pair<std::string, std::string>> nested = {{"(", ")"},
                                                                   {"[", "]"},
                                                                   {"{1: ", "}"},
                                                                   {"true ? (", ") : true"},
                                                                   {"dyn(", ")"},
                                                                   {"[1].all(x, ", ")"},
                                                                   {"device.attributes[", "]"},
                                                                   {"-(", ")"},
                                                                   {"!(", ")"}};
  for (const auto& [before, after] : nested) {
    const size_t count = most * 3 / (before.size() + after.size() + 1);
    begins(times(count, before) + "true" + times(count, after), "compile: ");
    begins(times(count, before), "compile: ");
  }
  for (const char* chain : {" + 1", ".a", "[0]", " == 1", ".size()", " ? 1 : 1", " in [1]"})
    begins("1" + times(Selector::kLongest / (std::string(chain).size()) - 1, chain), "compile: ");
  EXPECT_EQ(answer(times(Selector::kLongest - 4, "!") + "true"), "true");
  EXPECT_EQ(answer("1" + times(249, " + 1") + " > 0"), "true");
  begins("1" + times(250, " + 1") + " > 0", "compile: 1:");
  EXPECT_EQ(answer("1 > 0" + times(248, " == true")), "true");
  EXPECT_EQ(answer(times(1700, "true&&") + "true"), "true");
}

// Each of these would take hours or gigabytes if only nodes of the tree were counted.
TEST(SelectorHostile, CountsStepsBySize) {
  std::string doubled = "cel.bind(s, 'xxxxxxxxxxxxxxxx', ";
  std::string doubled_list = "cel.bind(s, [1, 2, 3, 4], ";
  std::string shared = "cel.bind(s, [1], ";
  for (int i = 0; i < 60; ++i) {
    doubled += "cel.bind(s, s + s, ";
    doubled_list += "cel.bind(s, s + s, ";
    shared += "cel.bind(s, [s, s], ";
  }
  const std::string end = times(61, ")");
  const std::string ten = "[0,1,2,3,4,5,6,7,8,9]";
  for (const std::string& expression : std::vector<std::string>{
           doubled + "s == ''" + end, doubled_list + "s == []" + end, shared + "s == s" + end,
           times(12, ten + ".all(x, ") + "true" + times(12, ")"),
           times(12, ten + ".map(x, ") + "1" + times(12, ")") + " == []",
           "lists.range(900000).map(x, lists.range(100)).size() == 1",
           "lists.range(100000).distinct().size() == 1",
           "lists.range(2000).exists(x, lists.range(2000).exists(y, x + y == -1))",
           "lists.range(999).map(x, 'x').join().replace('', lists.range(9999).map(x, 'yyyy')"
           ".join()).size() == 1",
           "lists.range(99999).map(x, string(x)).join().split('').size() == 1 && "
           "lists.range(99999).map(x, 'a').join().findAll('a|b').size() == 1",
           "lists.range(99999).exists(x, 'a'.matches(string(x)))"}) {
    EXPECT_EQ(answer(expression), "run: operation cancelled: actual cost limit exceeded")
        << expression.substr(0, 100);
  }
}

// RE2 takes as long as the text and the pattern together are large, if each character leads to what
// it has not seen yet; and to compile what is too large for it takes longest of all.
TEST(SelectorHostile, PatternsCostWhatTheyTake) {
  std::string text;
  for (uint32_t i = 0, bits = 1; i < 8'500; ++i, bits = bits * 1'664'525 + 1'013'904'223)
    text += (bits >> 31) != 0 ? 'a' : 'b';
  const auto steps = [](const std::string& expression) {
    uint64_t taken = 0;
    const auto selector = Selector::compile(expression);
    EXPECT_TRUE(selector) << expression.substr(0, 100);
    if (selector) (void)selector->matches("d", {}, &taken);
    return taken;
  };
  const uint64_t one = steps("'" + text + "'.matches('a[ab]{40}c')");
  EXPECT_GE(one, 8'500U * 20U);
  std::string many = "cel.bind(t, '" + text + "', ";
  for (int i = 40; i < 64; ++i) many += "t.matches('a[ab]{" + std::to_string(i) + "}c') || ";
  EXPECT_EQ(answer(many + "true)"), "run: operation cancelled: actual cost limit exceeded");
  EXPECT_GE(steps("'a'.matches('\\\\pL{100}' + string(1))"), 300'000U) << "it is too large";
  EXPECT_GE(steps("'a'.matches('((a{1,10}){1,10}){1,9}' + string(1))"), 20'000U);
  EXPECT_LE(steps("device.driver.matches('^(gpu|nic)[.]example[.]com$')"), 200U);
}

TEST(SelectorHostile, AbsorbsNotThatStepsAreUsedUp) {
  const std::string endless = "lists.range(2000).exists(x, lists.range(2000).exists(y, x == -1))";
  for (const std::string& expression :
       {endless + " || true", "!(" + endless + " && false)", "true && (" + endless + ")",
        "[1, 2].exists(z, z == 2 || " + endless + ")"}) {
    EXPECT_EQ(answer(expression), "run: operation cancelled: actual cost limit exceeded");
  }
}

TEST(SelectorHostile, LimitsTypesAndPatterns) {
  std::string types = "cel.bind(t, {'a': 1}, ";
  for (int i = 0; i < 100; ++i) types += "cel.bind(t, {t: t}, ";
  begins(types + "true" + times(101, ")"), "");
  begins(types + "t == 1" + times(101, ")"), "compile: ");
  begins("'a'.matches('((((a{1000}){1000}){1000}){1000})')", "compile: ");
  begins("'a'.matches('" + times(3000, "(") + "')", "compile: ");
  begins(times(400, "'a'.matches('x{900}')||") + "true", "compile: ");
  std::string deep = "cel.bind(t, 1, ", deep_values = "cel.bind(t, dyn(1), ";
  for (int i = 0; i < 100; ++i) {
    deep += "cel.bind(t, " + times(30, "[") + "t" + times(30, "]") + ", ";
    deep_values += "cel.bind(t, dyn(" + times(30, "[") + "t" + times(30, "]") + "), ";
  }
  begins(deep + "t == t" + times(101, ")"), "compile: ");
  EXPECT_EQ(answer(deep_values + "t == t" + times(101, ")")),
            "run: operation cancelled: actual cost limit exceeded");
  EXPECT_EQ(answer("lists.range(2000).map(x, 'a').join().matches('(a*)*(a*)*(a*)*b')"), "false");
}

TEST(SelectorHostile, ADeviceWithAnUnreadableVersionFails) {
  const auto selector = Selector::compile("true");
  ASSERT_TRUE(selector.has_value());
  Device device;
  device.attributes["v"] = Version{"1.2"};
  EXPECT_FALSE(selector->matches("d", device).has_value());
  device.attributes["v"] = std::vector<Version>{{"1.2.3"}, {"x"}};
  EXPECT_FALSE(selector->matches("d", device).has_value());
  device.attributes["v"] = std::vector<Version>{{"1.2.3"}};
  EXPECT_TRUE(selector->matches("d", device).value());
}

// --- drawn expressions ---

// Draws int and bool expressions and computes what they are beside.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}

  struct Drawn {
    std::string text;
    int64_t value;
  };

  Drawn number(int depth) {
    if (depth == 0) return literal();
    const Drawn a = number(depth - 1), b = number(depth - 1);
    switch (below(7)) {
      case 0:
        return {"(" + a.text + " + " + b.text + ")", a.value + b.value};
      case 1:
        return {"(" + a.text + " - " + b.text + ")", a.value - b.value};
      case 2: {
        const Drawn truth = condition(depth - 1);
        return {"(" + truth.text + " ? " + a.text + " : " + b.text + ")",
                truth.value != 0 ? a.value : b.value};
      }
      case 3:
        return {"[" + a.text + ", " + b.text + "].max()", std::max(a.value, b.value)};
      case 4:
        return {"cel.bind(x, " + a.text + ", x + x)", a.value * 2};
      case 5:
        return {"int(string(" + a.text + "))", a.value};
      default:
        return {"[" + a.text + ", " + b.text + "].map(x, x - 1)[1]", b.value - 1};
    }
  }

  Drawn condition(int depth) {
    if (depth == 0) return below(2) == 0 ? Drawn{"false", 0} : Drawn{"true", 1};
    const Drawn a = number(depth - 1), b = number(depth - 1);
    const Drawn p = condition(depth - 1), q = condition(depth - 1);
    switch (below(7)) {
      case 0:
        return {"(" + p.text + " && " + q.text + ")", p.value & q.value};
      case 1:
        return {"(" + p.text + " || 1 / 0 == 1 || " + q.text + " || true)", 1};
      case 2:
        return {"!" + p.text, 1 - p.value};
      case 3:
        return {"(" + a.text + " < double(" + b.text + "))", a.value < b.value};
      case 4:
        return {"(dyn(" + a.text + ") == " + b.text + ")", a.value == b.value};
      case 5:
        return {"(" + a.text + " in [" + b.text + ", " + a.text + "])", 1};
      default:
        return {"[" + a.text + ", " + b.text + "].exists_one(y, y == " + a.text + ")",
                a.value != b.value};
    }
  }

 private:
  Drawn literal() {
    const int64_t value = static_cast<int64_t>(below(19)) - 9;
    const bool hex = value >= 0 && below(3) == 0;
    return {(hex ? "0x" : "") + std::to_string(value), value};
  }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  std::mt19937 random_;
};

TEST(SelectorDrawn, ComputesWhatIsComputedBeside) {
  Draw draw(test::test_seed(56));
  int wrong = 0;
  for (int i = 0; i < 4000 && wrong < 5; ++i) {
    const auto drawn = draw.condition(1 + i % 4);
    if (drawn.text.size() > Selector::kLongest) continue;
    const bool same = answer(drawn.text) == (drawn.value != 0 ? "true" : "false");
    EXPECT_TRUE(same) << drawn.text << "\n  " << answer(drawn.text);
    wrong += same ? 0 : 1;
  }
}

}  // namespace
}  // namespace plimsoll::dra::cel

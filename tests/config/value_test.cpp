#include "config/text/value.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <plimsoll/nearest.hpp>

#include "config/print.hpp"
#include "config/text/json_text.hpp"
#include "config/text/yaml_document.hpp"
#include "framework/base/utf8.hpp"

namespace plimsoll::config {
namespace {

std::string json_of(std::string_view text) {
  const ParsedText parsed = parse_single_document(text);
  if (!parsed.problems.empty()) return to_string(parsed.problems, "f");
  return to_json(parsed.documents.at(0));
}

struct Typing {
  const char* word;
  const char* json;
};

class PlainScalar : public testing::TestWithParam<Typing> {};

TEST_P(PlainScalar, IsTypedAsKubernetesDoes) {
  EXPECT_EQ(json_of("a: " + std::string(GetParam().word) + "\n"),
            "{\"a\":" + std::string(GetParam().json) + "}");
}

INSTANTIATE_TEST_SUITE_P(
    Yaml11, PlainScalar,
    testing::Values(Typing{"true", "true"}, Typing{"True", "true"}, Typing{"yes", "true"},
                    Typing{"on", "true"}, Typing{"y", "true"}, Typing{"no", "false"},
                    Typing{"Off", "false"}, Typing{"tRue", "\"tRue\""}, Typing{"~", "null"},
                    Typing{"", "null"}, Typing{"null", "null"}, Typing{"'null'", "\"null\""},
                    Typing{"\"1\"", "\"1\""}, Typing{"'yes'", "\"yes\""}, Typing{"12", "12"},
                    Typing{"-12", "-12"}, Typing{"+12", "12"}, Typing{"-0", "0"},
                    Typing{"0644", "420"}, Typing{"0o17", "15"}, Typing{"0x1F", "31"},
                    Typing{"0b101", "5"}, Typing{"1_000", "1000"}, Typing{"089", "89"},
                    Typing{"1.5", "1.5"}, Typing{".5", "0.5"}, Typing{"1e3", "1000"},
                    Typing{"3.0", "3"}, Typing{"18446744073709551615", "18446744073709551615"},
                    Typing{"99999999999999999999999", "99999999999999999999999"},
                    Typing{"1.2.3", "\"1.2.3\""}, Typing{"2024-01-02", "\"2024-01-02\""},
                    Typing{"10m", "\"10m\""}, Typing{"-x", "\"-x\""}, Typing{"15s", "\"15s\""},
                    Typing{"1:30", "\"1:30\""}, Typing{"!!str 5", "\"5\""},
                    Typing{"\"a\\u00e9\\\"\"", "\"a\u00e9\\\"\""}));

TEST(YamlDocument, KeepsLineAndColumn) {
  const ParsedText parsed = parse_single_document("a: 1\nb:\n  - c: x\n    d:   [7, {e: 8}]\n");
  ASSERT_TRUE(parsed.problems.empty());
  const Value& root = parsed.documents[0];
  EXPECT_EQ(locate(root, "a"), (Position{1, 4}));
  EXPECT_EQ(locate(root, "b"), (Position{2, 1}));
  EXPECT_EQ(locate(root, "b[0].c"), (Position{3, 8}));
  EXPECT_EQ(locate(root, "b[0].d[1].e"), (Position{4, 18}));
  EXPECT_EQ(locate(root, "b[0].nothing.here"), (Position{3, 5}));
  EXPECT_EQ(locate(root, "b[7].c"), (Position{2, 1}));
  EXPECT_EQ(locate(root, "b[x"), (Position{2, 1}));
}

TEST(YamlDocument, JsonKeepsLineAndColumn) {
  const ParsedText parsed = parse_single_document("{\n  \"a\": [1,\n    {\"b\": true}]\n}\n");
  ASSERT_TRUE(parsed.problems.empty());
  EXPECT_EQ(locate(parsed.documents[0], "a[1].b"), (Position{3, 11}));
}

TEST(Value, AJsonNumberWithoutAFractionIsWhole) {
  Problem problem;
  const auto parsed = parse_json("[10.0, 1e2, -0.0, 1.5, 1e300, 9007199254740993.0]", problem);
  ASSERT_TRUE(parsed) << problem.message;
  EXPECT_EQ(to_json(*parsed), "[10,100,0,1.5,1e300,9007199254740992]");
}

TEST(YamlDocument, ReadsFlowStyleThatOnlyLooksLikeJson) {
  EXPECT_EQ(json_of("{a: b, c: [1, x]}\n"), R"({"a":"b","c":[1,"x"]})");
}

TEST(YamlDocument, ExpandsAliasesAndMergeKeys) {
  EXPECT_EQ(json_of("u: &x {a: 1, b: 2}\nv: *x\nw:\n  <<: *x\n  b: 3\n"),
            R"({"u":{"a":1,"b":2},"v":{"a":1,"b":2},"w":{"b":3,"a":1}})");
}

TEST(YamlDocument, NamesEveryDuplicateKey) {
  const ParsedText parsed =
      parse_single_document("a: 1\nb: {c: 1, c: 2}\nl:\n- k: 1\n  k: 2\na: 3\n");
  EXPECT_EQ(to_string(parsed.problems, "f"),
            "f:2:11: duplicate field \"b.c\", first given in line 2\n"
            "f:5:3: duplicate field \"l[0].k\", first given in line 4\n"
            "f:6:1: duplicate field \"a\", first given in line 1\n");
}

TEST(YamlDocument, NamesDuplicateKeysOfJson) {
  EXPECT_EQ(json_of("{\"a\": 1,\n \"a\": 2}"),
            "f:2:2: duplicate field \"a\", first given in line 1\n");
}

TEST(YamlDocument, RefusesAliasBombs) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 0; j < 9; ++j) text += ", " + last;
    text += "]\n";
  }
  const ParsedText parsed = parse_single_document(text);
  ASSERT_EQ(parsed.problems.size(), 1U);
  EXPECT_EQ(parsed.problems[0].message, "aliases expand to too many values");
}

TEST(YamlDocument, RefusesAnAliasToItself) {
  const ParsedText parsed = parse_single_document("a: &a [1, *a]\n");
  ASSERT_EQ(parsed.problems.size(), 1U);
  EXPECT_EQ(to_string(parsed.problems, "f"), "f:1:11: an alias to the value that it is part of\n");
}

TEST(YamlDocument, RefusesDeepNesting) {
  for (const std::size_t depth : {300U, 100'000U}) {
    const ParsedText yaml = parse_single_document("a: " + std::string(depth, '['));
    ASSERT_EQ(yaml.problems.size(), 1U);
    const ParsedText json = parse_single_document(std::string(depth, '['));
    ASSERT_EQ(json.problems.size(), 1U);
    EXPECT_EQ(json.problems[0].message, "not valid JSON: nested too deeply");
  }
}

TEST(YamlDocument, RefusesASecondDocument) {
  EXPECT_EQ(
      json_of("a: 1\n---\nb: 2\n"),
      "f:3:1: a second document: this file must hold exactly one, so remove the '---' line and "
      "what follows it\n");
  EXPECT_EQ(json_of("---\na: 1\n---\n"), R"({"a":1})");
}

TEST(YamlDocument, SaysWhatIsWrong) {
  EXPECT_EQ(json_of(""), "f:1:1: the file is empty\n");
  EXPECT_EQ(json_of("# nothing\n"), "f:1:1: the file is empty\n");
  EXPECT_EQ(json_of("a: .nan\n"), "f:1:4: .nan has no form in JSON: write a finite number\n");
  EXPECT_EQ(json_of("a: b: c\n"), "f:1:5: not valid YAML: illegal map value\n");
  for (const char* text : {"a:\n\tb: c\n", "a: 1\n  \tb: 2\n", "a:\n  b: 1\n\tc: 2\n",
                           "a:\n\t- b\n", "a: x\n\t- b: c\n"}) {
    EXPECT_THAT(json_of(text),
                testing::MatchesRegex("f:[23]:[1-5]: not valid YAML: a tab: YAML wants blanks\n"))
        << text;
  }
  EXPECT_EQ(json_of("a: |\n  \tb\nc: d: e\n"), "f:3:5: not valid YAML: illegal map value\n");
  EXPECT_EQ(json_of("? [a]\n: b\n"), "f:1:3: a field name must be a plain word, got a list\n");
  EXPECT_EQ(json_of(", a\n"), "f:1:1: not valid YAML: no value can start here\n");
  EXPECT_EQ(json_of("a: *nothing\n"),
            "f:1:4: not valid YAML: the referenced anchor is not defined\n");
}

struct BadJson {
  const char* text;
  const char* problem;
};

class Json : public testing::TestWithParam<BadJson> {};

TEST_P(Json, IsRefusedWithAPlace) {
  Problem problem;
  ASSERT_FALSE(parse_json(GetParam().text, problem).has_value());
  EXPECT_EQ(to_string(problem, "f"), "f:" + std::string(GetParam().problem));
}

INSTANTIATE_TEST_SUITE_P(
    Strict, Json,
    testing::Values(BadJson{"", "1:1: the JSON text ends where a value should be"},
                    BadJson{"{\"a\":1,}", "1:8: expected a field name in double quotes"},
                    BadJson{"{\"a\" 1}", "1:6: expected ':' after the field name"},
                    BadJson{"[1 2]", "1:4: expected ',' or ']'"},
                    BadJson{"[1,\n 2", "2:3: the JSON text ends before ']'"},
                    BadJson{"[01]", "1:4: a number must not start with 0"},
                    BadJson{"[1.]", "1:4: a digit is missing after the decimal point"},
                    BadJson{"[1e]", "1:4: a digit is missing in the exponent"},
                    BadJson{"[-]", "1:2: not a JSON value: strings need double quotes"},
                    BadJson{"[nul]", "1:2: not a JSON value: strings need double quotes"},
                    BadJson{"\"a", "1:3: the JSON text ends inside a string"},
                    BadJson{"\"\n\"",
                            "1:2: a control character inside a string: write it as an "
                            "escape"},
                    BadJson{"\"\\x\"", "1:3: an unknown escape in a string"},
                    BadJson{"\"\\u12\"", "1:6: \\u needs four hexadecimal digits"},
                    BadJson{"\"\\ud800\"", "1:8: half of a surrogate pair in a string"},
                    BadJson{"\"\xff\"", "1:2: the text is not valid UTF-8"},
                    BadJson{"\"\xc0\x80\"", "1:2: the text is not valid UTF-8"},
                    BadJson{"{} x", "1:4: text after the end of the JSON value"}));

TEST(Json, RoundTrips) {
  const std::string text =
      R"({"a":[1,-2,3.5,1e300,true,false,null],"b":{"c":"x\n\"y\"\\ \u0001"},"d":[],"e":{}})";
  EXPECT_EQ(json_of(text), text);
  EXPECT_EQ(json_of(R"(["\ud83d\ude00\/\u00e9"])"), "[\"\U0001F600/\u00e9\"]");
}

TEST(ToYaml, WritesTextThatReadsBackTheSame) {
  const std::string json =
      R"({"a":"yes","b":"plain/word.x","c":[1,[2,{"d":"*"}],{"e":null,"f":[]}],"g":"0644","h":"",)"
      R"("i":{"j":true},"k":"a: b # c","l m":{},"n":"-x"})";
  Problem problem;
  const auto value = parse_json(json, problem);
  ASSERT_TRUE(value.has_value());
  const std::string yaml = to_yaml(*value);
  EXPECT_EQ(json_of(yaml), json) << yaml;
}

TEST(Nearest, FindsSlipsOfThePen) {
  const std::vector<std::string_view> names = {"plugins", "pluginConfig", "schedulerName"};
  EXPECT_EQ(sdk::nearest("plugin", names), "plugins");
  EXPECT_EQ(sdk::nearest("SchedulerName", names), "schedulerName");
  EXPECT_EQ(sdk::nearest("pulgins", names), "plugins");
  EXPECT_EQ(sdk::nearest("something", names), "");
  EXPECT_EQ(sdk::nearest("X", std::vector{"A"}), "");
}

TEST(Utf8, FindsTheFirstByteThatIsNoCharacter) {
  EXPECT_EQ(find_unprintable(""), std::string_view::npos);
  EXPECT_EQ(find_unprintable("a\u00e9\u20ac\U0001F600"), std::string_view::npos);
  EXPECT_EQ(find_unprintable("ab\xff"), 2U);
  EXPECT_EQ(find_unprintable("a\t\r\n"), std::string_view::npos);
  EXPECT_EQ(find_unprintable(std::string_view("a\0b", 3)), 1U);
  EXPECT_EQ(find_unprintable("a\x1b"), 1U);
  EXPECT_EQ(find_unprintable("a\x7f"), 1U);
  EXPECT_EQ(find_unprintable("\xc3"), 0U);              // cut short
  EXPECT_EQ(find_unprintable("a\xc0\x80"), 1U);         // overlong
  EXPECT_EQ(find_unprintable("a\xed\xa0\x80"), 1U);     // a surrogate
  EXPECT_EQ(find_unprintable("\xf4\x90\x80\x80"), 0U);  // above U+10FFFF
  EXPECT_EQ(find_unprintable("\xa0"), 0U);
}

TEST(Yaml, TextThatIsNotUtf8IsRefusedWithItsPlace) {
  const ParsedText parsed = parse_documents("a: 1\nb: x\xa0y\n");
  EXPECT_TRUE(parsed.documents.empty());
  EXPECT_EQ(to_string(parsed.problems, "f"),
            "f:2:5: not valid YAML: the text is not valid UTF-8, or has a control character\n");
}

}  // namespace
}  // namespace plimsoll::config

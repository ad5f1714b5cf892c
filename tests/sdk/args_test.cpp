// Args: what a plugin reads of its arguments, and what is said about those that are wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <plimsoll/args.hpp>
#include <plimsoll/fake_host.hpp>

namespace plimsoll::sdk {
namespace {

using testing::ElementsAre;

enum class Mode { kStrict, kLoose };

struct Seats {
  std::string label = "app";
  bool early = false;
  int32_t most = 3;
  int64_t size = 0;
  uint64_t least = 0;
  int64_t cpu = 500;
  Mode mode = Mode::kStrict;
  std::vector<std::string> zones;
  std::vector<std::string> rows;
};

void read(Args& args, Seats& out) {
  args.read("label", out.label);
  args.read("early", out.early);
  args.read("most", out.most, 1, 100);
  args.read("size", out.size);
  args.read("least", out.least);
  args.quantity("cpu", QuantityUnit::kMilli, out.cpu, "an amount of CPU");
  args.choice("mode", out.mode, {{"Strict", Mode::kStrict}, {"Loose", Mode::kLoose}});
  args.read("zones", out.zones);
  args.object("hall", [&](Args& hall) {
    hall.each_object("rows", [&](Args& row) {
      row.require("name");
      row.read("name", out.rows.emplace_back());
    });
  });
  args.idle("balcony", std::string("None"), "there is none");
}

std::vector<std::string> warnings;

Seats seats(std::string_view json) {
  Seats out;
  warnings.clear();
  read_args(
      json, {"SeatsArgs"}, [&](Args& args) { read(args, out); },
      [](std::string_view text) { warnings.emplace_back(text); });
  return out;
}

std::string error(std::string_view json) {
  try {
    static_cast<void>(seats(json));
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return {};
}

TEST(Args, WhatIsAbsentOrNullKeepsItsValue) {
  for (const char* json : {"", "null", "{}", R"({"label": null, "most": null, "hall": null})"}) {
    const Seats read = seats(json);
    EXPECT_EQ(read.label, "app");
    EXPECT_EQ(read.most, 3);
    EXPECT_EQ(read.cpu, 500);
  }
}

TEST(Args, EveryKindOfField) {
  const Seats read = seats(R"({"apiVersion": "v1", "kind": "SeatsArgs", "label": "x",
      "early": true, "most": 100, "size": -9223372036854775808, "least": 7, "cpu": 1.5,
      "mode": "Loose", "zones": ["a", ""], "hall": {"rows": [{"name": "r"}, {"name": "s"}]},
      "balcony": "None"})");
  EXPECT_EQ(read.label, "x");
  EXPECT_TRUE(read.early);
  EXPECT_EQ(read.most, 100);
  EXPECT_EQ(read.size, INT64_MIN);
  EXPECT_EQ(read.least, 7U);
  EXPECT_EQ(read.cpu, 1500);
  EXPECT_EQ(read.mode, Mode::kLoose);
  EXPECT_THAT(read.zones, ElementsAre("a", ""));
  EXPECT_THAT(read.rows, ElementsAre("r", "s"));
  EXPECT_THAT(warnings, ElementsAre());
}

TEST(Args, AllErrorsAtOnceWithTheirPaths) {
  EXPECT_EQ(
      error(R"({"kind": "Other", "label": 1, "early": "yes", "most": 101, "size": 0.5, "least": -1,
          "cpu": "many", "mode": "Losse", "zones": ["a", 2],
          "hall": {"rows": [{"nmae": "r"}, 7], "door": {}}})"),
      "kind: must be SeatsArgs, not \"Other\"\n"
      "label: must be a string, not 1\n"
      "early: must be true or false, not \"yes\"\n"
      "most: must be a number from 1 to 100, not 101\n"
      "size: must be a whole number, not 0.5\n"
      "least: must be a number from 0 on, not -1\n"
      "cpu: must be an amount of CPU, not \"many\"\n"
      "mode: must be Strict or Loose, not \"Losse\", did you mean \"Loose\"?\n"
      "zones[1]: must be a string, not 2\n"
      "hall.rows[0].name: must be given\n"
      "hall.rows[0].nmae: unknown field, did you mean \"name\"?\n"
      "hall.rows[1]: must be an object, not 7\n"
      "hall.door: unknown field");
}

TEST(Args, WhatIsNoObject) {
  EXPECT_EQ(error("{"), "args are not JSON");
  EXPECT_EQ(error("[]"), "args must be an object, not a list");
  EXPECT_EQ(error(R"({"zones": {}, "hall": []})"),
            "zones: must be a list, not an object\nhall: must be an object, not a list");
}

// One text of args, read as {"label": JSON}; what is wrong if it cannot be.
std::string label(const std::string& json) {
  std::string out;
  try {
    read_args("{\"label\":" + json + "}", {}, [&](Args& args) { args.read("label", out); });
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return out;
}

TEST(Args, TextsAreReadAsJsonWritesThem) {
  EXPECT_EQ(label(R"("a\"\\\/\b\f\n\r\tz")"), "a\"\\/\b\f\n\r\tz");
  EXPECT_EQ(label(R"("\u0041\u00e9\u20AC\ud83d\ude00")"), "A\u00e9\u20AC\U0001F600");
  EXPECT_EQ(label("\"\u00e9\""), "\u00e9");
  for (const char* text : {R"("\x")", R"("\u12")", R"("\u 123")", R"("\ud83d")",
                           R"("\ud83d\u0041")", R"("\ude00")", R"("\)", "\"", "\"a\nb\"", "'a'"}) {
    EXPECT_EQ(label(text), "args are not JSON") << text;
  }
}

TEST(Args, WhatIsNoJsonIsRefused) {
  for (const char* text :
       {"",        "01",       "+1",         "1.",    ".5",   "1e",   "1e+",   "- 1",
        "0x1",     "NaN",      "nul",        "nullx", "True", "[1,]", "[1 2]", "[",
        "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "1} {", "1}}"}) {
    EXPECT_EQ(label(text), "args are not JSON") << text;
  }
  EXPECT_EQ(label(std::string(100'000, '[')), "args are not JSON");
  for (const char* number : {"0", "-0", "-1.5e-3", "1E+2", "12345678901234567890"}) {
    EXPECT_EQ(label(number), std::string("label: must be a string, not ") + number);
  }
  EXPECT_EQ(label(" \t\r\n\"a\" , \"label\" : \"b\" "), "b");  // the last of two
}

TEST(Args, NumbersThatAreTooLargeAndNamesThatAreOdd) {
  EXPECT_EQ(error(R"({"size": 9223372036854775808})"),
            "size: must be a whole number, not 9223372036854775808");
  EXPECT_EQ(error("{\"a\\nb\": 1}"), "a?b: unknown field");
  EXPECT_EQ(error(R"({"label": [[[[1]]]]})"), "label: must be a string, not a list");
}

TEST(Args, NearestNamesAreFoundWhateverTheCase) {
  EXPECT_EQ(error(R"({"Lable": "x"})"), "Lable: unknown field, did you mean \"label\"?");
  EXPECT_EQ(error(R"({"entirelyDifferent": 1})"), "entirelyDifferent: unknown field");
}

TEST(Args, WarningsAreToldEvenWithErrors) {
  EXPECT_EQ(error(R"({"balcony": "Both", "most": 0})"),
            "most: must be a number from 1 to 100, not 0");
  EXPECT_THAT(warnings, ElementsAre("args.balcony: has no effect: there is none"));
}

TEST(Args, TablesAndNullsThatAreRefused) {
  std::map<std::string, std::string> found;
  const auto table = [&](Args& args) {
    args.refuse_nulls();
    for (const std::string& name : args.names()) args.read(name, found[name]);
  };
  read_args(R"({"a": "b", "c": "d"})", {}, table);
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"a", "b"}, {"c", "d"}}));
  EXPECT_THROW(read_args(R"({"a": null})", {}, table), std::runtime_error);
}

TEST(Args, AKindMayBeAnythingIfNoneIsNamed) {
  read_args(R"({"apiVersion": 1, "kind": "x"})", {}, [](Args&) {});
}

class Seated {
 public:
  Seated(Host host, std::string_view json) {
    read_args(host, json, {}, [](Args& args) { args.idle("old", false, "it is past"); });
  }
  Status filter_node(const plimsoll_cycle&, Pod, Node) const { return {}; }
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_LABELS;
};

TEST(Args, WarningsOfAPluginGoToItsHost) {
  FakeHost host;
  const FakePlugin<Seated> plugin(host, R"({"old": true})");
  EXPECT_THAT(host.logs, ElementsAre(testing::HasSubstr("args.old: has no effect: it is past")));
}

}  // namespace
}  // namespace plimsoll::sdk

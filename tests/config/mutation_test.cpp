// Files with random damage, to their text and to their structure: whatever comes out, it is a list
// of problems or a config that prints and reads back as itself, never a crash. Run under the
// sanitizers this is worth more than it looks.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "config/manifest.hpp"
#include "config/text/json_text.hpp"
#include "config/text/yaml_document.hpp"
#include "config/validate.hpp"
#include "tests/config/same_meaning.hpp"
#include "tests/config/test_registry.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::config {
namespace {

std::string damage(std::string text, std::mt19937& random) {
  static const std::vector<std::string> kPieces = {"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ":",
                                                   "- ",
                                                   "\n",
                                                   "  ",
                                                   "\t",
                                                   "&a ",
                                                   "*a",
                                                   "<<: ",
                                                   "\"",
                                                   "'",
                                                   "|",
                                                   ">",
                                                   "?",
                                                   "!!int ",
                                                   "---\n",
                                                   "null",
                                                   "-1",
                                                   "1e999",
                                                   "99999999999999999999",
                                                   ".inf",
                                                   "\xff",
                                                   "#",
                                                   ",",
                                                   "%",
                                                   "\\u",
                                                   "name: ",
                                                   "weight: ",
                                                   "*"};
  const auto below = [&random](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound)(random);
  };
  const std::size_t changes = 1 + below(5);
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t at = below(text.size());
    switch (below(4)) {
      case 0:
        text.insert(at, kPieces[below(kPieces.size() - 1)]);
        break;
      case 1:
        text.erase(at, 1 + below(20));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(below(255));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), below(60)));
        break;
      default:
        text.resize(at);
        break;
    }
    if (text.empty()) text = "a";
  }
  return text;
}

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
}

Value surprise(Random& random) {
  static const std::vector<std::string> kYaml = {
      "null",
      "true",
      "-1",
      "0",
      "99999999999999999999",
      "1.5",
      "2147483648",
      "''",
      "'*'",
      "a b",
      "[]",
      "{}",
      "[[]]",
      "[null]",
      "{'': 1}",
      "{name: '*'}",
      "[{name: DeviceShare}]",
      "[{name: UnsupportedFeatures}, {name: EBSLimits}, {weight: 1}]",
      "[{name: PrioritySort}, {name: Coscheduling}]",
      "10m",
      "-5s",
      "NodeDevice",
      "{enabled: [{name: NodeDevice, weight: -7}], disabled: [{name: '*'}]}",
      "{kind: NodeResourcesFitArgs, scoringStrategy: {type: RequestedToCapacityRatio}}"};
  auto documents = parse_single_document(kYaml[below(random, kYaml.size())]).documents;
  return documents.empty() ? Value::null() : std::move(documents[0]);
}

void collect_values(Value& value, std::vector<Value*>& out) {
  out.push_back(&value);
  for (Value& item : value.items) collect_values(item, out);
  for (Member& member : value.members) collect_values(member.value, out);
}

// Changes the tree and not the text, so that the damage lies deeper than the parser sees.
void damage_tree(Value& root, Random& random) {
  static const std::vector<std::string> kNames = {
      "name",    "args",   "plugins",  "multiPoint",   "enabled", "disabled",        "weight",
      "filter",  "score",  "preBind",  "queueSort",    "bind",    "scoringStrategy", "resources",
      "type",    "shape",  "profiles", "pluginConfig", "kind",    "schedulerName",   "extenders",
      "cache.x", "a[0].b", "",         "addedAffinity"};
  const std::size_t changes = 1 + below(random, 4);
  for (std::size_t i = 0; i < changes; ++i) {
    std::vector<Value*> all;
    collect_values(root, all);
    Value& value = *all[below(random, all.size())];
    const auto member = [&]() -> Member& {
      return value.members[below(random, value.members.size())];
    };
    const auto item = [&]() -> Value& { return value.items[below(random, value.items.size())]; };
    switch (below(random, 6)) {
      case 0:
        value = surprise(random);
        break;
      case 1:
        if (value.is_mapping()) value.set(kNames[below(random, kNames.size())], surprise(random));
        break;
      case 2:
        if (!value.members.empty()) member().key = kNames[below(random, kNames.size())];
        break;
      case 3:
        if (!value.members.empty()) {
          value.members.erase(value.members.begin() +
                              static_cast<std::ptrdiff_t>(below(random, value.members.size())));
        }
        break;
      case 4:  // a copy of something from elsewhere
        if (value.is_sequence()) value.add(Value(*all[below(random, all.size())]));
        break;
      default:
        if (value.items.size() > 1) std::swap(item(), value.items.front());
        break;
    }
  }
}

// A plugin that finds everything wrong, in all the ways in which plugins say so.
MadePlugin complain(const std::string&, const std::string& plugin, const std::string& json) {
  if (json.size() % 3 != 0) return {test_registry().at(plugin), {}, {}};
  return {{},
          split_args_errors("[scoringStrategy.type: no, unknown field \"cache.x\", a[9].b[: c]\n" +
                            json + "\n" + json.substr(json.size() / 2)),
          {}};
}

void expect_consistent(const std::string& text) {
  const Validation validation = validate_text(text, "f", test_registry());
  for (const Problem& problem : validation.errors) {
    ASSERT_FALSE(problem.message.empty());
    ASSERT_GE(problem.at.line, 0);
  }
  ASSERT_FALSE(validation.report().empty());
  (void)validate_text(text, "f", test_registry(), complain).report();
  if (validation.ok()) {
    ASSERT_FALSE(validation.profiles.empty());
    const std::string yaml = validation.effective_yaml();
    const Validation again = validate_text(yaml, "g", test_registry());
    ASSERT_TRUE(again.ok()) << again.report() << "\nof\n" << text;
    ASSERT_EQ(difference(validation, again), "") << yaml;
    ASSERT_EQ(again.effective_yaml(), yaml);
    const Validation json = validate_text(validation.effective_json(), "h", test_registry());
    ASSERT_EQ(json.effective_yaml(), yaml) << json.report();
  }
  (void)parse_manifests(text, "f");
}

std::vector<std::string> texts() {
  std::vector<std::string> out;
  for (const char* folder : {"examples/profiles", "tests/config/broken"}) {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".expected") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) out.push_back(read_text_file(path).value());
  }
  return out;
}

constexpr std::chrono::seconds kMost(3);  // on a busy machine the rounds end early

TEST(Mutation, DamagedTextNeverCrashesAndIsAlwaysExplained) {
  Random random(test::test_seed());
  const auto end = std::chrono::steady_clock::now() + kMost;
  constexpr int kRounds = 40;
  for (int i = 0; i < kRounds && std::chrono::steady_clock::now() < end; ++i) {
    for (const std::string& text : texts()) {
      const std::string yaml = damage(text, random);
      ASSERT_NO_FATAL_FAILURE(expect_consistent(yaml)) << yaml;
      const auto parsed = parse_single_document(text).documents;
      if (parsed.empty()) continue;
      const std::string json = damage(to_json(parsed[0]), random);
      ASSERT_NO_FATAL_FAILURE(expect_consistent(json)) << json;
    }
  }
}

TEST(Mutation, DamagedStructureNeverCrashesAndIsAlwaysExplained) {
  Random random(test::test_seed());
  const auto end = std::chrono::steady_clock::now() + kMost;
  constexpr int kRounds = 80;
  int good = 0, bad = 0;
  for (int i = 0; i < kRounds && std::chrono::steady_clock::now() < end; ++i) {
    for (const std::string& text : texts()) {
      auto parsed = parse_single_document(text).documents;
      if (parsed.empty()) continue;
      damage_tree(parsed[0], random);
      const std::string changed = to_json(parsed[0]);
      ++(validate_text(changed, "f", test_registry()).ok() ? good : bad);
      ASSERT_NO_FATAL_FAILURE(expect_consistent(changed)) << changed;
    }
  }
  EXPECT_GT(good, 0);
  EXPECT_GT(bad, 0);
}

}  // namespace
}  // namespace plimsoll::config

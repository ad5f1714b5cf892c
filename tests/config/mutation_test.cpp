// A good file with random damage: whatever comes out, it is a list of problems or a config, never a
// crash. Run under the sanitizers this is worth more than it looks.

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "config/json_text.hpp"
#include "config/manifest.hpp"
#include "config/validate.hpp"
#include "config/yaml_document.hpp"
#include "tests/config/test_registry.hpp"

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

void expect_consistent(const std::string& text) {
  const Validation validation = validate_text(text, "f", test_registry());
  for (const Problem& problem : validation.errors) {
    ASSERT_FALSE(problem.message.empty());
    ASSERT_GE(problem.at.line, 0);
  }
  if (validation.ok()) {
    ASSERT_FALSE(validation.profiles.empty());
    const Validation again = validate_text(validation.effective_yaml(), "g", test_registry());
    ASSERT_TRUE(again.ok()) << again.report() << "\nof\n" << text;
  }
  (void)parse_manifests(text, "f");
}

TEST(Mutation, NeverCrashesAndAlwaysExplains) {
  const char* given = std::getenv("PLIMSOLL_TEST_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : 20240607U;
  std::mt19937 random(seed);
  constexpr int kRounds = 250;
  for (const char* name :
       {"topology.yaml", "scheduler-plugins-nrt.yaml", "koordinator-deviceshare.yaml"}) {
    const auto text = read_text_file("examples/profiles/" + std::string(name));
    ASSERT_TRUE(text);
    const std::string as_json = to_json(parse_single_document(*text).documents.at(0));
    for (int i = 0; i < kRounds; ++i) {
      const std::string yaml = damage(*text, random);
      ASSERT_NO_FATAL_FAILURE(expect_consistent(yaml)) << "seed " << seed << "\n" << yaml;
      const std::string json = damage(as_json, random);
      ASSERT_NO_FATAL_FAILURE(expect_consistent(json)) << "seed " << seed << "\n" << json;
    }
  }
}

}  // namespace
}  // namespace plimsoll::config

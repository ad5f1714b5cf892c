// What the lint finds in plugins that are wrong, and that it finds nothing in those that are right.

#include "lab/lint/lint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "framework/runtime/plugin/modules.hpp"
#include "lab/lint/draw.hpp"
#include "lab/lint/words.hpp"
#include "plugins/builtin/builtin.hpp"
#include "tests/lint/wrong_plugins.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::lint {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <typename... Plugins>
Modules modules_with() {
  Modules modules;
  modules.add_builtin(builtin_modules());
  const std::vector<StaticModule> more = {{Plugins::kName, "1.0.0", sdk::create_fn<Plugins>}...};
  modules.add_builtin(more);
  return modules;
}

std::vector<std::string> texts_of(const Report& report) {
  std::vector<std::string> texts;
  for (const Finding& finding : report.findings) {
    texts.push_back(finding.what + " | " + finding.example + " | " + finding.advice);
  }
  return texts;
}

// Enough for lies as plain as these.
Options few_rounds() {
  Options options;
  options.rounds = 6;
  static const uint64_t seed = test::test_seed();
  options.seed = seed;
  return options;
}

template <typename Plugin>
Report lint_of(const Options& options = few_rounds()) {
  const Modules modules = modules_with<Plugin>();
  auto report = lint_plugin(modules, Plugin::kName, options);
  EXPECT_TRUE(report.has_value()) << report.error().message;
  return report ? std::move(*report) : Report{};
}

// Expects the lie to be found: in a few clusters, as a rule, and in many in any case.
template <typename Plugin>
void expect_found(const std::string& lie, Options options = few_rounds()) {
  std::vector<std::string> texts;
  for (int tries = 0; tries < 8; ++tries, ++options.seed) {
    texts = texts_of(lint_of<Plugin>(options));
    for (const std::string& text : texts) {
      if (text.find(lie) != std::string::npos) return;
    }
  }
  ADD_FAILURE() << Plugin::kName << ": " << lie << "\nfound: " << ::testing::PrintToString(texts);
}

template <typename Plugin>
void expect_clean(const Options& options = few_rounds()) {
  EXPECT_THAT(texts_of(lint_of<Plugin>(options)), IsEmpty()) << Plugin::kName;
}

// Objects that close the gates of nodes n0 and n1.
Options with_gates() {
  Options options = few_rounds();
  for (const char* node : {"n0", "n1"}) {
    options.objects.push_back(
        {"gates.v1.example.com", "", node,
         R"({"metadata":{"name":")" + std::string(node) + R"("},"spec":{"a":1}})"});
  }
  return options;
}

TEST(Lint, FindsNothingInHonestPlugins) {
  expect_clean<Honest>();
  expect_clean<Touching>(with_gates());
  expect_clean<SkipsSome>();
  expect_clean<HonestMean>();
  expect_clean<SignsState>(with_gates());
}

TEST(Lint, SaysHowMuchItTried) {
  Options options = few_rounds();
  options.rounds = 20;
  const Report report = lint_of<Honest>(options);
  EXPECT_TRUE(report.signs);
  EXPECT_TRUE(report.by_extremes);
  EXPECT_GT(report.filter.refused, 0U);
  EXPECT_LT(report.filter.refused, report.filter.answers);
  EXPECT_GT(report.filter.compared, 1000U);
  EXPECT_GT(report.score.compared, 1000U);
  EXPECT_NE(report.filter.rests_on & PLIMSOLL_ASPECT_LABELS, 0U);
  EXPECT_NE(report.score.rests_on & PLIMSOLL_ASPECT_ALLOCATABLE, 0U);
  EXPECT_THAT(report.matters, Contains("metadata.labels"));
}

TEST(Lint, SaysWhatItDidNotTry) {
  EXPECT_THAT(lint_of<Honest>().untried, IsEmpty());
  EXPECT_THAT(lint_of<Touching>().untried, IsEmpty()) << "objects are made up, of nodes' names too";
  const Report report = lint_of<Agrees>();
  ASSERT_EQ(report.untried.size(), 2U);
  EXPECT_THAT(report.untried[0], HasSubstr("filter passed all "));
  EXPECT_THAT(report.untried[1], HasSubstr("score gave the same "));
}

// What args name is tried with several values and the empty one, whatever else there is.
TEST(Lint, TriesWhatArgsName) {
  Options options = few_rounds();
  for (int i = 0; i < 500; ++i) options.words.push_back("word-" + std::to_string(i));
  options.args[EmptyMeansNo::kName] = R"({"label":"example.com/open"})";
  const Report report = lint_of<EmptyMeansNo>(options);
  EXPECT_THAT(report.untried, IsEmpty());
  EXPECT_THAT(texts_of(report), Contains(HasSubstr("metadata.labels[\"example.com/open\"]")));
}

TEST(Lint, FindsFieldsOfPodsThatAreNotSigned) {
  expect_found<UnsignedLabel>(
      "filter reads the pod's metadata.labels[\"app\"], which sign leaves out");
  expect_found<UnsignedPriority>("score reads the pod's spec.priority, which sign leaves out");
}

TEST(Lint, FindsAspectsOfNodesThatAreNotDeclared) {
  expect_found<UndeclaredLabels>(
      "filter rests on labels of the node (metadata.labels[\"dedicated\"]), and "
      "filter_aspects has it not");
  expect_found<UndeclaredPods>("filter rests on one of: requested, pods");
  expect_found<Nominated>("filter rests on nominated of the node");
  expect_found<Capacity>(
      "filter rests on the node's status.capacity, whose changes have no aspect");
}

TEST(Lint, FindsWhatRestsOnMoreThanTheNode) {
  expect_found<OtherNodes>("filter rests on other nodes than the one it is asked about");
  expect_found<FeasibleSet>("score rests on which other nodes fit the pod");
  expect_found<Clock>("filter rests on the time");
}

TEST(Lint, FindsStateThatChangesWithoutTouchNode) {
  expect_found<Untouched>(
      "filter rests on objects of gates.v1.example.com without a call of "
      "touch_node",
      with_gates());
}

TEST(Lint, FindsAnswersThatAreNoFunctionOfTheQuestion) {
  const Report report = lint_of<Counter>();
  // Nothing else can be said of it.
  ASSERT_EQ(report.findings.size(), 1U) << ::testing::PrintToString(texts_of(report));
  EXPECT_THAT(report.findings[0].what, HasSubstr("the same question in different ways"));
  expect_found<Batch>("depend on which other nodes are asked about with it");
}

TEST(Lint, FindsNormalizeThatLooksAtMoreThanItSays) {
  expect_found<Mean>("leave out normalizes_by_extremes");
  expect_found<OutOfRange>("score leaves 0 to 100, and there is no normalize");
}

TEST(Lint, HintsAtWhatIsIdle) {
  EXPECT_THAT(lint_of<UnsignedPriority>().hints,
              Contains("score declares labels, whose changes never changed an answer"));
  EXPECT_THAT(lint_of<Touching>().hints,
              Contains("it watches gates.v1.example.com, and no such object was given: some were "
                       "made up of the texts in its file"));
  Options options = few_rounds();
  options.rounds = 20;
  EXPECT_THAT(lint_of<HonestMean>(options).hints, Not(Contains(HasSubstr("spares it most calls"))));
}

TEST(Lint, FindsTheSameWithTheSameSeed) {
  Options options;
  options.rounds = 3;
  options.seed = 17;
  const Report once = lint_of<OtherNodes>(options);
  const Report again = lint_of<OtherNodes>(options);
  EXPECT_EQ(texts_of(once), texts_of(again));
  EXPECT_EQ(once.filter.compared, again.filter.compared);
}

TEST(Lint, SaysWhatRanWhenAPluginTakesTheProcessWithIt) {
  std::array<char, 200> note{};
  Options options;
  options.rounds = 2;
  options.call_note = note;
  static_cast<void>(lint_of<Honest>(options));
  EXPECT_STREQ(note.data(), "Honest: destroy, cluster 1");
}

TEST(Lint, TakesPodsWithoutSpecAndRefusesWhatIsNone) {
  Options options = few_rounds();
  options.objects = {{"pods", "", "bare", R"({"metadata":{"name":"bare"}})"},
                     {"nodes", "", "bare", R"({"metadata":{"name":"bare"}})"}};
  expect_clean<Honest>(options);
  for (const char* spec : {"7", R"({"containers":["web"]})"}) {
    options.objects[0].json = R"({"metadata":{"name":"bare"},"spec":)" + std::string(spec) + "}";
    const auto report = lint_plugin(modules_with<Honest>(), "Honest", options);
    ASSERT_FALSE(report.has_value()) << spec;
    EXPECT_EQ(report.error().message, "pods bare: not an object");
  }
}

TEST(LintDraw, DrawsWhatThePatternSays) {
  Dice dice(test::test_seed());
  const Words words = {.lists = {{"app", {"web=1"}}, {"disk", {"a", "b"}}},
                       .parts = {{"pair", {{"x", "{1-1000000}"}}}}};
  const auto drawn = [&](const char* pattern, const char* self = "{}") {
    return draw(dice, Json::parse(pattern), words, Json::parse(self)).dump();
  };
  EXPECT_EQ(drawn(R"({"{app}": "{=}", "n": "#{3-3}", "t": "{4-4}m"})"),
            R"({"n":3,"t":"4m","web":"1"})");
  EXPECT_EQ(drawn(R"({"+": [[1], "=/old", [{"?1": 3}, {"*0": 4}, null]]})", R"({"old":[2]})"),
            "[1,2,3]");
  EXPECT_EQ(drawn(R"({"+": [{"a": 1}, "=/none", {"a": 2, "b?0/1": 3}]})"), R"({"a":2})");
  EXPECT_EQ(drawn(R"({"@disk?1": {"'": "{raw}"}})"), R"({"a":"{raw}","b":"{raw}"})");
  EXPECT_EQ(drawn(R"({"~1": {"a": {"|": [5]}}})"), R"({"a":5})");
  const Json twice = draw(dice, Json::parse(R"(["=pair", "==pair"])"), words);
  EXPECT_EQ(twice[0], twice[1]);
}

TEST(Lint, NeedsAPluginThatExists) {
  const auto report = lint_plugin(modules_with<Honest>(), "Nobody", {});
  ASSERT_FALSE(report.has_value());
  EXPECT_THAT(report.error().message, HasSubstr("\"Nobody\" does not exist"));
}

TEST(Lint, FindsNothingInBuiltinPlugins) {
  Modules modules;
  modules.add_builtin(builtin_modules());
  for (const StaticModule& module : builtin_modules()) {
    const auto report = lint_plugin(modules, module.name, few_rounds());
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_THAT(texts_of(*report), IsEmpty()) << module.name;
  }
}

TEST(LintWords, AreThoseOfTheFile) {
  const char* folder = std::getenv("PLIMSOLL_PLUGIN_DIR");
  ASSERT_NE(folder, nullptr);
  const auto words = words_in_file(std::filesystem::path(folder) / "NodeDevice.so");
  ASSERT_TRUE(words.has_value()) << words.error().message;
  EXPECT_THAT(*words, Contains("nvidia.com/gpu"));
  EXPECT_THAT(*words, Contains("koordinator.sh/gpu-memory-ratio"));
  EXPECT_FALSE(words_in_file(std::filesystem::path(folder) / "nobody.so").has_value());
}

TEST(LintWords, AreKeysOfLabels) {
  for (const char* key : {"app", "example.com/a_b", "a.b/c"}) EXPECT_TRUE(is_label_key(key)) << key;
  for (const char* text : {"", "a b", "-a", "a/b", "a.b/", "a.b/c/d"}) {
    EXPECT_FALSE(is_label_key(text)) << text;
  }
}

}  // namespace
}  // namespace plimsoll::lint

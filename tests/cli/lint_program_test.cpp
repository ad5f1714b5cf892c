// `plimsoll plugins lint` as an author of plugins calls it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/child_process.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

const std::string kModules = PLIMSOLL_LINT_MODULES "/";

struct Answer {
  int code;
  std::string out;
  std::string err;
};

Answer lint(std::vector<std::string> arguments) {
  const TempDir dir;
  ChildOptions options;
  options.argv = {std::string(std::getenv("PLIMSOLL_BIN_DIR")) + "/plimsoll", "plugins", "lint"};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.stderr_file = dir.path() / "stderr";
  auto process = ChildProcess::start(options);
  EXPECT_TRUE(process.has_value()) << process.error().message;
  const auto status = process->wait(150s);
  EXPECT_TRUE(status.has_value()) << "still running after the timeout: " << process->output();
  return {status ? status->code : -1, process->output(), process->error_output()};
}

std::string own(const std::string& plugin) {
  return std::string(std::getenv("PLIMSOLL_PLUGIN_DIR")) + "/" + plugin + ".so";
}

TEST(PlimsollPluginsLint, PassesPluginsThatDeclareWhatTheyRead) {
  const Answer answer = lint({kModules + "seats.so", kModules + "zone_balance.so", "--seed", "7"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("Seats: nothing found\n  filter declares labels; "));
  EXPECT_THAT(answer.out, HasSubstr("ZoneBalance: nothing found\n"));
  EXPECT_THAT(answer.out, HasSubstr("--seed 7"));
  EXPECT_THAT(answer.out, Not(HasSubstr("passed all")));  // its words are in its file
}

// Nothing was found, because nothing was tried: that is not "passed".
TEST(PlimsollPluginsLint, SaysWhatItDidNotTry) {
  const Answer answer = lint({kModules + "agrees.so", "--rounds", "2"});
  EXPECT_EQ(answer.code, 3) << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("Agrees: nothing found, and not all of it was tried\n"));
  EXPECT_THAT(answer.out, HasSubstr("  NOT TRIED: filter passed all "));
  EXPECT_THAT(answer.out, HasSubstr("  NOT TRIED: score gave the same "));
  EXPECT_THAT(answer.out, HasSubstr("    do: lint a build without optimisation"));
  const auto json =
      nlohmann::json::parse(lint({kModules + "agrees.so", "--rounds", "2", "-o", "json"}).out);
  EXPECT_EQ(json["plugins"][0]["notTried"].size(), 2);
}

TEST(PlimsollPluginsLint, NamesWhatIsNotDeclared) {
  const Answer answer = lint({kModules + "undeclared.so"});
  EXPECT_EQ(answer.code, 1) << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("FOUND: filter reads the pod's "
                                    "metadata.annotations[\"example.com/wants-seat\"]"));
  EXPECT_THAT(answer.out, HasSubstr("FOUND: filter rests on labels of the node "
                                    "(metadata.labels[\"example.com/seats\"])"));
  EXPECT_THAT(answer.out, HasSubstr("    seen: pod "));
  // The key that matters, and no other one.
  EXPECT_THAT(answer.out, testing::ContainsRegex("with metadata.annotations.\"example.com/"
                                                 "wants-seat\". changed from "));
  EXPECT_THAT(answer.out, testing::ContainsRegex(
                              "after: node [^ ]+: metadata.labels.\"example.com/seats\". from "));
  EXPECT_THAT(answer.out, HasSubstr("    do: add it to filter_aspects"));
}

TEST(PlimsollPluginsLint, SpeaksJson) {
  const Answer answer = lint({kModules + "undeclared.so", "-o", "json", "--rounds", "5"});
  EXPECT_EQ(answer.code, 1) << answer.out << answer.err;
  const auto all = nlohmann::json::parse(answer.out);
  EXPECT_EQ(all["rounds"], 5);
  ASSERT_EQ(all["plugins"].size(), 1U);
  const auto& plugin = all["plugins"][0];
  EXPECT_EQ(plugin["name"], "Undeclared");
  EXPECT_EQ(plugin["filter"]["declares"], "taints");
  EXPECT_TRUE(plugin["score"].is_null());
  ASSERT_FALSE(plugin["findings"].empty());
  for (const char* key : {"what", "seen", "do"}) {
    EXPECT_FALSE(plugin["findings"][0][key].get<std::string>().empty()) << key;
  }
}

TEST(PlimsollPluginsLint, TellsOfAPluginThatTakesTheProcessWithIt) {
  const Answer answer = lint({kModules + "crashes.so"});
  EXPECT_EQ(answer.code, 1) << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("FOUND: the plugin crashed (Killed) in Crashes: filter of "));
  const auto json = nlohmann::json::parse(lint({kModules + "crashes.so", "-o", "json"}).out);
  EXPECT_THAT(json["crashed"]["during"].get<std::string>(), HasSubstr("Crashes: filter of "));
}

struct PlantedFault {
  const char* plugin;  // "depths"
  const char* fault;   // an arg of it
  const char* said;
};
void PrintTo(const PlantedFault& planted, std::ostream* out) {
  *out << planted.plugin << " " << planted.fault;
}

class PlimsollPluginsLintFinds : public testing::TestWithParam<PlantedFault> {};

TEST_P(PlimsollPluginsLintFinds, APlantedFault) {
  const auto& [plugin, fault, said] = GetParam();
  const TempDir dir;
  const std::string file = dir.path() / "args.yaml";
  std::ofstream(file) << "fault: " << fault << "\n";
  const std::vector<std::string> line{
      kModules + plugin + ".so",      "--args", file, "--call-timeout", "3", "--objects",
      "tests/plugins/lint/tides.yaml"};
  const Answer answer = lint(line);
  EXPECT_EQ(answer.code, 1) << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr(std::string("FOUND: ") + said));
  if (std::string_view(said).starts_with("the plugin has not returned")) {
    std::vector<std::string> as_json = line;
    as_json.insert(as_json.end(), {"-o", "json"});
    const auto json = nlohmann::json::parse(lint(as_json).out);
    EXPECT_EQ(json["hung"]["how"], "has not returned for 3 s");
  }
}

INSTANTIATE_TEST_SUITE_P(
    , PlimsollPluginsLintFinds,
    testing::Values(
        PlantedFault{"depths", "loop",
                     "the plugin has not returned for 3 s from Depths: score of "},
        PlantedFault{"depths", "negative", "score leaves 0 to 100, and there is no normalize"},
        PlantedFault{"depths", "throw",
                     "score fails: running Score plugins: plugin \"Depths\" failed with: stoll"},
        PlantedFault{"depths", "undeclared",
                     "score rests on labels of the node (metadata.labels[\"example.com/depth\"])"},
        PlantedFault{"moorings", "loop",
                     "the plugin has not returned for 3 s from Moorings: reserve of pod "},
        PlantedFault{"moorings", "negative", "score leaves 0 to 100, and there is no normalize"},
        PlantedFault{"moorings", "throw",
                     "reserve fails: running Reserve plugin \"Moorings\": the rope is torn"},
        PlantedFault{"moorings", "undeclared",
                     "filter rests on labels of the node (metadata.labels[\"example.com/quay\"])"},
        PlantedFault{"moorings", "unreserve", "reserve and unreserve do not cancel out"},
        PlantedFault{"moorings", "removal",
                     "what reserve took for a pod is not given back when the pod is removed"},
        PlantedFault{"moorings", "restart", "a restart changes what it knows: filter"},
        PlantedFault{"moorings", "what-if", "add_pod and remove_pod do not cancel out"},
        PlantedFault{"tides", "loop",
                     "the plugin has not returned for 3 s from Tides: object_event of "
                     "tides.v1.example.com"},
        PlantedFault{"tides", "throw",
                     "filter fails: running \"Tides\" filter plugin: the tide table is lost"},
        PlantedFault{"tides", "event", "object_event fails: this tide is not low"},
        PlantedFault{"tides", "undeclared",
                     "filter rests on labels of the node (metadata.labels[\"example.com/deep\"])"},
        PlantedFault{"tides", "untouched",
                     "filter rests on objects of tides.v1.example.com without a call of "
                     "touch_node"}));

TEST(PlimsollPluginsLint, PassesTheSamePluginsWithoutTheirFaults) {
  const Answer answer = lint({kModules + "depths.so", kModules + "moorings.so",
                              kModules + "tides.so", "--objects", "tests/plugins/lint/tides.yaml"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
}

// A filter that throws each time is not one that was never asked.
TEST(PlimsollPluginsLint, SaysThatAFilterThrowsEachTime) {
  const TempDir dir;
  const std::string file = dir.path() / "args.yaml";
  std::ofstream(file) << "fault: throw\n";
  const Answer answer = lint({kModules + "tides.so", "--args", file, "--rounds", "2"});
  EXPECT_THAT(answer.out, HasSubstr("NOT TRIED: filter gave no answer, only errors; the last one: "
                                    "filter: running \"Tides\" filter plugin: the tide table is "
                                    "lost"));
}

TEST(PlimsollPluginsLint, TakesArgsAsInAProfile) {
  const TempDir dir;
  const std::string file = dir.path() / "args.yaml";
  std::ofstream(file) << "label: team.example.com/desks\n";
  const Answer answer = lint({kModules + "seats.so", "--args", file, "-o", "json"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  const auto filter = nlohmann::json::parse(answer.out)["plugins"][0]["filter"];
  EXPECT_GT(filter["refusals"], 0);
  EXPECT_LT(filter["refusals"], filter["answers"]);
  EXPECT_EQ(filter["seenToRestOn"], "labels");
  std::ofstream(file) << "label: 7\n";
  const Answer wrong = lint({kModules + "seats.so", "--args", "Seats=" + file});
  EXPECT_EQ(wrong.code, 2) << wrong.out;
  EXPECT_THAT(wrong.err, HasSubstr("initializing plugin \"Seats\""));
}

TEST(PlimsollPluginsLint, FindsNothingInTheBuiltinPlugins) {
  const Answer answer = lint({"--builtin", "all", "--rounds", "4"});
  EXPECT_EQ(answer.code, 3) << "without objects not all is tried\n" << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("NodeResourcesFit: nothing found"));
}

TEST(PlimsollPluginsLint, FindsNothingInTheTopologyPlugins) {
  const Answer answer =
      lint({own("NodeResourceTopologyMatch"), own("TopologyScore"), own("NodeDevice"), "--objects",
            "tests/lint/topology.yaml", "--args", "NodeDevice=tests/lint/nodedevice.yaml",
            "--rounds", "4", "-o", "json"});
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  const auto report = nlohmann::json::parse(answer.out);
  for (const auto& plugin : report["plugins"]) {
    for (const char* part : {"filter", "score"}) {
      if (plugin[part].is_null()) continue;
      EXPECT_GT(plugin[part]["compared"], 1000) << plugin.dump(2);
      // The objects are to its taste: what it keeps about them makes a difference.
      EXPECT_THAT(plugin[part]["seenToRestOn"].get<std::string>(), HasSubstr("plugin"))
          << plugin.dump(2);
    }
  }
}

TEST(PlimsollPluginsLint, SaysWhatItCannotDo) {
  const auto expect_refused = [](std::vector<std::string> arguments, const std::string& why) {
    const Answer answer = lint(std::move(arguments));
    EXPECT_EQ(answer.code, 2) << answer.out;
    EXPECT_THAT(answer.err, HasSubstr(why));
  };
  expect_refused({}, "plimsoll plugins lint: nothing to look at: name a plugin file");
  expect_refused({"nobody.so"}, "nobody.so: cannot be read: No such file");
  expect_refused({"README.md"}, "README.md: not an ELF file");
  expect_refused({"--builtin", "Nobody"}, "there is no built-in plugin \"Nobody\"");
  expect_refused({kModules + "seats.so", "--plugin", "Nobody"}, "--plugin Nobody: no such plugin");
  expect_refused({kModules + "seats.so", "--objects", "nobody.yaml"}, "nobody.yaml");
  expect_refused({kModules + "seats.so", "--args", "Nobody=x"}, "plugin \"Nobody\" is not among");
  expect_refused({kModules + "seats.so", "--rounds", "0"}, "--rounds");
}

}  // namespace
}  // namespace plimsoll::test

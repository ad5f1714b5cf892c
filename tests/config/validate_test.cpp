#include "config/validate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "tests/config/same_meaning.hpp"
#include "tests/config/test_registry.hpp"

namespace plimsoll::config {
namespace {

std::vector<std::string> examples() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("examples/profiles")) {
    out.push_back(entry.path().filename());
  }
  std::sort(out.begin(), out.end());
  return out;
}

class Example : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static Validation load() {
    return validate_file("examples/profiles/" + GetParam(), test_registry());
  }
};

// What each example's warnings are about; a field that has no effect is named, nothing else is.
TEST_P(Example, LoadsAndNamesWhatHasNoEffect) {
  const std::map<std::string, std::vector<std::string>> expected = {
      {"koordinator-deviceshare.yaml", {"profiles[0].plugins.preBind.enabled[0]"}},
      {"koordinator-migrated.yaml",
       {"profiles[0].pluginConfig[1].args.allocator",
        "profiles[0].pluginConfig[1].args.gpuSharedResourceTemplatesConfig.configMapNamespace",
        "profiles[0].pluginConfig[1].args.gpuSharedResourceTemplatesConfig.configMapName"}},
      {"kube-scheduler.yaml",
       {"profiles[0].pluginConfig[0].args", "profiles[0].pluginConfig[1].args",
        "profiles[0].pluginConfig[2].args", "profiles[0].pluginConfig[5].args",
        "profiles[0].pluginConfig[6].args"}},
      {"scheduler-plugins-nrt-uncached.yaml", {}},
      {"scheduler-plugins-nrt.yaml",
       {"profiles[0].pluginConfig[0].args.cacheResyncPeriodSeconds",
        "profiles[0].pluginConfig[0].args.cache.foreignPodsDetect"}},
      {"topology.yaml", {}},
      {"wide-pods.yaml", {}}};
  const auto found = expected.find(GetParam());
  ASSERT_NE(found, expected.end()) << "a new example: add it here";
  const Validation validation = load();
  EXPECT_TRUE(validation.ok()) << validation.report();
  std::vector<std::string> paths;
  for (const Problem& warning : validation.warnings) {
    paths.push_back(warning.path);
    EXPECT_TRUE(warning.message.find("no effect") != std::string::npos) << warning.message;
  }
  EXPECT_EQ(paths, found->second) << validation.report();
}

// The printed view is a profile file with the same meaning, and so is the JSON.
TEST_P(Example, PrintsAFileThatMeansTheSame) {
  const Validation first = load();
  const Validation second = validate_text(first.effective_yaml(), "printed", test_registry());
  ASSERT_TRUE(second.ok()) << second.report() << first.effective_yaml();
  EXPECT_EQ(difference(first, second), "");
  EXPECT_EQ(second.effective_yaml(), first.effective_yaml());
  const Validation json = validate_text(first.effective_json(), "printed", test_registry());
  ASSERT_TRUE(json.ok()) << json.report();
  EXPECT_EQ(json.effective_yaml(), first.effective_yaml());
  EXPECT_EQ(json.effective_json(), first.effective_json());
}

INSTANTIATE_TEST_SUITE_P(Profiles, Example, testing::ValuesIn(examples()));

TEST(Validate, TheTopologyExampleRunsTheTopologyPlugins) {
  const Validation validation = validate_file("examples/profiles/topology.yaml", test_registry());
  ASSERT_TRUE(validation.ok());
  const EffectiveProfile& profile = validation.profiles.at(0);
  EXPECT_EQ(profile.scheduler_name, "topo-aware-scheduler");
  const auto& score = profile.points[ExtensionPoint::kScore];
  const std::vector<EffectivePlugin> expected = {
      {"TaintToleration", 3},  {"NodeAffinity", 2},
      {"NodeResourcesFit", 1}, {"NodeResourcesBalancedAllocation", 1},
      {"TopologyScore", 2},    {"NodeDevice", 1}};
  EXPECT_EQ(score, expected);
}

TEST(Validate, AsksPluginsAboutTheirArgsAndMapsTheirPaths) {
  const std::string text =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "leaderElection: {leaderElect: false}\nprofiles:\n- schedulerName: a\n  plugins:\n"
      "    multiPoint: {enabled: [{name: TopologyScore}, {name: NodeDevice}]}\n  pluginConfig:\n"
      "  - name: TopologyScore\n    args:\n      scoringStrategy:\n        type: Best\n";
  std::vector<std::string> asked;
  const auto checker = [&](std::string_view plugin, const std::string& json) {
    asked.push_back(std::string(plugin) + ' ' + json);
    std::vector<ArgsError> out;
    if (plugin == "TopologyScore") out.push_back({"scoringStrategy.type", "no such strategy"});
    if (plugin == "NodeDevice") out.push_back({"scoringStrategy", "needed"});
    return out;
  };
  const Validation validation = validate_text(text, "f", test_registry(), checker);
  EXPECT_EQ(
      validation.report(),
      "error: f: args of plugin NodeDevice.scoringStrategy: needed\n"
      "error: f:12:15: profiles[0].pluginConfig[0].args.scoringStrategy.type: no such strategy\n"
      "f: 2 errors\n");
  EXPECT_EQ(validation.effective_yaml(), "");
  EXPECT_NE(
      std::find(asked.begin(), asked.end(), R"(TopologyScore {"scoringStrategy":{"type":"Best"}})"),
      asked.end());
  EXPECT_EQ(
      std::count_if(asked.begin(), asked.end(),
                    [](const std::string& one) { return one.rfind("NodeResourcesFit", 0) == 0; }),
      0);
}

TEST(Validate, ReportsErrorsOfEveryStep) {
  const Validation validation = validate_text(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "percentageOfNodesToScore: 10\nprofiles:\n- schedulerName: a\n  plugins: {filter: {enabled: "
      "[{name: Courting}]}}\nleaderElection: {leaderElect: false}\n",
      "f", test_registry());
  EXPECT_EQ(
      validation.report(),
      "error: f:6:39: profiles[0].plugins.filter.enabled[0]: FilterPlugin \"Courting\" does "
      "not "
      "exist: no built-in plugin and no file in the plugin directory has this name\n"
      "warning: f:3:27: percentageOfNodesToScore: has no effect: Plimsoll evaluates every node for "
      "every pod\n"
      "f: 1 error, 1 warning\n");
}

}  // namespace
}  // namespace plimsoll::config

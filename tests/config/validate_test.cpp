#include "config/validate.hpp"

#include <gtest/gtest.h>

#include "tests/config/test_registry.hpp"

namespace plimsoll::config {
namespace {

class Example : public testing::TestWithParam<const char*> {};

TEST_P(Example, LoadsClean) {
  const Validation validation =
      validate_file("examples/profiles/" + std::string(GetParam()), test_registry());
  EXPECT_TRUE(validation.ok());
  EXPECT_EQ(validation.report(),
            "examples/profiles/" + std::string(GetParam()) + ": valid, 1 profile\n");
}

// The printed view is a profile file with the same meaning.
TEST_P(Example, PrintsAFileThatMeansTheSame) {
  const Validation first =
      validate_file("examples/profiles/" + std::string(GetParam()), test_registry());
  const Validation second = validate_text(first.effective_yaml(), "printed", test_registry());
  ASSERT_TRUE(second.ok()) << second.report() << first.effective_yaml();
  ASSERT_EQ(second.profiles.size(), first.profiles.size());
  for (std::size_t i = 0; i < first.profiles.size(); ++i) {
    for (const ExtensionPoint point : all_extension_points()) {
      EXPECT_EQ(first.profiles[i].points[point], second.profiles[i].points[point]);
    }
    for (const std::string& plugin : second.profiles[i].plugins) {
      EXPECT_EQ(first.profiles[i].args_of(plugin).json, second.profiles[i].args_of(plugin).json);
    }
  }
  EXPECT_EQ(second.effective_yaml(), first.effective_yaml());
}

INSTANTIATE_TEST_SUITE_P(Profiles, Example,
                         testing::Values("topology.yaml", "scheduler-plugins-nrt.yaml",
                                         "koordinator-deviceshare.yaml"));

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
      "[{name: Coscheduling}]}}\nleaderElection: {leaderElect: false}\n",
      "f", test_registry());
  EXPECT_EQ(
      validation.report(),
      "error: f:6:39: profiles[0].plugins.filter.enabled[0]: FilterPlugin \"Coscheduling\" does "
      "not "
      "exist: no built-in plugin and no file in the plugin directory has this name\n"
      "warning: f:3:27: percentageOfNodesToScore: has no effect: Plimsoll evaluates every node for "
      "every pod\n"
      "f: 1 error, 1 warning\n");
}

}  // namespace
}  // namespace plimsoll::config

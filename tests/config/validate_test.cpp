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

// What each example's warnings are about: a field that has no effect, or a name that kube-scheduler
// serves too, nothing else; of those not listed, nothing. The plugins' own warnings are in
// program_test.cpp.
TEST_P(Example, LoadsAndNamesWhatHasNoEffect) {
  const std::map<std::string, std::vector<std::string>> expected = {
      {"default-scheduler.yaml", {"profiles[0].schedulerName"}},
      {"koordinator-deviceshare.yaml", {"profiles[0].plugins.preBind.enabled[0]"}},
      {"kube-scheduler.yaml",
       {"profiles[0].pluginConfig[0].args", "profiles[0].pluginConfig[1].args",
        "profiles[0].pluginConfig[2].args", "profiles[0].pluginConfig[5].args",
        "profiles[0].pluginConfig[6].args"}}};
  const auto found = expected.find(GetParam());
  const Validation validation = load();
  EXPECT_TRUE(validation.ok()) << validation.report();
  std::vector<std::string> paths;
  for (const Problem& warning : validation.warnings) {
    paths.push_back(warning.path);
    const bool is_name = warning.path == "profiles[0].schedulerName";
    const char* why = is_name ? "unless it is stopped" : "no effect";
    EXPECT_TRUE(warning.message.find(why) != std::string::npos) << warning.message;
  }
  const std::vector<std::string> none;
  EXPECT_EQ(paths, found == expected.end() ? none : found->second) << validation.report();
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
  const ProfileSpec& profile = validation.profiles.at(0);
  EXPECT_EQ(profile.scheduler_name, "topo-aware-scheduler");
  const auto& score = profile.points[ExtensionPoint::kScore];
  const std::vector<PluginEntry> expected = {
      {"TaintToleration", 3},  {"NodeAffinity", 2},
      {"NodeResourcesFit", 1}, {"NodeResourcesBalancedAllocation", 1},
      {"TopologyScore", 2},    {"NodeDevice", 1}};
  EXPECT_EQ(score, expected);
}

// kube-scheduler 1.37 --write-config-to: the whole default profile by name, with all args.
TEST(Validate, TheFileThatKubeSchedulerWritesIsAccepted) {
  PluginRegistry registry = test_registry();
  std::string enabled;
  for (const DefaultPlugin& plugin : default_plugins()) {
    registry[std::string(plugin.name)] = reference_points(plugin.name);
    enabled += "      - name: " + std::string(plugin.name) + "\n";
    if (plugin.weight != 0) enabled += "        weight: " + std::to_string(plugin.weight) + "\n";
  }
  const Validation validation = validate_text(R"(apiVersion: kubescheduler.config.k8s.io/v1
clientConnection:
  acceptContentTypes: ""
  burst: 100
  contentType: application/vnd.kubernetes.protobuf
  kubeconfig: ""
  qps: 50
enableContentionProfiling: true
enableProfiling: true
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true
  leaseDuration: 15s
  renewDeadline: 10s
  resourceLock: leases
  resourceName: kube-scheduler
  resourceNamespace: kube-system
  retryPeriod: 2s
parallelism: 16
percentageOfNodesToScore: 0
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 10
profiles:
- pluginConfig:
  - args:
      apiVersion: kubescheduler.config.k8s.io/v1
      bindingTimeout: 10m0s
      filterTimeout: 10s
      kind: DynamicResourcesArgs
    name: DynamicResources
  plugins:
    bind: {}
    filter: {}
    multiPoint:
      enabled:
)" + enabled + R"(    permit: {}
    postBind: {}
    postFilter: {}
    preBind: {}
    preEnqueue: {}
    preFilter: {}
    preScore: {}
    queueSort: {}
    reserve: {}
    score:
      enabled:
      - name: DynamicResources
        weight: 2
  schedulerName: second-scheduler
)",
                                              "f", registry);
  EXPECT_TRUE(validation.ok()) << validation.report();
  std::vector<std::string> paths;
  for (const Problem& warning : validation.warnings) paths.push_back(warning.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"leaderElection.resourceName"}))
      << validation.report();
}

TEST(Validate, ExtendersAreReadAndIgnorableOnesComeLast) {
  const Validation validation = validate_text(R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- urlPrefix: http://second/
  ignorable: true
  filterVerb: filter
- urlPrefix: https://first
  bindVerb: bind
  prioritizeVerb: prioritize
  weight: 3
  httpTimeout: 1500ms
  nodeCacheCapable: true
  enableHTTPS: true
  tlsConfig:
    serverName: first
    caData: |
      aGVs
      bG8=
  managedResources:
  - {name: example.com/foo, ignoredByScheduler: true}
  - {name: example.com/bar}
)",
                                              "f.yaml", test_registry());
  ASSERT_TRUE(validation.ok()) << validation.report();
  const std::vector<ExtenderSpec>& extenders = validation.config.extenders;
  ASSERT_EQ(extenders.size(), 2U);
  EXPECT_EQ(extenders[1].url_prefix, "http://second/");
  EXPECT_EQ(extenders[1].timeout, std::chrono::seconds(5));
  const ExtenderSpec& first = extenders[0];
  EXPECT_EQ(first.bind_verb, "bind");
  EXPECT_EQ(first.weight, 3);
  EXPECT_EQ(first.timeout, std::chrono::milliseconds(1500));
  EXPECT_TRUE(first.node_cache_capable && first.enable_https && first.tls.given);
  EXPECT_EQ(first.tls.ca_pem, "hello");
  ASSERT_EQ(first.managed_resources.size(), 2U);
  EXPECT_EQ(first.managed_resources[1].name, "example.com/bar");
  const std::string& args = validation.profiles.at(0).args.at("NodeResourcesFit");
  EXPECT_NE(args.find(R"("ignoredResources":["example.com/foo"])"), std::string::npos) << args;
}

// nvidia.com/priority is no amount of anything: who maps HAMi's requests leaves it out.
TEST(Validate, AHintOfMappedRequestsIsIgnored) {
  const auto ignored = [](const std::string& plugin, const std::string& request,
                          const std::string& fit) {
    const Validation validation = validate_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "leaderElection: {leaderElect: false}\nprofiles:\n- schedulerName: a\n  plugins:\n"
        "    multiPoint: {enabled: [{name: " +
            plugin +
            "}]}\n  pluginConfig:\n"
            "  - {name: " +
            plugin +
            ", args: {deviceTypes: [{name: gpu, combinations: [{requests: ["
            "nvidia.com/gpu, " +
            request + "]}]}]}}\n" + fit,
        "f.yaml", test_registry());
    EXPECT_TRUE(validation.ok()) << validation.report();
    return validation.ok() ? validation.profiles.at(0).args.at("NodeResourcesFit") : "";
  };
  const std::string others =
      "  - {name: NodeResourcesFit, args: {ignoredResources: [example.com/a]}}\n";
  EXPECT_EQ(ignored("NodeDevice", "nvidia.com/gpumem", ""),
            R"({"ignoredResources":["nvidia.com/priority"]})");
  EXPECT_EQ(ignored("DeviceShare", "nvidia.com/gpucores", others),
            R"({"ignoredResources":["example.com/a","nvidia.com/priority"]})");
  EXPECT_EQ(ignored("NodeDevice", "example.com/gpumem", ""), "{}");
  EXPECT_EQ(
      ignored("NodeDevice", "nvidia.com/gpumem",
              "  - {name: NodeResourcesFit, args: {ignoredResources: [nvidia.com/priority]}}\n"),
      R"({"ignoredResources":["nvidia.com/priority"]})");
}

TEST(Validate, AsksPluginsAboutTheirArgsAndMapsTheirPaths) {
  const std::string text =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "leaderElection: {leaderElect: false}\nprofiles:\n- schedulerName: a\n  plugins:\n"
      "    multiPoint: {enabled: [{name: TopologyScore}, {name: NodeDevice}]}\n  pluginConfig:\n"
      "  - name: TopologyScore\n    args:\n      scoringStrategy:\n        type: Best\n        "
      "typ: x\n";
  std::vector<std::string> asked;
  const auto checker = [&](const std::string& profile, const std::string& plugin,
                           const std::string& json) {
    EXPECT_EQ(profile, "a");
    asked.push_back(plugin + ' ' + json);
    MadePlugin out{test_registry().at(plugin), {}, {}};
    if (plugin == "TopologyScore")
      out.errors.push_back({"scoringStrategy.type", "no such strategy"});
    if (plugin == "TopologyScore") {
      out.errors.push_back({"scoringStrategy.typ", "unknown field, did you mean \"type\"?"});
      out.warnings.push_back({"scoringStrategy", "has no effect"});
    }
    if (plugin == "NodeDevice") out.errors.push_back({"scoringStrategy", "needed"});
    return out;
  };
  const Validation validation = validate_text(text, "f", test_registry(), checker);
  EXPECT_EQ(
      validation.report(),
      "error: f:7:58: args of plugin NodeDevice.scoringStrategy: needed\n"
      "error: f:12:15: profiles[0].pluginConfig[0].args.scoringStrategy.type: no such strategy\n"
      "error: f:13:9: unknown field \"profiles[0].pluginConfig[0].args.scoringStrategy.typ\", did "
      "you mean \"type\"?\n"
      "warning: f:11:7: profiles[0].pluginConfig[0].args.scoringStrategy: has no effect\n"
      "f: 3 errors, 1 warning\n");
  EXPECT_EQ(validation.effective_yaml(), "");
  EXPECT_NE(std::find(asked.begin(), asked.end(),
                      R"(TopologyScore {"scoringStrategy":{"type":"Best","typ":"x"}})"),
            asked.end());
  EXPECT_EQ(
      std::count_if(asked.begin(), asked.end(),
                    [](const std::string& one) { return one.rfind("NodeResourcesFit", 0) == 0; }),
      1);
}

// The registry knows a plugin by name only; its points are known once it is made with its args.
TEST(Validate, PointsAreThoseOfThePluginThatIsMade) {
  const std::string text =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "leaderElection: {leaderElect: false}\nprofiles:\n- schedulerName: a\n  plugins:\n"
      "    multiPoint: {enabled: [{name: Berths}]}\n    permit: {enabled: [{name: Cranes}]}\n"
      "  pluginConfig:\n  - {name: Berths, args: {journal: j}}\n";
  PluginRegistry registry = test_registry();
  registry["Berths"] = registry["Cranes"] = {};
  std::vector<std::string> made;
  const auto make = [&](const std::string&, const std::string& plugin, const std::string& json) {
    made.push_back(plugin);
    if (plugin == "Cranes") return MadePlugin{{}, {{"", "broken"}}, {}};
    if (plugin != "Berths") return MadePlugin{test_registry().at(plugin), {}, {}};
    EXPECT_EQ(json, R"({"journal":"j"})");
    return MadePlugin{{ExtensionPoint::kFilter}, {}, {}};
  };
  const Validation validation = validate_text(text, "f", registry, make);
  EXPECT_EQ(validation.report(), "error: f:8:31: args of plugin Cranes: broken\nf: 1 error\n")
      << "and not that it does not extend a point, which nobody can know";
  for (const std::string name : {"Berths", "Cranes", "NodeResourcesFit"}) {
    EXPECT_EQ(std::count(made.begin(), made.end(), name), 1) << name;
  }
  const auto& filters = validation.profiles.at(0).points[ExtensionPoint::kFilter];
  EXPECT_TRUE(std::any_of(filters.begin(), filters.end(),
                          [](const PluginEntry& one) { return one.name == "Berths"; }));
}

TEST(Validate, TheMergedViewShowsDefaultArgsWhereTheFileSaysNothing) {
  const std::string head =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "leaderElection: {leaderElect: false}\nprofiles:\n- schedulerName: a\n  pluginConfig:\n";
  const auto make = [](const std::string&, const std::string& plugin, const std::string&) {
    MadePlugin made{test_registry().at(plugin), {}, {}};
    if (plugin == "NodeName") {
      made.default_args = R"({"a":1,"list":["x"],"inner":{"b":true,"c":"word"}})";
    }
    return made;
  };
  const auto shown = [&](const std::string& args) {
    const Validation validation = validate_text(head + "  - {name: NodeName, args: " + args + "}\n",
                                                "f", test_registry(), make);
    EXPECT_TRUE(validation.ok()) << validation.report();
    EXPECT_EQ(validation.profiles.at(0).args.at("NodeName"),
              validation.config.profiles.at(0).plugin_args.at(0).json)
        << "as written";
    const std::string yaml = validation.effective_yaml();
    const Validation again = validate_text(yaml, "g", test_registry(), make);
    EXPECT_EQ(again.effective_yaml(), yaml);
    const std::size_t begin = yaml.find("  - name: NodeName\n    args:\n");
    EXPECT_NE(begin, std::string::npos) << yaml;
    return yaml.substr(begin);
  };
  EXPECT_EQ(shown("{list: [], inner: {c: other, d: 2}, more: 3}"),
            "  - name: NodeName\n    args:\n      a: 1\n      list:\n      - x\n      inner:\n"
            "        b: true\n        c: other\n        d: 2\n      more: 3\n");
  EXPECT_EQ(shown("{a: null, list: [z], inner: null}"),
            "  - name: NodeName\n    args:\n      a: 1\n      list:\n      - z\n      inner:\n"
            "        b: true\n        c: word\n");
}

TEST(Validate, SaysWhatToQuoteInArgs) {
  const auto make = [](const std::string&, const std::string& plugin, const std::string&) {
    MadePlugin made{test_registry().at(plugin), {}, {}};
    if (plugin == "NodeName") {
      made.errors = {{"a[0]", "must be a string, not true"},
                     {"a[1]", "must be a name, not 1"},
                     {"b", "must be a number from 1 on, not \"2\""},
                     {"b.c", "must be a string, not 1"}};
    }
    return made;
  };
  EXPECT_EQ(to_string(validate_text("apiVersion: kubescheduler.config.k8s.io/v1\n"
                                    "kind: KubeSchedulerConfiguration\nprofiles:\n"
                                    "- schedulerName: a\n  pluginConfig:\n"
                                    "  - {name: NodeName, args: {a: [on, 1], b: '2'}}\n",
                                    "f", test_registry(), make)
                          .errors,
                      "f"),
            "f:6:33: profiles[0].pluginConfig[0].args.a[0]: must be a string, not true (YAML reads "
            "the unquoted word on as a boolean: put it in quotes)\n"
            "f:6:37: profiles[0].pluginConfig[0].args.a[1]: must be a name, not 1: put it in "
            "quotes\n"
            "f:6:41: profiles[0].pluginConfig[0].args.b.c: must be a string, not 1\n"
            "f:6:44: profiles[0].pluginConfig[0].args.b: must be a number from 1 on, not \"2\": "
            "write it without quotes\n");
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
      "exist: no built-in plugin has this name, and no file in a plugin folder; --plugin-dir adds "
      "one\n"
      "warning: f:3:27: percentageOfNodesToScore: has no effect: Plimsoll evaluates every node for "
      "every pod\n"
      "f: 1 error, 1 warning\n");
}

}  // namespace
}  // namespace plimsoll::config

// ValidateKubeSchedulerConfiguration and NewMap, row by row as kube-scheduler's own tables have
// them (validation_test.go, profile_test.go, defaults_test.go, scheme_test.go): a good file with
// one line changed.

#include <gtest/gtest.h>

#include "config/validate.hpp"
#include "tests/config/test_registry.hpp"

namespace plimsoll::config {
namespace {

PluginRegistry registry() {
  using enum ExtensionPoint;
  PluginRegistry out = test_registry();
  out["CustomSort"] = {kQueueSort};
  out["AnotherSort"] = {kQueueSort};
  out["CustomBind"] = {kBind};
  return out;
}

constexpr const char* kGood = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 8
clientConnection: {acceptContentTypes: application/json, contentType: application/json, qps: 10, burst: 10}
leaderElection: {resourceLock: leases, leaderElect: true, leaseDuration: 30s, renewDeadline: 15s, retryPeriod: 5s, resourceNamespace: name, resourceName: name}
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 1
percentageOfNodesToScore: 35
enableProfiling: true
profiles:
- schedulerName: me
  percentageOfNodesToScore: 35
  plugins:
    queueSort: {enabled: [{name: CustomSort}], disabled: [{name: '*'}]}
    score: {disabled: [{name: '*'}]}
  pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100}}]
- schedulerName: other
  percentageOfNodesToScore: 35
  plugins:
    queueSort: {enabled: [{name: CustomSort}], disabled: [{name: '*'}]}
    bind: {enabled: [{name: CustomBind}]}
)";

struct Change {
  const char* name;
  const char* from;  // text of the good file; empty: what follows is appended
  const char* to;
  const char* errors;  // "path: message" lines
};

std::ostream& operator<<(std::ostream& out, const Change& row) {
  return out << row.name;
}

class ValidateConfiguration : public testing::TestWithParam<Change> {};

TEST_P(ValidateConfiguration, AsKubeScheduler) {
  std::string text = kGood;
  const std::string from = GetParam().from;
  if (from.empty()) {
    text += GetParam().to;
  } else {
    ASSERT_NE(text.find(from), std::string::npos);
    text.replace(text.find(from), from.size(), GetParam().to);
  }
  std::string found;
  for (const Problem& error : validate_text(text, "f", registry()).errors) {
    EXPECT_GT(error.at.line, 0) << error.message;
    found += error.path + ": " + error.message + '\n';
  }
  EXPECT_EQ(found, GetParam().errors);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ValidateConfiguration,
    testing::Values(
        Change{"good", "", "", ""},
        Change{"parallelism", "parallelism: 8", "parallelism: 0",
               "parallelism: Invalid value: 0: should be an integer value greater than zero\n"},
        Change{"negative burst", "burst: 10", "burst: -1",
               "clientConnection.burst: Invalid value: -1: must be non-negative\n"},
        Change{"an empty resource name is the default one", "resourceName: name",
               "resourceName: ''", ""},
        Change{
            "another lock", "resourceLock: leases", "resourceLock: configmap",
            "leaderElection.resourceLock: Invalid value: \"configmap\": resourceLock value must be "
            "\"leases\"\n"},
        Change{"another lock, but no election", "resourceLock: leases, leaderElect: true",
               "resourceLock: configmap, leaderElect: false", ""},
        Change{"lease shorter than the renewal", "leaseDuration: 30s", "leaseDuration: 15s",
               "leaderElection.leaseDuration: Invalid value: \"15s\": must be greater than "
               "`RenewDeadline`\n"},
        Change{
            "renewal too close to the retries", "retryPeriod: 5s", "retryPeriod: 12500ms",
            "leaderElection.renewDeadline: Invalid value: \"15s\": must be greater than 1.2 times "
            "`RetryPeriod`\n"},
        Change{"a negative period", "retryPeriod: 5s", "retryPeriod: -5s",
               "leaderElection.retryPeriod: Invalid value: \"-5s\": must be greater than zero\n"},
        Change{"percentage above 100", "percentageOfNodesToScore: 35\nenable",
               "percentageOfNodesToScore: 101\nenable",
               "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]\n"},
        Change{"negative percentage", "percentageOfNodesToScore: 35\nenable",
               "percentageOfNodesToScore: -1\nenable",
               "percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]\n"},
        Change{"a profile's percentage above 100", "me\n  percentageOfNodesToScore: 35",
               "me\n  percentageOfNodesToScore: 101",
               "profiles[0].percentageOfNodesToScore: Invalid value: 101: not in valid range "
               "[0-100]\n"},
        Change{"a profile's negative percentage", "other\n  percentageOfNodesToScore: 35",
               "other\n  percentageOfNodesToScore: -1",
               "profiles[1].percentageOfNodesToScore: Invalid value: -1: not in valid range "
               "[0-100]\n"},
        Change{"no name", "schedulerName: other\n", "schedulerName: ''\n",
               "profiles[1].schedulerName: Required value\n"},
        Change{"a name twice", "schedulerName: me\n", "schedulerName: other\n",
               "profiles[1].schedulerName: Duplicate value: \"other\": profiles[0] has the same "
               "name\n"},
        Change{"different queue sorts", "[{name: CustomSort}], disabled: [{name: '*'}]}\n    score",
               "[{name: AnotherSort}], disabled: [{name: '*'}]}\n    score",
               "profiles[1].plugins.queueSort: Invalid value: \"CustomSort\": must be the same for "
               "all "
               "profiles\n"},
        Change{"one queue sort empty",
               "    queueSort: {enabled: [{name: CustomSort}], disabled: [{name: '*'}]}\n    bind",
               "    bind",
               "profiles[1].plugins.queueSort: Invalid value: none: must be the same for all "
               "profiles\n"},
        Change{"args of another version", "args: {minC", "args: {apiVersion: v1, minC",
               "profiles[0].pluginConfig[0].args.apiVersion: Unsupported value: \"v1\": supported "
               "values: \"kubescheduler.config.k8s.io/v1\"\n"},
        Change{"config for one plugin twice", "[{name: DefaultPreemption,",
               "[{name: config}, {name: config}, {name: DefaultPreemption,",
               "profiles[0].pluginConfig[1]: Duplicate value: \"config\"\n"},
        Change{
            "removed plugins", "score: {disabled",
            "score: {enabled: [{name: AzureDiskLimits}, {name: GCEPDLimits}], disabled",
            "profiles[0].plugins.score.enabled[0]: Invalid value: \"AzureDiskLimits\": was invalid "
            "in version \"v1\" (KubeSchedulerConfiguration is version "
            "\"kubescheduler.config.k8s.io/v1\"): remove it, NodeVolumeLimits does its work\n"
            "profiles[0].plugins.score.enabled[1]: Invalid value: \"GCEPDLimits\": was invalid in "
            "version \"v1\" (KubeSchedulerConfiguration is version "
            "\"kubescheduler.config.k8s.io/v1\"): remove it, NodeVolumeLimits does its work\n"},
        Change{"backoff of nothing", "podInitialBackoffSeconds: 1", "podInitialBackoffSeconds: 0",
               "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0\n"},
        Change{"the longest backoff below the first", "podInitialBackoffSeconds: 1",
               "podInitialBackoffSeconds: 5",
               "podMaxBackoffSeconds: Invalid value: 1: must be greater than or equal to "
               "PodInitialBackoffSeconds\n"},
        Change{
            "an extender without weight", "",
            "extenders: [{urlPrefix: 'http://e', prioritizeVerb: p, weight: -1}]\n",
            "extenders[0].weight: Invalid value: -1: must have a positive weight applied to it\n"},
        Change{
            "an extender's resource twice", "",
            "extenders: [{urlPrefix: 'http://e', managedResources: [{name: example.com/foo}, "
            "{name: example.com/foo}]}]\n",
            "extenders[0].managedResources[1].name: Invalid value: \"example.com/foo\": duplicate "
            "extender managed resource name\n"},
        Change{
            "two extenders that bind, one of them nowhere", "",
            "extenders: [{urlPrefix: e, bindVerb: b}, {urlPrefix: 'https://f', bindVerb: b}]\n",
            "extenders: Invalid value: \"found 2 extenders implementing bind\": only one extender "
            "can implement bind\n"
            "extenders[0].urlPrefix: Invalid value: \"e\": must begin with http:// or https://\n"},
        Change{
            "an extender that is not there", "", "extenders: [null]\n",
            "extenders[0].urlPrefix: Invalid value: \"\": must begin with http:// or https://\n"},
        Change{"nothing binds", "bind: {enabled: [{name: CustomBind}]}",
               "bind: {disabled: [{name: '*'}]}",
               "profiles[1].plugins.bind: at least one bind plugin is needed for profile with "
               "scheduler name \"other\"\n"},
        Change{"fields in another case", "podMaxBackoffSeconds: 1", "PodMaxBackoffSeconds: 10",
               "PodMaxBackoffSeconds: unknown field \"PodMaxBackoffSeconds\", did you mean "
               "\"podMaxBackoffSeconds\"?\n"}));

Validation validate_rest(const std::string& rest) {
  return validate_text(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" + rest, "f",
      registry());
}

TEST(ValidateConfiguration, OneProfileIsNamedUnlessItSaysAnEmptyName) {
  EXPECT_EQ(validate_rest("").profiles.at(0).scheduler_name, "default-scheduler");
  EXPECT_EQ(validate_rest("profiles: [{}]\n").profiles.at(0).scheduler_name, "default-scheduler");
  EXPECT_EQ(validate_rest("profiles: []\n").profiles.at(0).scheduler_name, "default-scheduler");
  EXPECT_EQ(to_string(validate_rest("profiles: [{schedulerName: ''}]\n").errors, "f"),
            "f:3:28: profiles[0].schedulerName: Required value\n");
  EXPECT_EQ(to_string(validate_rest("profiles: [{}, {schedulerName: b}]\n").errors, "f"),
            "f:3:12: profiles[0].schedulerName: Required value\n");
}

TEST(ValidateConfiguration, EmptyArgsAreTheDefaults) {
  const Validation validation = validate_rest(
      "leaderElection: {leaderElect: false}\nprofiles:\n- schedulerName: a\n  pluginConfig:\n"
      "  - name: NodeResourcesFit\n    args:\n  - name: NodeAffinity\n"
      "  - {name: NodeResourcesBalancedAllocation, args: {}}\n  - name: OutOfTreePlugin\n");
  ASSERT_TRUE(validation.ok()) << validation.report();
  const Validation defaults = validate_rest(
      "leaderElection: {leaderElect: false}\nprofiles: "
      "[{schedulerName: a}]\n");
  for (const std::string& plugin : defaults.profiles.at(0).plugins) {
    EXPECT_EQ(validation.profiles.at(0).args.at(plugin), defaults.profiles.at(0).args.at(plugin))
        << plugin;
  }
}

TEST(ValidateConfiguration, ArgsOfPluginsThatAreNotInTheTreeStayAsTheyAre) {
  const Validation validation = validate_rest(
      "profiles:\n- schedulerName: a\n  plugins: {multiPoint: {enabled: [{name: TopologyScore}]}}\n"
      "  pluginConfig:\n  - name: TopologyScore\n    args: {foo: bar, list: [1, 2.50, yes]}\n");
  ASSERT_TRUE(validation.ok()) << validation.report();
  EXPECT_EQ(validation.profiles.at(0).args.at("TopologyScore"),
            R"({"foo":"bar","list":[1,2.5,true]})");
}

}  // namespace
}  // namespace plimsoll::config

#include "config/load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/text/fields.hpp"

namespace plimsoll::config {
namespace {

constexpr const char* kHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

LoadedConfig load(const std::string& rest) {
  return load_config_text(kHead + rest, "f");
}

std::string errors(const std::string& rest) {
  return to_string(load(rest).errors, "f");
}

std::string warnings(const std::string& rest) {
  return to_string(load(rest).warnings, "f");
}

TEST(Load, FillsInKubeSchedulersDefaults) {
  const SchedulerConfig config = load("").config.value();
  EXPECT_EQ(config.parallelism, 16);
  EXPECT_EQ(config.percentage_of_nodes_to_score, 0);
  EXPECT_EQ(config.pod_initial_backoff_seconds, 1);
  EXPECT_EQ(config.pod_max_backoff_seconds, 10);
  EXPECT_TRUE(config.enable_profiling);
  EXPECT_TRUE(config.enable_contention_profiling);
  EXPECT_FALSE(config.delay_cache_until_active);
  EXPECT_EQ(config.client_connection.qps, 50);
  EXPECT_EQ(config.client_connection.burst, 100);
  EXPECT_EQ(config.client_connection.content_type, "application/vnd.kubernetes.protobuf");
  EXPECT_TRUE(config.leader_election.leader_elect);
  EXPECT_EQ(config.leader_election.resource_lock, "leases");
  EXPECT_EQ(config.leader_election.resource_namespace, "kube-system");
  EXPECT_EQ(config.leader_election.resource_name, "kube-scheduler");
  EXPECT_EQ(config.leader_election.lease_duration, std::chrono::seconds(15));
  EXPECT_EQ(config.leader_election.renew_deadline, std::chrono::seconds(10));
  EXPECT_EQ(config.leader_election.retry_period, std::chrono::seconds(2));
  ASSERT_EQ(config.profiles.size(), 1U);
  EXPECT_EQ(config.profiles[0].scheduler_name, "default-scheduler");
}

TEST(Load, ReadsEveryField) {
  const LoadedConfig loaded = load(R"(
parallelism: 4
percentageOfNodesToScore: 100
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
enableProfiling: false
delayCacheUntilActive: true
clientConnection: {kubeconfig: /k, acceptContentTypes: a, contentType: application/json, qps: 7.5, burst: 9}
leaderElection:
  leaderElect: true
  leaseDuration: 1m30s
  renewDeadline: 1m
  retryPeriod: 500ms
  resourceLock: leases
  resourceName: mine
  resourceNamespace: here
profiles:
- schedulerName: one
  percentageOfNodesToScore: 0
  plugins:
    multiPoint: {enabled: [{name: A, weight: 3}], disabled: [{name: B}]}
    preEnqueue: {enabled: [{name: C}]}
    postBind: {disabled: [{name: "*"}]}
  pluginConfig:
  - name: A
    args: {x: {z: [1, two]}}
- schedulerName: two
)");
  ASSERT_EQ(to_string(loaded.errors, "f"), "");
  EXPECT_EQ(
      to_string(loaded.warnings, "f"),
      "f:4:14: parallelism: has no effect: one thread evaluates the nodes, and remembers the "
      "results\n"
      "f:10:56: clientConnection.acceptContentTypes: has no effect: Plimsoll chooses the encoding "
      "itself\n"
      "f:10:95: clientConnection.qps: has no effect: the number of requests under way is limited, "
      "not their rate\n");
  const SchedulerConfig& config = *loaded.config;
  EXPECT_EQ(config.parallelism, 4);
  EXPECT_EQ(config.pod_max_backoff_seconds, 20);
  EXPECT_FALSE(config.enable_profiling);
  EXPECT_FALSE(config.enable_contention_profiling);
  EXPECT_TRUE(config.delay_cache_until_active);
  EXPECT_EQ(config.client_connection.kubeconfig, "/k");
  EXPECT_EQ(config.client_connection.qps, 7.5);
  EXPECT_EQ(config.leader_election.lease_duration, std::chrono::seconds(90));
  EXPECT_EQ(config.leader_election.retry_period, std::chrono::milliseconds(500));
  EXPECT_EQ(config.leader_election.resource_name, "mine");
  ASSERT_EQ(config.profiles.size(), 2U);
  const Plugins& plugins = config.profiles[0].plugins;
  EXPECT_EQ(plugins.multi_point.enabled.at(0).name, "A");
  EXPECT_EQ(plugins.multi_point.enabled.at(0).weight, 3);
  EXPECT_EQ(plugins.multi_point.enabled.at(0).path, "profiles[0].plugins.multiPoint.enabled[0]");
  EXPECT_EQ(plugins.multi_point.disabled.at(0).name, "B");
  EXPECT_EQ(plugins.points[ExtensionPoint::kPreEnqueue].enabled.at(0).name, "C");
  EXPECT_EQ(plugins.points[ExtensionPoint::kPostBind].disabled.at(0).name, "*");
  const PluginArgs& args = config.profiles[0].plugin_args.at(0);
  EXPECT_EQ(args.json, R"({"x":{"z":[1,"two"]}})");
  const Problem problem = args.problem("x.z[1]", "wrong");
  EXPECT_EQ(to_string(problem, "f"), "f:28:23: profiles[0].pluginConfig[0].args.x.z[1]: wrong");
}

TEST(Load, ReadsJson) {
  const LoadedConfig loaded = load_config_text(
      R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration",
          "leaderElection":{"leaderElect":false},
          "profiles":[{"schedulerName":"a","plugins":{"score":{"enabled":[{"name":"X","weight":"2"}]}}}]})",
      "f");
  EXPECT_EQ(
      to_string(loaded.errors, "f"),
      "f:3:96: profiles[0].plugins.score.enabled[0].weight: expected an integer, got the string "
      "\"2\": write it without quotes\n");
}

// Without quotes they would be no better.
TEST(Load, QuotesAreOnlyBlamedForWhatTheyChange) {
  const auto error = [](const std::string& line) {
    return errors("leaderElection: {leaderElect: false}\nprofiles: [{schedulerName: a}]\n" + line);
  };
  EXPECT_THAT(error("parallelism: two\n"),
              testing::EndsWith("parallelism: expected an integer, got the string \"two\"\n"));
  EXPECT_THAT(error("parallelism: 'on'\n"), testing::EndsWith("got the string \"on\"\n"));
  EXPECT_THAT(error("parallelism: '1.5'\n"), testing::EndsWith("got the string \"1.5\"\n"));
  EXPECT_THAT(error("parallelism: '4'\n"), testing::EndsWith("\"4\": write it without quotes\n"));
  EXPECT_THAT(error("enableProfiling: maybe\n"),
              testing::EndsWith("expected true or false, got the string \"maybe\"\n"));
  EXPECT_THAT(error("enableProfiling: '1'\n"), testing::EndsWith("got the string \"1\"\n"));
  EXPECT_THAT(error("enableProfiling: 'yes'\n"),
              testing::EndsWith("\"yes\": write it without quotes\n"));
}

TEST(Load, ResolvesAliasesOfPluginNames) {
  const LoadedConfig loaded = load(
      "leaderElection: {leaderElect: false}\nprofiles:\n- schedulerName: a\n"
      "  plugins: {filter: {enabled: [{name: DeviceShare}], disabled: [{name: DeviceShare}]}}\n"
      "  pluginConfig:\n  - name: DeviceShare\n    args: {apiVersion: x/v1, kind: DeviceShareArgs, "
      "a: 1}\n");
  ASSERT_TRUE(loaded.errors.empty()) << to_string(loaded.errors, "f");
  const Profile& profile = loaded.config->profiles[0];
  const PluginSet& filter = profile.plugins.points[ExtensionPoint::kFilter];
  EXPECT_EQ(filter.enabled[0].name, "NodeDevice");
  EXPECT_EQ(filter.enabled[0].written, "DeviceShare");
  EXPECT_EQ(filter.disabled[0].name, "NodeDevice");
  EXPECT_EQ(profile.plugin_args[0].name, "NodeDevice");
  EXPECT_EQ(profile.plugin_args[0].json, R"({"a":1})");
}

TEST(Load, WarnsAboutWhatHasNoEffect) {
  EXPECT_EQ(
      warnings("percentageOfNodesToScore: 50\nleaderElection: {leaderElect: false}\nprofiles:\n"
               "- schedulerName: a\n  percentageOfNodesToScore: 5\n"),
      "f:3:27: percentageOfNodesToScore: has no effect: Plimsoll evaluates every node for every "
      "pod\n"
      "f:7:29: profiles[0].percentageOfNodesToScore: has no effect: Plimsoll evaluates every node "
      "for every pod\n");
  // The defaults of kube-scheduler 1.37, as its file may name them.
  EXPECT_EQ(
      warnings("leaderElection: {leaderElect: false}\nprofiles:\n- schedulerName: a\n  plugins:\n"
               "    podGroupPostFilter:\n      enabled: [{name: DefaultPreemption}]\n"
               "      disabled: [{name: '*'}]\n"),
      "f:8:24: profiles[0].plugins.podGroupPostFilter.enabled[0]: has no effect: there is no "
      "podGroupPostFilter here\n");
}

TEST(Load, TheLeaseIsOurOwnUnlessThePodsAreNot) {
  const auto lease = [](const std::string& text) {
    return load(text).config->leader_election.resource_name;
  };
  EXPECT_EQ(lease("profiles: [{schedulerName: a}]\n"), "plimsoll");
  EXPECT_EQ(lease("leaderElection: {resourceName: ''}\nprofiles: [{schedulerName: a}]\n"),
            "plimsoll");
  EXPECT_EQ(lease("profiles: [{schedulerName: a}, {schedulerName: default-scheduler}]\n"),
            "kube-scheduler");
  EXPECT_EQ(lease("leaderElection: {resourceName: mine}\nprofiles: [{schedulerName: a}]\n"),
            "mine");
  EXPECT_EQ(warnings("leaderElection: {leaderElect: true}\nprofiles: [{schedulerName: a}]\n"), "");
}

TEST(Load, WarnsAboutMeetingKubeScheduler) {
  EXPECT_EQ(
      warnings("leaderElection: {resourceName: kube-scheduler}\nprofiles: [{schedulerName: a}]\n"),
      "f:3:1: leaderElection.resourceName: is kube-scheduler's own lease, "
      "kube-system/kube-scheduler: only one of the two would run; give it a name of its own or set "
      "leaderElect: false\n");
  EXPECT_EQ(
      warnings("profiles: [{schedulerName: default-scheduler}]\n"),
      "f:3:28: profiles[0].schedulerName: kube-scheduler serves the pods of "
      "\"default-scheduler\": two schedulers would work on the same pods unless it is stopped\n");
}

TEST(Load, NullMeansAbsent) {
  EXPECT_EQ(errors("parallelism:\nprofiles: null\nclientConnection: ~\nextenders:\n"), "");
}

TEST(Load, AcceptsAWholeFloatAsAnInteger) {
  EXPECT_EQ(errors("parallelism: 8.0\n"), "");
  EXPECT_EQ(errors("parallelism: 8.5\n"),
            "f:3:14: parallelism: expected an integer, got the number 8.5\n");
  EXPECT_EQ(errors("parallelism: 99999999999\n"),
            "f:3:14: parallelism: the integer 99999999999 is out of range: it must lie between "
            "-2147483648 and 2147483647\n");
}

TEST(Load, ReportsAFileThatCannotBeRead) {
  const LoadedConfig loaded = load_config_file("tests/config/none.yaml");
  EXPECT_EQ(to_string(loaded.errors, loaded.file),
            "tests/config/none.yaml: the profile file cannot be read: No such file or directory\n");
}

}  // namespace
}  // namespace plimsoll::config

#include "config/plugin_args.hpp"

#include <gtest/gtest.h>

#include "config/yaml_document.hpp"

namespace plimsoll::config {
namespace {

struct Good {
  const char* plugin;
  const char* args;
  const char* json;
};

class Args : public testing::TestWithParam<Good> {};

TEST_P(Args, AreDefaulted) {
  const ParsedText parsed = parse_single_document(GetParam().args);
  ASSERT_TRUE(parsed.problems.empty());
  Problems problems;
  EXPECT_EQ(normalise_args(GetParam().plugin, &parsed.documents[0], "args", problems),
            GetParam().json);
  EXPECT_EQ(to_string(problems, "f"), "");
}

constexpr const char* kCpuAndMemory = R"([{"name":"cpu","weight":1},{"name":"memory","weight":1}])";

INSTANTIATE_TEST_SUITE_P(
    Good, Args,
    testing::Values(
        Good{"DefaultPreemption", "{minCandidateNodesAbsolute: 5}",
             R"({"minCandidateNodesPercentage":10,"minCandidateNodesAbsolute":5})"},
        Good{"DefaultPreemption", "{minCandidateNodesPercentage: 0}",
             R"({"minCandidateNodesPercentage":0,"minCandidateNodesAbsolute":100})"},
        Good{"InterPodAffinity",
             "{apiVersion: kubescheduler.config.k8s.io/v1, kind: InterPodAffinityArgs}",
             R"({"hardPodAffinityWeight":1,"ignorePreferredTermsOfExistingPods":false})"},
        Good{
            "NodeResourcesFit",
            "{ignoredResources: [example.com/a], scoringStrategy: {type: MostAllocated, resources: "
            "[{name: cpu, weight: 0}, {name: nvidia.com/gpu, weight: 5}]}}",
            R"({"ignoredResources":["example.com/a"],"ignoredResourceGroups":[],"scoringStrategy":)"
            R"({"type":"MostAllocated","resources":[{"name":"cpu","weight":1},)"
            R"({"name":"nvidia.com/gpu","weight":5}]}})"},
        Good{
            "NodeResourcesFit",
            "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: "
            "[{utilization: 0, score: 10}, {utilization: 100, score: 0}]}}}",
            R"({"ignoredResources":[],"ignoredResourceGroups":[],"scoringStrategy":{"type":)"
            R"("RequestedToCapacityRatio","resources":[{"name":"cpu","weight":1},{"name":"memory",)"
            R"("weight":1}],"requestedToCapacityRatio":{"shape":[{"utilization":0,"score":10},)"
            R"({"utilization":100,"score":0}]}}})"},
        Good{"NodeResourcesBalancedAllocation", "{resources: [{name: cpu}]}",
             R"({"resources":[{"name":"cpu","weight":1}]})"},
        Good{"PodTopologySpread",
             "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, "
             "whenUnsatisfiable: ScheduleAnyway}]}",
             R"({"defaultConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":)"
             R"("ScheduleAnyway"}],"defaultingType":"List"})"},
        Good{"VolumeBinding", "{bindTimeoutSeconds: 0}", R"({"bindTimeoutSeconds":0})"},
        Good{"DynamicResources", "{filterTimeout: 0s, bindingTimeout: 90s}",
             R"({"filterTimeout":"0s","bindingTimeout":"1m30s"})"},
        Good{
            "NodeAffinity",
            "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchExpressions: [{key: a, operator: In, values: [b]}]}]}, "
            "preferredDuringSchedulingIgnoredDuringExecution: [{weight: 5, preference: "
            "{matchFields: "
            "[{key: metadata.name, operator: In, values: [node]}]}}]}}",
            R"({"addedAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
            R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]}]},)"
            R"("preferredDuringSchedulingIgnoredDuringExecution":[{"weight":5,"preference":)"
            R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["node"]}]}}]}})"}));

TEST(Args, DefaultsWithoutAnyArgs) {
  EXPECT_EQ(default_args("NodeResourcesFit"),
            std::string(
                R"({"ignoredResources":[],"ignoredResourceGroups":[],"scoringStrategy":{"type":)") +
                R"("LeastAllocated","resources":)" + kCpuAndMemory + "}}");
  EXPECT_EQ(default_args("NodeResourcesBalancedAllocation"),
            std::string(R"({"resources":)") + kCpuAndMemory + "}");
  EXPECT_EQ(default_args("PodTopologySpread"),
            R"({"defaultConstraints":[],"defaultingType":"System"})");
  EXPECT_EQ(default_args("VolumeBinding"), R"({"bindTimeoutSeconds":600})");
  EXPECT_EQ(default_args("DynamicResources"),
            R"({"filterTimeout":"10s","bindingTimeout":"10m0s"})");
  EXPECT_EQ(default_args("NodeAffinity"), "{}");
  EXPECT_EQ(default_args("SomebodyElses"), "{}");
}

struct Bad {
  const char* plugin;
  const char* args;
  const char* problems;
};

class BadArgs : public testing::TestWithParam<Bad> {};

TEST_P(BadArgs, AreRefusedWithPathAndKubeSchedulersWords) {
  const ParsedText parsed = parse_single_document(GetParam().args);
  ASSERT_TRUE(parsed.problems.empty());
  Problems problems;
  (void)normalise_args(GetParam().plugin, &parsed.documents[0], "args", problems);
  std::string shown;
  for (const Problem& problem : problems) shown += problem.path + ": " + problem.message + '\n';
  EXPECT_EQ(shown, GetParam().problems);
}

INSTANTIATE_TEST_SUITE_P(
    Bad, BadArgs,
    testing::Values(
        Bad{"DefaultPreemption",
            "{minCandidateNodesPercentage: 101, minCandidateNodesAbsolute: -1}",
            "args.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]\n"
            "args.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)\n"},
        Bad{"DefaultPreemption", "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
            "args.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time "
            "as "
            "minCandidateNodesAbsolute\n"
            "args.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as "
            "minCandidateNodesPercentage\n"},
        Bad{"InterPodAffinity", "{hardPodAffinityWeight: 101}",
            "args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]\n"},
        Bad{"NodeResourcesFit", "{scoringStrategy: {}}",
            "args.scoringStrategy.type: Unsupported value: \"\": supported values: "
            "\"LeastAllocated\", "
            "\"MostAllocated\", \"RequestedToCapacityRatio\"\n"},
        Bad{"NodeResourcesFit",
            "{ignoredResourceGroups: [a/b], scoringStrategy: {type: LeastAllocated, resources: "
            "[{name: "
            "cpu, weight: 101}, {name: cpu, weight: -1}]}}",
            "args.ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't "
            "contain "
            "'/'\n"
            "args.scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu "
            "not in "
            "valid range (0, 100]\n"
            "args.scoringStrategy.resources[1].name: Duplicate value: \"cpu\"\n"
            "args.scoringStrategy.resources[1].weight: Invalid value: -1: resource weight of cpu "
            "not in "
            "valid range (0, 100]\n"},
        Bad{"NodeResourcesFit", "{scoringStrategy: {type: RequestedToCapacityRatio}}",
            "args.scoringStrategy.requestedToCapacityRatio: Required value: must be specified when "
            "type "
            "is RequestedToCapacityRatio\n"},
        Bad{"NodeResourcesFit",
            "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: "
            "[{utilization: 50, score: 11}, {utilization: 50, score: -1}, {utilization: 101, "
            "score: 0}]}}}",
            "args.scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 11: not "
            "in "
            "valid range [0, 10]\n"
            "args.scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: "
            "50: "
            "values must be sorted in increasing order\n"
            "args.scoringStrategy.requestedToCapacityRatio.shape[1].score: Invalid value: -1: not "
            "in "
            "valid range [0, 10]\n"
            "args.scoringStrategy.requestedToCapacityRatio.shape[2].utilization: Invalid value: "
            "101: not "
            "in valid range [0, 100]\n"},
        Bad{"NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}, {name: cpu}]}",
            "args.resources[0].weight: Invalid value: 2: must be 1\n"
            "args.resources[1].name: Duplicate value: \"cpu\"\n"},
        Bad{"PodTopologySpread",
            "{defaultConstraints: [{maxSkew: 0, topologyKey: '', labelSelector: {}}, {maxSkew: 1, "
            "topologyKey: z, whenUnsatisfiable: Never}]}",
            "args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)\n"
            "args.defaultConstraints[0].topologyKey: Required value: can not be empty\n"
            "args.defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty\n"
            "args.defaultConstraints[0].labelSelector: Forbidden: constraint must not define a "
            "selector, "
            "as they deduced for each pod\n"
            "args.defaultConstraints[1].whenUnsatisfiable: Unsupported value: \"Never\": supported "
            "values: \"DoNotSchedule\", \"ScheduleAnyway\"\n"
            "args.defaultingType: Invalid value: \"System\": when .defaultConstraints are not "
            "empty\n"},
        Bad{"VolumeBinding", "{bindTimeoutSeconds: -1, shape: []}",
            "args.bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be "
            "a "
            "negative value\n"
            "args.shape: Invalid value: []: unexpected field `shape`, remove it or turn on the "
            "feature "
            "gate StorageCapacityScoring\n"},
        Bad{"DynamicResources", "{filterTimeout: -1s, bindingTimeout: 999ms}",
            "args.filterTimeout: Invalid value: \"-1s\": must be zero or positive\n"
            "args.bindingTimeout: Invalid value: \"999ms\": must be at least 1 second\n"},
        Bad{"NodeAffinity",
            "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[]}, "
            "preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, preference: "
            "{matchExpressions: [{key: a, operator: In}, {key: a, operator: Exists, values: [x]}, "
            "{key: "
            "a, operator: Gt, values: [x]}, {key: a, operator: Like}]}}]}}",
            "args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: "
            "Required value: must have at least one node selector term\n"
            "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
            "matchExpressions[0].values: Invalid value: []: for 'in', 'notin' operators, values "
            "set "
            "can't be empty\n"
            "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
            "matchExpressions[1].values: Invalid value: [\"x\"]: values set must be empty for "
            "exists and "
            "does not exist\n"
            "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
            "matchExpressions[2].values: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value "
            "must "
            "be an integer\n"
            "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
            "matchExpressions[3].operator: Unsupported value: \"Like\": supported values: \"In\", "
            "\"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"\n"
            "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid "
            "value: 0: must be in the range 1-100\n"},
        Bad{"InterPodAffinity", "{kind: NodeAffinityArgs, hardWeight: 1}",
            "args.kind: args for plugin InterPodAffinity were not of type "
            "InterPodAffinityArgs.kubescheduler.config.k8s.io, got "
            "NodeAffinityArgs.kubescheduler.config.k8s.io\n"
            "args.hardWeight: unknown field \"args.hardWeight\"\n"}));

TEST(Args, OfOtherPluginsArePassedOn) {
  const auto passed = [](std::string_view text) {
    const ParsedText parsed = parse_single_document(text);
    return passed_on_args("NodeDevice", "DeviceShare", &parsed.documents.at(0));
  };
  EXPECT_EQ(passed("{apiVersion: a, kind: DeviceShareArgs, x: 1}"), R"({"x":1})");
  EXPECT_EQ(passed("{kind: NodeDeviceArgs, x: 1}"), R"({"x":1})");
  EXPECT_EQ(passed("{apiVersion: a, kind: Other, x: 1}"),
            R"({"apiVersion":"a","kind":"Other","x":1})");
  EXPECT_EQ(passed_on_args("A", "A", nullptr), "{}");
}

}  // namespace
}  // namespace plimsoll::config

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
  Problems errors, warnings;
  EXPECT_EQ(normalise_args(GetParam().plugin, &parsed.documents[0], "args", errors, warnings),
            GetParam().json);
  EXPECT_EQ(to_string(errors, "f") + to_string(warnings, "f"), "");
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
        Good{"DefaultPreemption", "{minCandidateNodesPercentage: 50, minCandidateNodesAbsolute: 0}",
             R"({"minCandidateNodesPercentage":50,"minCandidateNodesAbsolute":0})"},
        Good{"InterPodAffinity", "{hardPodAffinityWeight: 0}",
             R"({"hardPodAffinityWeight":0,"ignorePreferredTermsOfExistingPods":false})"},
        Good{"InterPodAffinity",
             "{hardPodAffinityWeight: 100, ignorePreferredTermsOfExistingPods: true}",
             R"({"hardPodAffinityWeight":100,"ignorePreferredTermsOfExistingPods":true})"},
        Good{
            "NodeResourcesBalancedAllocation",
            "{resources: [{name: cpu}, {name: memory, weight: 0}, {name: scalar0}, {name: scalar1, "
            "weight: 1}]}",
            R"({"resources":[{"name":"cpu","weight":1},{"name":"memory","weight":1},)"
            R"({"name":"scalar0","weight":1},{"name":"scalar1","weight":1}]})"},
        Good{"NodeResourcesBalancedAllocation", "{resources: []}",
             R"({"resources":[{"name":"cpu","weight":1},{"name":"memory","weight":1}]})"},
        Good{"PodTopologySpread", "{defaultConstraints: [], defaultingType: ''}",
             R"({"defaultConstraints":[],"defaultingType":"System"})"},
        Good{"PodTopologySpread", "{defaultingType: List}",
             R"({"defaultConstraints":[],"defaultingType":"List"})"},
        Good{"NodeResourcesFit", "{scoringStrategy: {type: MostAllocated, resources: []}}",
             R"({"ignoredResources":[],"ignoredResourceGroups":[],"scoringStrategy":{"type":)"
             R"("MostAllocated","resources":[{"name":"cpu","weight":1},)"
             R"({"name":"memory","weight":1}]}})"},
        Good{"NodeResourcesFit", "{ignoredResourceGroups: [example.com], scoringStrategy: null}",
             R"({"ignoredResources":[],"ignoredResourceGroups":["example.com"],"scoringStrategy":)"
             R"({"type":"LeastAllocated","resources":[{"name":"cpu","weight":1},)"
             R"({"name":"memory","weight":1}]}})"},
        Good{"DynamicResources", "{bindingTimeout: 1s}",
             R"({"filterTimeout":"10s","bindingTimeout":"1s"})"},
        Good{"VolumeBinding", "{bindTimeoutSeconds: 10}", R"({"bindTimeoutSeconds":10})"},
        Good{"NodeAffinity", "{addedAffinity: null}", "{}"},
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
  Problems errors, warnings;
  (void)normalise_args(GetParam().plugin, &parsed.documents[0], "args", errors, warnings);
  std::string shown;
  for (const Problem& problem : errors) shown += problem.path + ": " + problem.message + '\n';
  for (const Problem& problem : warnings) {
    shown += "warning: " + problem.path + ": " + problem.message + '\n';
  }
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
            "args.scoringStrategy.resources[1].weight: Invalid value: -1: resource weight of cpu "
            "not in "
            "valid range (0, 100]\n"
            "warning: args.scoringStrategy.resources[1].name: the resource \"cpu\" is listed "
            "before: both weights count\n"},
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
            "[]}, preferredDuringSchedulingIgnoredDuringExecution: [{weight: 5, preference: "
            "{matchExpressions: [{key: a, operator: In}, {key: a, operator: Exists, values: [x]}, "
            "{key: a, operator: Gt, values: [x]}, {key: a, operator: Lt, values: ['1', '2']}, "
            "{key: a, operator: Like}, {key: a b, operator: Exists}]}}]}}",
            "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
            "matchExpressions[0].values: Invalid value: []: for 'in', 'notin' operators, values "
            "set can't be empty\n"
            "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
            "matchExpressions[1].values: Invalid value: [\"x\"]: values set must be empty for "
            "exists and does not exist\n"
            "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
            "matchExpressions[2].values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the "
            "value must be an integer\n"
            "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
            "matchExpressions[3].values: Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' operators, "
            "exactly one value is required\n"
            "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
            "matchExpressions[4].operator: Unsupported value: \"Like\": supported values: \"In\", "
            "\"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"\n"
            "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
            "matchExpressions[5].key: Invalid value: \"a b\": name part must consist of "
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\n"
            "warning: args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            "nodeSelectorTerms: without a term it selects no node: the profile can place no "
            "pod\n"},
        Bad{"NodeAffinity",
            "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchFields: [{key: metadata.name, operator: In, values: [a, b]}, {key: "
            "metadata.name, operator: Exists}, {key: spec.x, operator: In, values: [a]}]}]}, "
            "preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, preference: "
            "{matchExpressions: [{key: a, operator: Like}]}}, {weight: 101, preference: {}}]}}",
            "args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
            ".matchFields[0].values: Invalid value: [\"a\",\"b\"]: must have one element\n"
            "args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
            ".matchFields[1].operator: Unsupported value: \"Exists\": supported values: \"In\", "
            "\"NotIn\"\n"
            "warning: args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            "nodeSelectorTerms[0].matchFields[2].key: nodes have no field \"spec.x\" to select by: "
            "only metadata.name\n"
            "warning: "
            "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
            "a term of weight 0 has no effect\n"
            "warning: "
            "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].weight: "
            "the weight of a preferred term should be in the range 1-100\n"},
        Bad{"DefaultPreemption", "{minCandidateNodesPercentage: -1, minCandidateNodesAbsolute: -1}",
            "args.minCandidateNodesPercentage: Invalid value: -1: not in valid range [0, 100]\n"
            "args.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)\n"},
        Bad{"InterPodAffinity", "{hardPodAffinityWeight: -1}",
            "args.hardPodAffinityWeight: Invalid value: -1: not in valid range [0, 100]\n"},
        Bad{"PodTopologySpread", "{defaultingType: 'Other'}",
            "args.defaultingType: Unsupported value: \"Other\": supported values: \"System\", "
            "\"List\"\n"},
        Bad{"PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: z, "
            "whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: z, whenUnsatisfiable: "
            "DoNotSchedule}, {maxSkew: 2, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, "
            "nodeAffinityPolicy: Maybe}]}",
            "args.defaultConstraints[1]: Duplicate value: \"{z, DoNotSchedule}\"\n"
            "warning: args.defaultConstraints[2].nodeAffinityPolicy: \"Maybe\" is neither Honor "
            "nor Ignore: it counts as Ignore\n"},
        Bad{"NodeResourcesFit", "{ignoredResources: ['', a/b/c]}",
            "args.ignoredResources[0]: Invalid value: \"\": name part must be non-empty\n"
            "args.ignoredResources[0]: Invalid value: \"\": name part must consist of "
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\n"
            "args.ignoredResources[1]: Invalid value: \"a/b/c\": a valid label key must consist of "
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and "
            "'/' (e.g. 'example.com/MyName')\n"},
        Bad{"NodeResourcesFit",
            "{ignoredResourceGroups: "
            "[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]}",
            "args.ignoredResourceGroups[0]: Invalid value: "
            "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": name "
            "part "
            "must be no more than 63 bytes\n"},
        Bad{"NodeResourcesFit",
            "{scoringStrategy: {type: MostAllocated, resources: [{weight: 2}], "
            "requestedToCapacityRatio: {shape: [{utilization: 500}], Shape: []}}}",
            "args.scoringStrategy.requestedToCapacityRatio.Shape: unknown field "
            "\"args.scoringStrategy.requestedToCapacityRatio.Shape\", did you mean \"shape\"?\n"
            "args.scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is "
            "not "
            "RequestedToCapacityRatio\n"
            "warning: args.scoringStrategy.resources[0].name: names no resource: the entry has no "
            "effect\n"},
        Bad{"NodeResourcesFit",
            "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {}}}",
            "args.scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one "
            "point must be specified\n"},
        Bad{"NodeResourcesFit",
            "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: "
            "[{Utilization: 1, Score: 1}]}}}",
            "args.scoringStrategy.requestedToCapacityRatio.shape[0].Utilization: unknown field "
            "\"args.scoringStrategy.requestedToCapacityRatio.shape[0].Utilization\", did you mean "
            "\"utilization\"?\n"
            "args.scoringStrategy.requestedToCapacityRatio.shape[0].Score: unknown field "
            "\"args.scoringStrategy.requestedToCapacityRatio.shape[0].Score\", did you mean "
            "\"score\"?\n"},
        Bad{"NodeResourcesFit",
            "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: "
            "[{utilization: -1, score: 0}, {utilization: 70, score: 1}, {utilization: 30, score: "
            "2}, {utilization: 20, score: 3}]}}}",
            "args.scoringStrategy.requestedToCapacityRatio.shape[0].utilization: Invalid value: "
            "-1: not in valid range [0, 100]\n"
            "args.scoringStrategy.requestedToCapacityRatio.shape[2].utilization: Invalid value: "
            "30: values must be sorted in increasing order\n"},
        Bad{"DynamicResources", "{bindingTimeout: -10s}",
            "args.bindingTimeout: Invalid value: \"-10s\": must be at least 1 second\n"},
        Bad{"DynamicResources", "{bindingTimeout: 10}",
            "args.bindingTimeout: expected a duration such as \"15s\", got the integer 10\n"},
        Bad{"VolumeBinding", "{apiVersion: v1, bindTimeoutSeconds: 1.5}",
            "args.apiVersion: Unsupported value: \"v1\": supported values: "
            "\"kubescheduler.config.k8s.io/v1\"\n"
            "args.bindTimeoutSeconds: expected an integer, got the number 1.5\n"},
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

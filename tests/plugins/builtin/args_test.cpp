// Args of the builtin plugins: what is accepted, and errors and warnings with the path of the
// field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <plimsoll/join.hpp>

#include "tests/plugins/builtin/support.hpp"

namespace plimsoll::builtin_test {
namespace {

struct Made {
  std::string errors;
  std::string warnings;
};

Made make(const char* plugin, const char* args) {
  Bench bench;
  Made made;
  made.errors = bench.create(plugin, args).value_or("");
  made.warnings = sdk::join(bench.context.warnings, "\n");
  return made;
}

TEST(BuiltinArgs, AllPluginsAreMadeWithoutArgs) {
  for (const char* name : {"Coscheduling",      "DefaultBinder",
                           "DefaultPreemption", "DynamicResources",
                           "GangScheduling",    "InterPodAffinity",
                           "NodeAffinity",      "NodeName",
                           "NodePorts",         "NodeResourcesBalancedAllocation",
                           "NodeResourcesFit",  "NodeUnschedulable",
                           "NodeVolumeLimits",  "PodTopologySpread",
                           "PrioritySort",      "SchedulingGates",
                           "TaintToleration",   "UnsupportedFeatures",
                           "VolumeBinding",     "VolumeRestrictions",
                           "VolumeZone"}) {
    for (const char* args : {"", "{}"}) {
      const Made made = make(name, args);
      EXPECT_EQ(made.errors + made.warnings, "") << name;
    }
  }
}

TEST(BuiltinArgs, PluginsWithoutArgsSaySo) {
  const Made made = make("NodeName", R"({"x": 1})");
  EXPECT_EQ(made.errors, "");
  EXPECT_EQ(made.warnings, "args: have no effect: the plugin takes none");
}

// Args of a plugin and what is said about them; where nothing is, they are good.
struct Case {
  const char* plugin;
  const char* args;
  const char* errors = "";
  const char* warnings = "";
};

void check(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    const Made made = make(each.plugin, each.args);
    EXPECT_EQ(made.errors, each.errors) << each.plugin << ' ' << each.args;
    EXPECT_EQ(made.warnings, each.warnings) << each.plugin << ' ' << each.args;
  }
}

TEST(BuiltinArgs, OfGroups) {
  const char* gang = "GangScheduling";
  check({
      {gang, R"({"kind": "GangSchedulingArgs", "topologyLevels": ["example.com/block", "rack"]})"},
      {gang, R"({"topologyLevels": "rack"})", "topologyLevels: must be a list, not \"rack\""},
      {gang, R"({"topologyLevels": ["rack", "rack"]})",
       "topologyLevels[1]: \"rack\" is listed before"},
      {gang, R"({"topologyLevels": ["a b"], "levels": []})",
       "topologyLevels[0]: must be a name such as cpu or example.com/gpu, of at most 63 letters, "
       "digits, '-', '_' and '.' behind an optional DNS name, not \"a b\"\nlevels: unknown field"},
  });
  const char* sorted = "Coscheduling";
  const char* held =
      " has no effect: no pod of a group is held on Permit: the whole group is placed at once";
  const std::string both = "args.permitWaitingTimeSeconds:" + std::string(held) +
                           "\nargs.podGroupRejectPercentage:" + held;
  check({
      {sorted, R"({"kind": "CoschedulingArgs", "permitWaitingTimeSeconds": 60,
        "podGroupBackoffSeconds": 20, "podGroupRejectPercentage": 10})"},
      {sorted, R"({"permitWaitingTimeSeconds": 3, "podGroupRejectPercentage": 100})", "",
       both.c_str()},
      {sorted, R"({"permitWaitingTimeSeconds": -1, "podGroupBackoffSeconds": -1,
        "podGroupRejectPercentage": 101})",
       "permitWaitingTimeSeconds: must be a number from 0 on, not -1\n"
       "podGroupBackoffSeconds: must be a number from 0 to 315360000, not -1\n"
       "podGroupRejectPercentage: must be a number from 0 to 100, not 101"},
      {sorted, R"({"podGroupRejectPercentage": -1, "podGroupBackOff": 1})",
       "podGroupRejectPercentage: must be a number from 0 to 100, not -1\n"
       "podGroupBackOff: unknown field"},
  });
}

TEST(BuiltinArgs, OfResources) {
  const char* fit = "NodeResourcesFit";
  check({
      {fit, "{", "args are not JSON"},
      {fit, R"({"kind": "NodeResourcesFitArgs", "ignoredResources": ["example.com/a"],
        "ignoredResourceGroups": ["example.com"], "scoringStrategy": null})"},
      {fit, R"({"scoringStrategy": {"type": "MostAllocated", "resources": []}})"},
      {fit, R"({"scoringStrategy": {"type": "MostAllocated", "resources":
        [{"name": "cpu", "weight": 0}, {"name": "nvidia.com/gpu", "weight": 5}]}})"},
      {fit, R"({"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio":
        {"shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]}}})"},
      {fit, R"({"kind": "InterPodAffinityArgs"})",
       "kind: must be NodeResourcesFitArgs, not \"InterPodAffinityArgs\""},
      {fit, R"({"scoringStrategy": {}})", "scoringStrategy.type: must be given"},
      {fit, R"({"scoringStrategy": {"type": ""}})",
       "scoringStrategy.type: must be LeastAllocated, MostAllocated or RequestedToCapacityRatio, "
       "not \"\""},
      {fit, R"({"scoringStrategy": {"type": "LeastAllocted", "requestedToCapacityRatio": {}}})",
       "scoringStrategy.type: must be LeastAllocated, MostAllocated or RequestedToCapacityRatio, "
       "not \"LeastAllocted\", did you mean \"LeastAllocated\"?"},
      {fit, R"({"ignoredResourceGroups": ["a/b"], "scoringStrategy": {"type": "LeastAllocated",
        "resources": [{"name": "cpu", "weight": 101}, {"name": "cpu", "weight": -1}]}})",
       "ignoredResourceGroups[0]: must be a group, which has no \"/\", not \"a/b\"\n"
       "scoringStrategy.resources[0].weight: must be a number from 0 to 100, not 101\n"
       "scoringStrategy.resources[1].weight: must be a number from 0 to 100, not -1",
       "args.scoringStrategy.resources[1].name: the resource \"cpu\" is listed before: both "
       "weights count"},
      {fit, R"({"scoringStrategy": {"type": "RequestedToCapacityRatio"}})",
       "scoringStrategy.requestedToCapacityRatio: must be given"},
      {fit,
       R"({"scoringStrategy": {"type": "RequestedToCapacityRatio",
        "requestedToCapacityRatio": {}}})",
       "scoringStrategy.requestedToCapacityRatio.shape: must have a point"},
      {fit,
       R"({"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio":
        {"shape": [{"utilization": 50, "score": 11}, {"utilization": 50, "score": -1},
                   {"utilization": 101, "Score": 0}]}}})",
       "scoringStrategy.requestedToCapacityRatio.shape[0].score: must be a number from 0 to 10, "
       "not 11\n"
       "scoringStrategy.requestedToCapacityRatio.shape[1].score: must be a number from 0 to 10, "
       "not -1\n"
       "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: must be larger than that "
       "of the point before\n"
       "scoringStrategy.requestedToCapacityRatio.shape[2].utilization: must be a number from 0 to "
       "100, not 101\n"
       "scoringStrategy.requestedToCapacityRatio.shape[2].utilization: must be larger than that "
       "of the point before\n"
       "scoringStrategy.requestedToCapacityRatio.shape[2].Score: unknown field, did you mean "
       "\"score\"?"},
      {fit,
       R"({"scoringStrategy": {"type": "MostAllocated", "resources": [{"weight": 2}],
        "requestedToCapacityRatio": {"shape": [{"utilization": 500}]}}})",
       "scoringStrategy.requestedToCapacityRatio: is for the type RequestedToCapacityRatio",
       "args.scoringStrategy.resources[0].name: names no resource: the entry has no effect"},
      {fit, R"({"scoringstrategy": {}, "ignoredResources": [1, "", "a/b/c"]})",
       "ignoredResources[0]: must be a name, not 1\n"
       "ignoredResources[1]: must be a name, not \"\"\n"
       "ignoredResources[2]: must be a name such as cpu or example.com/gpu, of at most 63 letters, "
       "digits, '-', '_' and '.' behind an optional DNS name, not \"a/b/c\"\n"
       "scoringstrategy: unknown field, did you mean \"scoringStrategy\"?"},
      {fit, R"({"ignoredResources": "a"})", "ignoredResources: must be a list, not \"a\""},
      {"NodeResourcesBalancedAllocation", R"({"resources": [{"name": "cpu"}, {"name": "memory",
        "weight": 0}, {"name": "example.com/a", "weight": 1}]})"},
      {"NodeResourcesBalancedAllocation", R"({"resources": []})"},
      {"NodeResourcesBalancedAllocation",
       R"({"resources": [{"name": "cpu", "weight": 2}, {"name": "cpu"}]})",
       "resources[0].weight: must be a number from 0 to 1, not 2\n"
       "resources[1].name: \"cpu\" is listed before"},
  });
}

TEST(BuiltinArgs, OfOtherPods) {
  check({
      {"InterPodAffinity",
       R"({"hardPodAffinityWeight": 100, "ignorePreferredTermsOfExistingPods": true})"},
      {"InterPodAffinity", R"({"hardPodAffinityWeight": 101, "hardWeight": 1})",
       "hardPodAffinityWeight: must be a number from 0 to 100, not 101\n"
       "hardWeight: unknown field"},
      {"PodTopologySpread", R"({"defaultConstraints": [], "defaultingType": ""})"},
      {"PodTopologySpread", R"({"defaultingType": "List"})"},
      {"PodTopologySpread",
       R"({"defaultingType": "List", "defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone",
        "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2, "nodeTaintsPolicy": "Honor"}]})"},
      {"PodTopologySpread",
       R"({"defaultConstraints": [{"maxSkew": 0, "topologyKey": "", "labelSelector": {}},
        {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "Never"}]})",
       "defaultConstraints[0].whenUnsatisfiable: must be given\n"
       "defaultConstraints[0].maxSkew: must be a number from 1 on, not 0\n"
       "defaultConstraints[0].topologyKey: must be a name such as cpu or example.com/gpu, of at "
       "most 63 letters, digits, '-', '_' and '.' behind an optional DNS name, not \"\"\n"
       "defaultConstraints[0].labelSelector: must not be given: what selects a pod is found for "
       "each pod\n"
       "defaultConstraints[1].whenUnsatisfiable: must be DoNotSchedule or ScheduleAnyway, not "
       "\"Never\"\n"
       "defaultConstraints: are for the defaultingType List"},
      {"PodTopologySpread",
       R"({"defaultingType": "Other", "defaultConstraints": [{"maxSkew": 1, "topologyKey": "z",
        "whenUnsatisfiable": "DoNotSchedule"}]})",
       "defaultingType: must be System or List, not \"Other\""},
      {"PodTopologySpread",
       R"({"defaultingType": "List", "defaultConstraints": [
        {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"},
        {"maxSkew": 2, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"},
        {"maxSkew": 2, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway",
         "nodeAffinityPolicy": "Maybe", "matchLabelKeys": ["app"]}]})",
       "defaultConstraints[1]: has topologyKey and whenUnsatisfiable of a constraint before",
       "args.defaultConstraints[2].nodeAffinityPolicy: \"Maybe\" is neither Honor nor Ignore: it "
       "counts as Ignore\n"
       "args.defaultConstraints[2].matchLabelKeys: has no effect in a default constraint"},
  });
}

TEST(BuiltinArgs, OfPreemptionAndVolumes) {
  check({
      {"DefaultPreemption",
       R"({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 5})"},
      {"DefaultPreemption",
       R"({"minCandidateNodesPercentage": 101, "minCandidateNodesAbsolute": -1})",
       "minCandidateNodesPercentage: must be a number from 0 to 100, not 101\n"
       "minCandidateNodesAbsolute: must be a number from 0 on, not -1"},
      {"DefaultPreemption", R"({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0})",
       "minCandidateNodesPercentage: must not be 0 together with minCandidateNodesAbsolute"},
      {"VolumeBinding", R"({"bindTimeoutSeconds": 0})"},
      {"VolumeBinding", R"({"shape": [{"utilization": 0, "score": 5}]})"},
      {"VolumeBinding", R"({"bindTimeoutSeconds": -1, "shape": [],
        "featureGates": {"StorageCapacityScoring": false}})",
       "bindTimeoutSeconds: must be a number from 0 to 9223372036854775, not -1\n"
       "shape: needs the feature gate StorageCapacityScoring, which is off"},
      {"VolumeBinding", R"({"bindTimeoutSeconds": 1.5})",
       "bindTimeoutSeconds: must be a number from 0 to 9223372036854775, not 1.5"},
      {"VolumeBinding", R"({"shape": []})", "shape: must have a point"},
      {"NodeVolumeLimits", R"({"featureGates": {"VolumeLimitScaling": true}})"},
  });
}

TEST(BuiltinArgs, OfNodeAffinity) {
  const char* plugin = "NodeAffinity";
  const std::string required =
      "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
  const std::string preferred = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution";
  const std::string expression = preferred + "[0].preference.matchExpressions";
  const std::string bad_expressions =
      expression + "[0].values: must not be empty for In and NotIn\n" + expression +
      "[1].values: must be empty for Exists and DoesNotExist\n" + expression +
      "[2].values[0]: must be a whole number for Gt and Lt, not \"x\"\n" + expression +
      "[3].values: must have one element for Gt and Lt\n" + expression +
      "[4].operator: must be In, NotIn, Exists, DoesNotExist, Gt or Lt, not \"Like\"\n" +
      expression +
      "[5].key: must be a name such as cpu or example.com/gpu, of at most 63 letters, digits, "
      "'-', '_' and '.' behind an optional DNS name, not \"a b\"\n" +
      expression +
      "[6].values[0]: must be a label's value, of at most 63 letters, digits, '-', '_' and '.' "
      "that begins and ends with a letter or digit, not \"-\"\n" +
      expression + "[7].operator: must be given\n" + expression +
      "[8].values[0]: must be a string, not 1";
  const std::string no_term =
      "args." + required + ": without a term it selects no node: the profile places no pod";
  const std::string bad_fields = required + "[0].matchFields[0].values: must have one element\n" +
                                 required +
                                 "[0].matchFields[1].operator: must be In or NotIn, not "
                                 "\"Exists\"";
  const std::string odd = "args." + required +
                          "[0].matchFields[2].key: nodes have no field \"spec.x\" to select by: "
                          "only metadata.name\nargs." +
                          preferred + "[0].weight: a term of weight 0 has no effect\nargs." +
                          preferred +
                          "[1].weight: the weight of a preferred term should be in the range 1-100";
  const std::string type = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution";
  const std::string wrong_type = type + ": must be an object, not 3";
  check({
      {plugin, R"({"addedAffinity": null})"},
      {plugin, R"({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Gt",
          "values": ["5"]}]}]}, "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5,
          "preference": {"matchFields": [{"key": "metadata.name", "operator": "In",
          "values": ["node"]}]}}]}})"},
      {plugin, R"({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": 3}})",
       wrong_type.c_str()},
      {plugin, R"({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": []}, "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5,
        "preference": {"matchExpressions": [{"key": "a", "operator": "In"},
          {"key": "a", "operator": "Exists", "values": ["x"]},
          {"key": "a", "operator": "Gt", "values": ["x"]},
          {"key": "a", "operator": "Lt", "values": ["1", "2"]},
          {"key": "a", "operator": "Like"}, {"key": "a b", "operator": "Exists"},
          {"key": "a", "operator": "In", "values": ["-"]}, {"key": "a"},
          {"key": "a", "operator": "In", "values": [1]}]}}]}})",
       bad_expressions.c_str(), no_term.c_str()},
      {plugin, R"({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchFields": [
          {"key": "metadata.name", "operator": "In", "values": ["a", "b"]},
          {"key": "metadata.name", "operator": "Exists", "values": ["a"]},
          {"key": "spec.x", "operator": "In", "values": ["a"]}]}]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference":
          {"matchExpressions": [{"key": "a", "operator": "Like"}]}},
          {"weight": 101, "preference": {}}]}})",
       bad_fields.c_str(), odd.c_str()},
  });
}

}  // namespace
}  // namespace plimsoll::builtin_test

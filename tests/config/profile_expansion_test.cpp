#include "config/profile/profile_expansion.hpp"

#include <gmock/gmock.h>

#include "config/load.hpp"
#include "tests/config/test_registry.hpp"

namespace plimsoll::config {
namespace {

using enum ExtensionPoint;

// A small world: four of kube-scheduler's plugins and five of somebody else's.
PluginRegistry small_registry() {
  PluginRegistry out;
  for (const char* name : {"PrioritySort", "TaintToleration", "NodeAffinity", "DefaultBinder"}) {
    out[name] = reference_points(name);
  }
  out["A"] = {kFilter, kScore};
  out["B"] = {kFilter, kScore};
  out["C"] = {kScore, kPreBind, kPostBind};
  out["Gate"] = {kPreEnqueue};
  out["Sort"] = {kQueueSort};
  return out;
}

struct Outcome {
  ProfileSpec profile;
  Problems errors;
  Problems warnings;
};

Outcome expand(const std::string& plugins, const PluginRegistry& registry) {
  const LoadedConfig loaded = load_config_text(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "leaderElection: {leaderElect: false}\nprofiles:\n- schedulerName: s\n  plugins:\n    " +
          plugins + "\n",
      "f");
  Outcome out;
  out.errors = loaded.errors;
  if (loaded.config) {
    Expansion expansion = expand_profiles(*loaded.config, registry);
    out.profile = std::move(expansion.profiles[0]);
    out.errors = std::move(expansion.errors);
    out.warnings = std::move(expansion.warnings);
  }
  return out;
}

// "filter: A B; score: A=2", for the points that are named.
std::string shown(const ProfileSpec& profile, std::initializer_list<ExtensionPoint> points) {
  std::string out;
  for (const ExtensionPoint point : points) {
    if (!out.empty()) out += "; ";
    out += std::string(field_name(point)) + ':';
    for (const PluginEntry& plugin : profile.points[point]) {
      out += ' ' + plugin.name;
      if (point == kScore) out += '=' + std::to_string(plugin.weight);
    }
  }
  return out;
}

struct Row {
  const char* name;
  const char* plugins;
  const char* expected;  // filter and score
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.name;
}

class ExpandProfile : public testing::TestWithParam<Row> {};

TEST_P(ExpandProfile, OrdersPluginsAsKubeScheduler) {
  const Outcome outcome = expand(GetParam().plugins, small_registry());
  EXPECT_EQ(to_string(outcome.errors, "f"), "");
  EXPECT_EQ(shown(outcome.profile, {kFilter, kScore}), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, ExpandProfile,
    testing::Values(
        Row{"the default profile", "{}",
            "filter: TaintToleration NodeAffinity; score: TaintToleration=3 NodeAffinity=2"},
        Row{"multiPoint adds after the defaults, weight 1 if none is given",
            "multiPoint: {enabled: [{name: B}, {name: A, weight: 7}]}",
            "filter: TaintToleration NodeAffinity B A; "
            "score: TaintToleration=3 NodeAffinity=2 B=1 A=7"},
        Row{"weight 0 means 1", "multiPoint: {enabled: [{name: A, weight: 0}]}",
            "filter: TaintToleration NodeAffinity A; score: TaintToleration=3 NodeAffinity=2 A=1"},
        Row{"* drops the defaults of multiPoint",
            "multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: "
            "DefaultBinder}, {name: A}]}",
            "filter: A; score: A=1"},
        Row{"a named default is dropped", "multiPoint: {disabled: [{name: TaintToleration}]}",
            "filter: NodeAffinity; score: NodeAffinity=2"},
        Row{"a name that is not a default is not missed",
            "multiPoint: {disabled: [{name: NoSuchPlugin}]}",
            "filter: TaintToleration NodeAffinity; score: TaintToleration=3 NodeAffinity=2"},
        Row{"an enabled default is replaced in its place",
            "multiPoint: {enabled: [{name: A}, {name: TaintToleration, weight: 9}]}",
            "filter: TaintToleration NodeAffinity A; score: TaintToleration=9 NodeAffinity=2 A=1"},
        Row{"disabled and enabled: moved to the end, with the new weight",
            "multiPoint: {disabled: [{name: TaintToleration}], enabled: [{name: TaintToleration}]}",
            "filter: NodeAffinity TaintToleration; score: NodeAffinity=2 TaintToleration=1"},
        Row{"enabled wins over * in multiPoint",
            "multiPoint: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity}, {name: "
            "PrioritySort}, {name: DefaultBinder}]}",
            "filter: NodeAffinity; score: NodeAffinity=1"},
        Row{"a specific point alone", "score: {enabled: [{name: A, weight: 5}]}",
            "filter: TaintToleration NodeAffinity; score: TaintToleration=3 NodeAffinity=2 A=5"},
        Row{"a plugin disabled at one point only",
            "multiPoint: {enabled: [{name: A}]}\n    score: {disabled: [{name: A}]}",
            "filter: TaintToleration NodeAffinity A; score: TaintToleration=3 NodeAffinity=2"},
        Row{"a default disabled at one point only", "score: {disabled: [{name: NodeAffinity}]}",
            "filter: TaintToleration NodeAffinity; score: TaintToleration=3"},
        Row{"* at a point drops all of multiPoint there", "score: {disabled: [{name: '*'}]}",
            "filter: TaintToleration NodeAffinity; score:"},
        Row{"* at a point keeps what the point enables",
            "multiPoint: {enabled: [{name: A}]}\n    score: {disabled: [{name: '*'}], enabled: "
            "[{name: "
            "B}, {name: A, weight: 2}]}",
            "filter: TaintToleration NodeAffinity A; score: B=1 A=2"},
        Row{"the specific weight beats multiPoint's",
            "multiPoint: {enabled: [{name: A, weight: 3}]}\n    score: {enabled: [{name: A, "
            "weight: 8}]}",
            "filter: TaintToleration NodeAffinity A; score: A=8 TaintToleration=3 NodeAffinity=2"},
        Row{"a specific entry without weight means 1, not multiPoint's weight",
            "multiPoint: {enabled: [{name: A, weight: 3}]}\n    score: {enabled: [{name: A}]}",
            "filter: TaintToleration NodeAffinity A; score: A=1 TaintToleration=3 NodeAffinity=2"},
        Row{"overrides come first, in the order of the specific set",
            "multiPoint: {enabled: [{name: A}, {name: B}]}\n    score: {enabled: [{name: B}, "
            "{name: "
            "NodeAffinity, weight: 4}, {name: A}]}",
            "filter: TaintToleration NodeAffinity A B; "
            "score: B=1 NodeAffinity=4 A=1 TaintToleration=3"},
        Row{"overrides, then multiPoint, then the rest of the specific set",
            "multiPoint: {enabled: [{name: A}]}\n    score: {enabled: [{name: C}, {name: A}]}",
            "filter: TaintToleration NodeAffinity A; "
            "score: A=1 TaintToleration=3 NodeAffinity=2 C=1"},
        Row{"disabled and enabled at the same point: kept, but as a specific plugin",
            "multiPoint: {enabled: [{name: A}]}\n    score: {disabled: [{name: A}], enabled: "
            "[{name: "
            "A, weight: 6}]}",
            "filter: TaintToleration NodeAffinity A; score: TaintToleration=3 NodeAffinity=2 A=6"},
        Row{"reordered defaults",
            "filter: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity}, {name: "
            "TaintToleration}]}",
            "filter: NodeAffinity TaintToleration; score: TaintToleration=3 NodeAffinity=2"},
        Row{"multiPoint skips points that a plugin does not implement",
            "multiPoint: {enabled: [{name: C}]}",
            "filter: TaintToleration NodeAffinity; score: TaintToleration=3 NodeAffinity=2 C=1"},
        Row{"a plugin only at a specific point is not added elsewhere",
            "filter: {enabled: [{name: A}, {name: B}]}",
            "filter: TaintToleration NodeAffinity A B; score: TaintToleration=3 NodeAffinity=2"},
        Row{"a negative weight is kept", "score: {enabled: [{name: A, weight: -2}]}",
            "filter: TaintToleration NodeAffinity; score: TaintToleration=3 NodeAffinity=2 A=-2"}));

TEST(Expansion, FillsTheOtherPoints) {
  const Outcome outcome =
      expand("multiPoint: {enabled: [{name: C}, {name: Gate}]}", small_registry());
  EXPECT_EQ(shown(outcome.profile, {kPreEnqueue, kQueueSort, kPreFilter, kPostFilter, kPreScore,
                                    kReserve, kPermit, kPreBind, kBind, kPostBind}),
            "preEnqueue: Gate; queueSort: PrioritySort; preFilter: TaintToleration NodeAffinity; "
            "postFilter:; "
            "preScore: TaintToleration NodeAffinity; reserve:; permit:; preBind: C; "
            "bind: DefaultBinder; postBind: C");
  EXPECT_EQ(outcome.profile.plugins,
            (std::vector<std::string>{"PrioritySort", "TaintToleration", "NodeAffinity",
                                      "DefaultBinder", "C", "Gate"}));
}

TEST(Expansion, AnotherQueueSort) {
  const Outcome outcome =
      expand("queueSort: {enabled: [{name: Sort}], disabled: [{name: '*'}]}", small_registry());
  EXPECT_EQ(to_string(outcome.errors, "f"), "");
  EXPECT_EQ(shown(outcome.profile, {kQueueSort}), "queueSort: Sort");
}

TEST(Expansion, LeavesOutDefaultsThatDoNotExist) {
  PluginRegistry registry = small_registry();
  registry.erase("NodeAffinity");
  const Outcome outcome = expand("{}", registry);
  EXPECT_EQ(to_string(outcome.errors, "f"), "");
  EXPECT_EQ(shown(outcome.profile, {kFilter}), "filter: TaintToleration");
}

PluginRegistry whole_registry() {
  PluginRegistry registry;
  for (const DefaultPlugin& plugin : default_plugins()) {
    registry[std::string(plugin.name)] = reference_points(plugin.name);
  }
  return registry;
}

// default_plugins.go and the extension points of Kubernetes 1.37.
TEST(Expansion, TheDefaultProfileAsksForTheNodesNameFirst) {
  const Outcome outcome = expand("{}", whole_registry());
  EXPECT_EQ(shown(outcome.profile, {kPreFilter, kFilter}),
            "preFilter: NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts "
            "NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone "
            "PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures; "
            "filter: NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts "
            "NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone "
            "PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures");
}

// A file of 1.37 may name them at preFilter, where they have nothing to do.
TEST(Expansion, NodeUnschedulableAndTaintTolerationMayStandAtPreFilter) {
  PluginRegistry registry = whole_registry();
  registry["TaintToleration"] = {kFilter, kPreScore, kScore};
  const Outcome outcome =
      expand("preFilter: {enabled: [{name: TaintToleration}, {name: NodeName}]}", registry);
  EXPECT_EQ(to_string(outcome.errors, "f"), "");
  EXPECT_THAT(to_string(outcome.warnings, "f"),
              testing::HasSubstr("TaintToleration has nothing to do at preFilter here"));
}

TEST(Expansion, TheWholeDefaultProfileHasKubeSchedulersWeights) {
  const Outcome outcome = expand("{}", whole_registry());
  EXPECT_EQ(shown(outcome.profile, {kScore}),
            "score: TaintToleration=3 NodeAffinity=2 NodeResourcesFit=1 VolumeBinding=1 "
            "PodTopologySpread=2 InterPodAffinity=2 DynamicResources=2 "
            "NodeResourcesBalancedAllocation=1 ImageLocality=1");
  EXPECT_EQ(shown(outcome.profile, {kPostFilter}),
            "postFilter: DynamicResources DefaultPreemption");
}

struct ErrorRow {
  const char* name;
  const char* plugins;
  const char* errors;
};

std::ostream& operator<<(std::ostream& out, const ErrorRow& row) {
  return out << row.name;
}

class RefuseProfile : public testing::TestWithParam<ErrorRow> {};

TEST_P(RefuseProfile, WithKubeSchedulersWords) {
  EXPECT_EQ(to_string(expand(GetParam().plugins, small_registry()).errors, "f"), GetParam().errors);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, RefuseProfile,
    testing::Values(
        ErrorRow{
            "twice in a set", "filter: {enabled: [{name: A}, {name: A}]}",
            "f:7:42: profiles[0].plugins.filter.enabled[1]: plugin \"A\" already registered as "
            "\"FilterPlugin\"\n"},
        ErrorRow{
            "twice in multiPoint", "multiPoint: {enabled: [{name: A}, {name: A}]}",
            "f:7:46: profiles[0].plugins.multiPoint.enabled[1]: plugin \"A\" already registered as "
            "\"MultiPoint\"\n"},
        ErrorRow{"not implemented", "preBind: {enabled: [{name: A}]}",
                 "f:7:32: profiles[0].plugins.preBind.enabled[0]: plugin \"A\" does not extend "
                 "PreBindPlugin plugin\n"},
        ErrorRow{
            "missing at a point", "filter: {enabled: [{name: TaintTolerations}]}",
            "f:7:31: profiles[0].plugins.filter.enabled[0]: FilterPlugin \"TaintTolerations\" does "
            "not exist, did you mean \"TaintToleration\"?\n"},
        ErrorRow{
            "missing in multiPoint", "multiPoint: {enabled: [{name: TopologicalSort}]}",
            "f:7:35: profiles[0].plugins.multiPoint.enabled[0]: plugin \"TopologicalSort\" does "
            "not "
            "exist here: it is a plugin of scheduler-plugins; use PrioritySort, or remove it\n"},
        ErrorRow{
            "one of kube-scheduler's that this build lacks",
            "multiPoint: {enabled: [{name: VolumeBinding}]}",
            "f:7:35: profiles[0].plugins.multiPoint.enabled[0]: plugin \"VolumeBinding\" does not "
            "exist in this build, although kube-scheduler has it: remove it from the profile\n"},
        ErrorRow{"no queue sort", "multiPoint: {disabled: [{name: PrioritySort}]}",
                 "f:5:18: profiles[0].plugins.queueSort: only one queue sort plugin required for "
                 "profile "
                 "with scheduler name \"s\", but got 0\n"},
        ErrorRow{"two queue sorts", "queueSort: {enabled: [{name: Sort}]}",
                 "f:5:18: profiles[0].plugins.queueSort: only one queue sort plugin required for "
                 "profile "
                 "with scheduler name \"s\", but got 2\n"},
        ErrorRow{
            "no bind plugin", "bind: {disabled: [{name: '*'}]}",
            "f:5:18: profiles[0].plugins.bind: at least one bind plugin is needed for profile with "
            "scheduler name \"s\"\n"},
        ErrorRow{
            "everything at once",
            "filter: {enabled: [{name: X}]}\n    score: {enabled: [{name: Gate}, {name: Z}]}",
            "f:7:31: profiles[0].plugins.filter.enabled[0]: FilterPlugin \"X\" does not "
            "exist: no built-in plugin has this name, and no file in a plugin folder; --plugin-dir "
            "adds one\n"
            "f:8:30: profiles[0].plugins.score.enabled[0]: plugin \"Gate\" does not extend "
            "ScorePlugin plugin\n"
            "f:8:44: profiles[0].plugins.score.enabled[1]: ScorePlugin \"Z\" does not exist: no "
            "built-in plugin has this name, and no file in a plugin folder; --plugin-dir adds "
            "one\n"}));

TEST(Expansion, AcceptsPointsThatThePluginHasElsewhere) {
  // Koordinator's DeviceShare works at preBind; here the allocation travels in the Binding.
  const Outcome outcome = expand(
      "preBind: {enabled: [{name: DeviceShare}]}\n    filter: {enabled: [{name: DeviceShare}]}",
      test_registry());
  EXPECT_EQ(to_string(outcome.errors, "f"), "");
  EXPECT_TRUE(outcome.profile.points[kPreBind].empty());
  EXPECT_EQ(outcome.profile.points[kFilter].back().name, "NodeDevice");
}

SchedulerConfig config_of(const std::string& profiles) {
  const LoadedConfig loaded = load_config_text(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n" +
          profiles,
      "f");
  EXPECT_EQ(to_string(loaded.errors, "f"), "");
  return loaded.config.value_or(SchedulerConfig{});
}

TEST(Expansion, ProfilesMustSortTheQueueAlike) {
  PluginRegistry registry = small_registry();
  const Expansion different = expand_profiles(
      config_of(
          "- schedulerName: a\n- schedulerName: b\n  plugins:\n    multiPoint: {disabled: [{name: "
          "PrioritySort}], enabled: [{name: Sort}]}\n"),
      registry);
  EXPECT_EQ(
      to_string(different.errors, "f"),
      "f:5:18: profiles[1].plugins.queueSort: different queue sort plugins for profile \"b\": "
      "\"Sort\", first: \"PrioritySort\"\n");
  const Expansion args = expand_profiles(
      config_of(
          "- schedulerName: a\n- schedulerName: b\n  pluginConfig: [{name: PrioritySort, args: {x: "
          "1}}]\n"),
      registry);
  EXPECT_EQ(to_string(args.errors, "f"),
            "f:5:18: profiles[1].plugins.queueSort: different queue sort plugin args for profile "
            "\"b\"\n");
}

TEST(Expansion, NamesWhatChangesNothing) {
  const Expansion expansion = expand_profiles(
      config_of("- schedulerName: a\n"
                "  plugins:\n"
                "    multiPoint: {disabled: [{name: TaintTolerations}, {name: VolumeZone}, {name: "
                "UnsupportedFeatures}, {name: Other}]}\n"
                "    filter: {enabled: [{name: NodeDevice}], disabled: [{name: Coscheduling}]}\n"
                "    preBind: {enabled: [{name: DeviceShare}]}\n"
                "  pluginConfig:\n"
                "  - {name: PrioritySort, args: {x: 1}}\n"
                "  - {name: NodeName, args: {}}\n"
                "  - {name: DefaultPreemption, args: {}}\n"
                "  - {name: DeviceShare, args: {allocator: x}}\n"),
      test_registry());
  EXPECT_EQ(to_string(expansion.errors, "f"), "");
  EXPECT_EQ(
      to_string(expansion.warnings, "f"),
      "f:6:36: profiles[0].plugins.multiPoint.disabled[0]: has no effect: there is no plugin "
      "\"TaintTolerations\", did you mean \"TaintToleration\"?\n"
      "f:6:82: profiles[0].plugins.multiPoint.disabled[2]: has no effect: UnsupportedFeatures is "
      "part of every profile\n"
      "f:6:111: profiles[0].plugins.multiPoint.disabled[3]: has no effect: there is no plugin "
      "\"Other\"\n"
      "f:8:32: profiles[0].plugins.preBind.enabled[0]: has no effect: DeviceShare has nothing to "
      "do at preBind here\n"
      "f:12:37: profiles[0].pluginConfig[2].args: have no effect: this build does not have "
      "DefaultPreemption\n");
}

TEST(Expansion, WhatIsInEveryProfileRunsFirstAndOnce) {
  const auto filters = [](const std::string& filter) {
    const Outcome outcome = expand(filter, test_registry());
    EXPECT_EQ(to_string(outcome.errors, "f"), "");
    return shown(outcome.profile, {kFilter});
  };
  EXPECT_EQ(filters("filter: {disabled: [{name: '*'}]}"), "filter: UnsupportedFeatures");
  EXPECT_EQ(filters("filter: {disabled: [{name: '*'}], enabled: [{name: NodeName}]}"),
            "filter: UnsupportedFeatures NodeName");
  EXPECT_EQ(filters("filter: {disabled: [{name: '*'}], enabled: [{name: NodeName}, {name: "
                    "UnsupportedFeatures}]}"),
            "filter: NodeName UnsupportedFeatures");
}

TEST(Expansion, EveryPluginGetsArgs) {
  const Expansion expansion = expand_profiles(
      config_of("- schedulerName: a\n  plugins: {multiPoint: {enabled: [{name: A}, {name: B}]}}\n"
                "  pluginConfig: [{name: A, args: {x: 1}}, {name: C, args: {y: 2}}]\n"),
      small_registry());
  const ProfileSpec& profile = expansion.profiles.at(0);
  EXPECT_EQ(profile.args.at("A"), R"({"x":1})");
  EXPECT_EQ(profile.args.at("B"), "{}");
  EXPECT_EQ(profile.args.at("NodeAffinity"), "{}");
  EXPECT_EQ(
      to_string(expansion.warnings, "f"),
      "f:6:59: profiles[0].pluginConfig[1].args: have no effect: this profile does not enable C\n");
}

}  // namespace
}  // namespace plimsoll::config

#include "config/args_errors.hpp"

#include <gtest/gtest.h>

#include "config/foreign_args.hpp"
#include "config/yaml_document.hpp"

namespace plimsoll::config {
namespace {

using Errors = std::vector<ArgsError>;

TEST(ArgsErrors, OneALine) {
  EXPECT_EQ(
      split_args_errors("a.b[0].c: wrong\nno path here: wrong\n\nargs are not JSON"),
      (Errors{{"a.b[0].c", "wrong"}, {"", "no path here: wrong"}, {"", "args are not JSON"}}));
}

TEST(ArgsErrors, TheirPluginIsNotRepeated) {
  EXPECT_EQ(split_args_errors("initializing plugin \"X\": scoringStrategy.type: wrong"),
            (Errors{{"scoringStrategy.type", "wrong"}}));
}

TEST(ArgsErrors, AggregatesAreTakenApart) {
  EXPECT_EQ(
      split_args_errors("[scoringStrategy.type: Invalid value: \"x\": one, two, invalid, unknown "
                        "field \"cache.y\", preemptionMode: Invalid value: \"z\": invalid]"),
      (Errors{{"scoringStrategy.type", "Invalid value: \"x\": one, two, invalid"},
              {"cache.y", "unknown field"},
              {"preemptionMode", "Invalid value: \"z\": invalid"}}));
  EXPECT_EQ(split_args_errors("[not, a, list]"), (Errors{{"", "[not, a, list]"}}));
}

TEST(ArgsErrors, UnknownFieldsAreSaidInOneWay) {
  const Errors expected{{"a.b", "unknown field"}};
  EXPECT_EQ(split_args_errors("a.b: unknown field"), expected);
  EXPECT_EQ(split_args_errors("a: unknown field \"b\""), expected);
  EXPECT_EQ(split_args_errors("unknown field \"a.b\""), expected);
}

TEST(ArgsErrors, ARefusalWithoutWordsIsStillOne) {
  EXPECT_EQ(split_args_errors("").size(), 1U);
  EXPECT_EQ(split_args_errors("\n\n").size(), 1U);
}

std::string idle(const std::string& plugin, const std::string& yaml) {
  PluginArgs args;
  args.name = plugin;
  args.path = "args";
  args.source = parse_single_document(yaml).documents.at(0);
  Problems warnings;
  warn_about_idle_args(args, warnings);
  std::string out;
  for (const Problem& warning : warnings) {
    out += std::to_string(warning.at.line) + ' ' + warning.path + '\n';
  }
  return out;
}

TEST(ForeignArgs, FieldsWithoutEffectAreNamedUnlessTheySayTheDefault) {
  EXPECT_EQ(idle("NodeResourceTopologyMatch",
                 "cacheResyncPeriodSeconds: 0\ndiscardReservedNodes: false\npreemptionMode: "
                 "Disabled\ncache: {foreignPodsDetect: All, resyncMethod: Autodetect, "
                 "informerMode: Dedicated, resyncScope: All}\nscoringStrategy: {type: "
                 "LeastAllocated}\n"),
            "");
  EXPECT_EQ(idle("NodeResourceTopologyMatch",
                 "cacheResyncPeriodSeconds: 5\ndiscardReservedNodes: true\npreemptionMode: "
                 "Enabled\ncache:\n  foreignPodsDetect: None\n  resyncMethod: All\n  informerMode: "
                 "Shared\n  resyncScope: OnlyResources\n"),
            "1 args.cacheResyncPeriodSeconds\n2 args.discardReservedNodes\n"
            "5 args.cache.foreignPodsDetect\n6 args.cache.resyncMethod\n"
            "7 args.cache.informerMode\n8 args.cache.resyncScope\n3 args.preemptionMode\n");
  EXPECT_EQ(idle("NodeDevice",
                 "allocator: default\ndisableDeviceNUMATopologyAlignment: "
                 "true\ngpuSharedResourceTemplatesConfig: {configMapName: a}\n"),
            "1 args.allocator\n"
            "3 args.gpuSharedResourceTemplatesConfig.configMapName\n");
  EXPECT_EQ(idle("Other", "cacheResyncPeriodSeconds: 5\n"), "");
  EXPECT_EQ(idle("NodeResourceTopologyMatch", "cache: []\n"), "");
}

TEST(ForeignArgs, NearestField) {
  EXPECT_EQ(nearest_args_field("NodeResourceTopologyMatch", "cache.foreignPods"), "");
  EXPECT_EQ(nearest_args_field("NodeResourceTopologyMatch", "cache.foreignPodDetect"),
            "foreignPodsDetect");
  EXPECT_EQ(nearest_args_field("NodeDevice", "scoringStrategy.resources[3].wieght"), "weight");
  EXPECT_EQ(nearest_args_field("NodeDevice", "scoringstrategy"), "scoringStrategy");
  EXPECT_EQ(nearest_args_field("NodeDevice", "a.b.c"), "");
  EXPECT_EQ(nearest_args_field("Other", "scoringstrategy"), "");
}

}  // namespace
}  // namespace plimsoll::config

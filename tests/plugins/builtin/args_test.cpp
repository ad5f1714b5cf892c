// Args of the builtin plugins: defaults, and errors with the path of the field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plugins/builtin/support.hpp"

namespace plimsoll::builtin_test {
namespace {

using ::testing::HasSubstr;

TEST(BuiltinArgs, AllPluginsAreMadeWithoutArgs) {
  for (const char* name :
       {"DefaultBinder", "NodeAffinity", "NodeName", "NodePorts", "NodeResourcesBalancedAllocation",
        "NodeResourcesFit", "NodeUnschedulable", "PrioritySort", "SchedulingGates",
        "TaintToleration", "UnsupportedFeatures"}) {
    for (const char* args : {"", "{}"}) {
      Bench bench;
      EXPECT_EQ(bench.create(name, args), std::nullopt) << name;
    }
  }
}

TEST(BuiltinArgs, ErrorsNameTheField) {
  struct {
    const char* plugin;
    const char* args;
    const char* error;
  } const cases[] = {
      {"NodeResourcesFit", R"({"scoringStrategy": {"type": "Best"}})",
       "scoringStrategy.type: unknown strategy \"Best\""},
      {"NodeResourcesFit",
       R"({"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}})",
       "scoringStrategy.resources[0].weight: must be from 1 to 100"},
      {"NodeResourcesFit", R"({"scoringStrategy": {"resources": [{"weight": 1}]}})",
       "scoringStrategy.resources[0].name: is required"},
      {"NodeResourcesFit", R"({"scoringStrategy": {"type": "RequestedToCapacityRatio"}})",
       "scoringStrategy.requestedToCapacityRatio.shape: at least one point"},
      {"NodeResourcesFit", R"({"scoringStrategy": {"type": "RequestedToCapacityRatio",
        "requestedToCapacityRatio": {"shape": [{"utilization": 50, "score": 1},
                                               {"utilization": 50, "score": 2}]}}})",
       "shape[1].utilization: must be larger"},
      {"NodeResourcesFit", R"({"ignoredResources": "a"})", "ignoredResources: expected a list"},
      {"NodeResourcesBalancedAllocation", R"({"resources": [{"name": "cpu", "weight": 2}]})",
       "resources[0].weight: must be 1"},
      {"NodeAffinity", R"({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Is"}]}]}}})",
       "addedAffinity: a term is not valid"},
      {"NodeAffinity",
       R"({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": 3}})",
       "addedAffinity: requiredDuringSchedulingIgnoredDuringExecution: expected an object"},
      {"NodeResourcesFit", "{", "parse error"},
  };
  for (const auto& each : cases) {
    Bench bench;
    const auto error = bench.create(each.plugin, each.args);
    ASSERT_TRUE(error.has_value()) << each.args;
    EXPECT_THAT(*error, HasSubstr(each.error));
  }
}

}  // namespace
}  // namespace plimsoll::builtin_test

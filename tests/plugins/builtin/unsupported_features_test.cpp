// A pod that needs what is missing is kept pending with a reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plugins/builtin/support.hpp"

namespace plimsoll::builtin_test {
namespace {

using ::testing::HasSubstr;

int32_t pre_filter(Bench& bench, plimsoll_cycle& cycle, const PodRef& pod, std::string* reason) {
  uint32_t id = 0;
  uint32_t narrowed = 0;
  plimsoll_list names{};
  const int32_t code =
      bench.plugin.pre_filter(bench.plugin.self, &cycle, pod.get(), &id, &names, &narrowed);
  *reason = bench.reason(id);
  return code;
}

TEST(UnsupportedFeatures, NamesWhatThePodNeeds) {
  struct {
    const char* spec;
    const char* reason;
  } const cases[] = {
      {R"({"resourceClaims": [{"name": "c"}]})",
       "pod uses resource claims, which its profile does not allocate: enable DynamicResources"},
      {R"({"schedulingGroup": {"podGroupName": "g"}})",
       "pod belongs to a pod group, which its profile does not place together: enable "
       "GangScheduling"},
  };
  for (const auto& each : cases) {
    Bench bench;
    ASSERT_FALSE(bench.create("UnsupportedFeatures"));
    conformance::BenchCycle bench_cycle;
    plimsoll_cycle& cycle = bench_cycle.abi();
    std::string reason;
    EXPECT_EQ(pre_filter(bench, cycle, bench.pod("p", each.spec), &reason),
              PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE);
    EXPECT_THAT(reason, HasSubstr(each.reason));
  }
}

TEST(UnsupportedFeatures, LeavesClaimsAndGroupsToAProfileThatCares) {
  for (const auto& [args, spec] :
       {std::pair(R"({"resourceClaims": true})", R"({"resourceClaims": [{"name": "c"}]})"),
        std::pair(R"({"schedulingGroups": true})",
                  R"({"schedulingGroup": {"podGroupName": "g"}})")}) {
    Bench bench;
    ASSERT_FALSE(bench.create("UnsupportedFeatures", args));
    conformance::BenchCycle bench_cycle;
    std::string reason;
    EXPECT_EQ(pre_filter(bench, bench_cycle.abi(), bench.pod("p", spec), &reason), PLIMSOLL_SKIP);
  }
}

TEST(UnsupportedFeatures, LetsOtherPodsPass) {
  for (const char* spec :
       {"{}", R"({"schedulingGroup": {}})",
        R"({"volumes": [{"name": "v", "configMap": {"name": "m"}}, {"name": "e"}]})",
        R"({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}},
                        {"name": "d", "rbd": {"image": "i"}}]})",
        R"({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z",
            "whenUnsatisfiable": "DoNotSchedule"}]})",
        R"({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            [{"topologyKey": "z", "labelSelector": {}}]}}})"}) {
    Bench bench;
    ASSERT_FALSE(bench.create("UnsupportedFeatures"));
    conformance::BenchCycle bench_cycle;
    plimsoll_cycle& cycle = bench_cycle.abi();
    std::string reason;
    EXPECT_EQ(pre_filter(bench, cycle, bench.pod("p", spec), &reason), PLIMSOLL_SKIP) << spec;
  }
}

}  // namespace
}  // namespace plimsoll::builtin_test

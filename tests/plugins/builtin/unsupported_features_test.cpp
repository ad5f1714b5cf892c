// A pod that needs what is missing is kept pending with a reason; existing anti-affinity counts.
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
      {R"({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]})",
       "pod uses persistent volume claims, which this scheduler does not support yet"},
      {R"({"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}]})",
       "generic ephemeral volumes"},
      {R"({"volumes": [{"name": "v", "rbd": {"image": "i"}}]})", "in-tree disk volumes"},
      {R"({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
           [{"topologyKey": "z", "labelSelector": {}}]}}})",
       "inter-pod affinity"},
      {R"({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
           [{"topologyKey": "z", "labelSelector": {}}]}}})",
       "inter-pod anti-affinity"},
      {R"({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z",
           "whenUnsatisfiable": "DoNotSchedule"}]})",
       "topology spread"},
      {R"({"resourceClaims": [{"name": "c"}]})", "resource claims"},
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

TEST(UnsupportedFeatures, LetsOtherPodsPass) {
  for (const char* spec :
       {"{}", R"({"volumes": [{"name": "v", "configMap": {"name": "m"}}, {"name": "e"}]})",
        R"({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z",
            "whenUnsatisfiable": "ScheduleAnyway"}]})",
        R"({"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
            [{"weight": 1, "podAffinityTerm": {"topologyKey": "z"}}]}}})"}) {
    Bench bench;
    ASSERT_FALSE(bench.create("UnsupportedFeatures"));
    conformance::BenchCycle bench_cycle;
    plimsoll_cycle& cycle = bench_cycle.abi();
    std::string reason;
    EXPECT_EQ(pre_filter(bench, cycle, bench.pod("p", spec), &reason), PLIMSOLL_SKIP) << spec;
  }
}

TEST(UnsupportedFeatures, KeepsAwayFromPodsWhoseAntiAffinityIsAgainstThePod) {
  Bench bench;
  ASSERT_FALSE(bench.create("UnsupportedFeatures"));
  TestNode& a1 = bench.add_node("a1", R"({"zone": "a"})");
  bench.add_node("a2", R"({"zone": "a"})");
  bench.add_node("b1", R"({"zone": "b"})");
  bench.add_node("none", "{}");
  const PodRef owner = bench.pod("owner", R"({"nodeName": "a1", "affinity": {"podAntiAffinity":
    {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone",
     "labelSelector": {"matchLabels": {"app": "web"}}}]}}})");
  bench.put(a1, owner);

  const auto refused = [&](const PodRef& pod) {
    conformance::BenchCycle bench_cycle;
    plimsoll_cycle& cycle = bench_cycle.abi();
    std::string reason;
    std::vector<std::string> names;
    if (pre_filter(bench, cycle, pod, &reason) == PLIMSOLL_SKIP) return names;
    const plimsoll_nodes all{sizeof(plimsoll_nodes), static_cast<uint32_t>(bench.rows.size()),
                             bench.rows.data(), nullptr, nullptr};
    std::vector<uint8_t> codes(bench.rows.size());
    std::vector<uint32_t> reasons(bench.rows.size());
    EXPECT_EQ(bench.plugin.filter(bench.plugin.self, &cycle, pod.get(), &all, codes.data(),
                                  reasons.data()),
              PLIMSOLL_SUCCESS);
    for (size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] == PLIMSOLL_SUCCESS) continue;
      EXPECT_EQ(codes[i], PLIMSOLL_UNSCHEDULABLE);
      EXPECT_EQ(bench.reason(reasons[i]),
                "node(s) didn't satisfy existing pods anti-affinity rules");
      names.emplace_back(view(bench.rows[i]->node->meta.name));
    }
    return names;
  };
  const PodRef web = bench.pod("web", "{}", R"({"app": "web"})");
  EXPECT_EQ(refused(web), (std::vector<std::string>{"a1", "a2"}));
  EXPECT_TRUE(refused(bench.pod("db", "{}", R"({"app": "db"})")).empty());

  EXPECT_TRUE(bench.queues(web, owner, PodRef()));
  EXPECT_FALSE(bench.queues(web, bench.pod("x", "{}"), PodRef()));
  bench.plugin.pod_event(bench.plugin.self, PLIMSOLL_POD_REMOVED, owner.get(), str("a1"));
  EXPECT_TRUE(refused(web).empty());
}

}  // namespace
}  // namespace plimsoll::builtin_test

#include "plugins/topologyscore/topologyscore.hpp"

#include <gtest/gtest.h>

#include <plimsoll/fake_host.hpp>

#include "plugins/topology/score.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

ReportSpec zones(const std::string& cpu0, const std::string& cpu1) {
  ReportSpec spec;
  spec.zones = {{0, {{"cpu", cpu0}, {"memory", "64Gi"}}}, {8, {{"cpu", cpu1}, {"memory", "64Gi"}}}};
  return spec;
}

TEST(TopologyScore, ScoresItsOwnLedgersView) {
  sdk::FakeHost host;
  sdk::FakeNode node("n1", 4);
  node.allocatable("cpu", 32'000);
  host.add(node);
  sdk::FakePlugin<TopologyScore> plugin(host, R"({"scoringStrategy": {"type": "MostAllocated"}})");
  plugin.plugin().node_event(sdk::NodeEvent::kAdded, sdk::Node(&node.get()), 0);
  const std::string json = nrt_json(zones("8", "4"));
  plugin.plugin().object_event({sdk::ObjectEvent::kUpsert, kNrtResource, "n1", "", json});
  TopologyScene scene;
  sdk::FakeCycle cycle;
  PodSpec spec;
  spec.apps = {R"({"cpu":"4","memory":"32Gi"})"};
  const PodRef pod = scene.pod(spec);
  EXPECT_EQ(plugin.score(cycle, sdk::Pod(pod.get()), {&node}), std::vector<int64_t>{50});
  // A pod that another scheduler bound counts before any report says so.
  PodSpec foreign = guaranteed("foreign", 4);
  plugin.plugin().pod_event(sdk::PodEvent::kAssigned, sdk::Pod(scene.pod(foreign).get()), "n1");
  EXPECT_EQ(plugin.score(cycle, sdk::Pod(pod.get()), {&node}), std::vector<int64_t>{75});
  spec.burstable = true;
  const PodRef ordinary = scene.pod(spec);
  EXPECT_EQ(plugin.score(cycle, sdk::Pod(ordinary.get()), {&node}), std::vector<int64_t>{100});
}

TEST(TopologyScore, Args) {
  EXPECT_EQ(parse_score_args("").type, Strategy::kLeastAllocated);
  EXPECT_EQ(parse_score_args(R"({"scoringStrategy": {"type": "BalancedAllocation"}})").type,
            Strategy::kBalancedAllocation);
  for (const auto& [json, error] : {
           std::pair(R"({"scoringStrategy": {"type": "Best"}})",
                     "scoringStrategy.type: Invalid value: \"Best\": invalid ScoringStrategyType"),
           std::pair(R"({"strategy": 1})", "unknown field \"strategy\""),
           std::pair("3", "TopologyScoreArgs: must be an object"),
       }) {
    try {
      static_cast<void>(parse_score_args(json));
      ADD_FAILURE() << json;
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), error);
    }
  }
}

// What the reference crashes on or answers with nonsense has a result here.
TEST(Score, OddInputHasADefinedResult) {
  TopologyScene scene;
  Scratch scratch;
  ScoringStrategy strategy;
  const NumaNode node = scene.node(zones("8", "8"));
  PodSpec one_resource;
  one_resource.apps = {R"({"memory":"1Gi"})"};
  const PodRef pod = scene.pod(one_resource);
  PodRequest request(*pod);
  request.guaranteed = true;
  strategy.type = Strategy::kBalancedAllocation;
  EXPECT_EQ(score_node(strategy, request, &node.view(), scratch), 100);
  for (ContainerRequest& container : request.containers) container.requests.clear();
  for (const Strategy type : {Strategy::kLeastAllocated, Strategy::kMostAllocated,
                              Strategy::kBalancedAllocation, Strategy::kLeastNumaNodes}) {
    strategy.type = type;
    EXPECT_EQ(score_node(strategy, request, &node.view(), scratch), 100);
    EXPECT_EQ(score_node(strategy, request, nullptr, scratch), 0);
  }
}

TEST(Score, ManyZonesAreBoundedWork) {
  TopologyScene scene;
  ReportSpec report;
  for (int id = 0; id < 64; ++id) report.zones.push_back({id, {{"cpu", "2"}, {"memory", "4Gi"}}});
  const NumaNode node = scene.node(report);
  const PodRef pod = scene.pod(guaranteed("p", 64));
  const PodRequest request(*pod);
  const ZonesRequired zones =
      zones_required(request.containers[0].requests, node.view(), node.view().free);
  EXPECT_EQ(zones.columns, 0xffffffffu);
  EXPECT_FALSE(zones.min_distance);
}

}  // namespace
}  // namespace plimsoll::topology

#include "plugins/topologyscore/topologyscore.hpp"

#include <gtest/gtest.h>

#include <plimsoll/fake_host.hpp>

#include "plugins/topology/score/score.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

ReportSpec zones(const std::string& cpu0, const std::string& cpu1) {
  ReportSpec spec;
  spec.zones = {{0, {{"cpu", cpu0}, {"memory", "64Gi"}}}, {8, {{"cpu", cpu1}, {"memory", "64Gi"}}}};
  return spec;
}

// The plugin with one node that has a report.
struct OneNode {
  explicit OneNode(const std::string& args) : plugin(host, args) {
    node.allocatable("cpu", 32'000);
    host.add(node);
    plugin.plugin().node_event(sdk::NodeEvent::kAdded, sdk::Node(&node.get()), 0);
  }
  void report(ReportSpec spec) {
    spec.allocatable = "64Gi";
    plugin.plugin().object_event(
        {sdk::ObjectEvent::kUpsert, kNrtResource, "n1", "", nrt_json(spec)});
  }
  int64_t score(const PodSpec& spec) {
    const PodRef pod = scene.pod(spec);
    return plugin.score(cycle, sdk::Pod(pod.get()), {&node}).at(0);
  }

  sdk::FakeHost host;
  sdk::FakeNode node{"n1", 4};
  sdk::FakePlugin<TopologyScore> plugin;
  TopologyScene scene;
  sdk::FakeCycle cycle;
};

TEST(TopologyScore, LooksAtTheZoneThatWillBeUsedUnlessToldOtherwise) {
  const std::string type = R"("scoringStrategy": {"type": "MostAllocated"})";
  OneNode predicted("{" + type + "}");
  OneNode minimum("{" + type + R"(, "zoneView": "Minimum"})");
  // Memory decides: half of zone 0 is in use, and this pod takes the other half; zone 8 is empty.
  ReportSpec report;
  report.zones = {{0, {{"memory", "32Gi"}}}, {8, {{"memory", "64Gi"}}}};
  predicted.report(report);
  minimum.report(report);
  PodSpec pod;
  pod.apps = {R"({"memory":"32Gi","cpu":"500m"})"};
  EXPECT_EQ(predicted.score(pod), 100);
  EXPECT_EQ(minimum.score(pod), 25);  // half of zone 8, and nothing of its cpu, which it lacks
}

TEST(TopologyScore, PreserveLargeZonesLooksAtWhatAllPodsRequest) {
  OneNode one(R"({"scoringStrategy": {"type": "PreserveLargeZones"}})");
  PodSpec ordinary = guaranteed("ordinary", 4);
  ordinary.burstable = true;
  EXPECT_EQ(one.score(ordinary), 100);  // nothing is known to be lost
  ReportSpec report;
  report.allocatable = "16";
  report.zones = {{0, {{"cpu", "16"}}}, {1, {{"cpu", "16"}}}};
  one.plugin.plugin().object_event(
      {sdk::ObjectEvent::kUpsert, kNrtResource, "n1", "", nrt_json(report)});
  const int64_t empty = one.score(ordinary);
  sdk::FakePod other("other");
  other.request("cpu", 12'000);
  one.node.add(other);
  EXPECT_LT(empty, one.score(ordinary));
}

TEST(TopologyScore, ScoresItsOwnLedgersView) {
  sdk::FakeHost host;
  sdk::FakeNode node("n1", 4);
  node.allocatable("cpu", 32'000);
  host.add(node);
  sdk::FakePlugin<TopologyScore> plugin(
      host, R"({"scoringStrategy": {"type": "MostAllocated"}, "zoneView": "Minimum"})");
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
  EXPECT_EQ(parse_score_args("").strategy.type, Strategy::kLeastAllocated);
  EXPECT_EQ(parse_score_args("null").view, ZoneView::kPredicted);
  EXPECT_EQ(parse_score_args(R"({"zoneView": "Minimum"})").view, ZoneView::kMinimum);
  EXPECT_EQ(
      parse_score_args(R"({"scoringStrategy": {"type": "BalancedAllocation"}})").strategy.type,
      Strategy::kBalancedAllocation);
  const ScoreArgs preserve = parse_score_args(
      R"({"zoneView": "Predicted", "scoringStrategy": {"type": "PreserveLargeZones",
          "resources": [{"name": "nvidia.com/gpu", "weight": 3}]}})");
  EXPECT_EQ(preserve.strategy.type, Strategy::kPreserveLargeZones);
  EXPECT_EQ(preserve.strategy.weight_of("nvidia.com/gpu"), 3);
}

TEST(TopologyScore, ArgsThatAreWrongNameTheFieldAndWhatWasMeant) {
  for (const auto& [json, error] : {
           std::pair(R"({"scoringStrategy": {"type": "Best"}})",
                     "scoringStrategy.type: must be LeastAllocated, MostAllocated, "
                     "BalancedAllocation, LeastNUMANodes or PreserveLargeZones, not \"Best\""),
           std::pair(R"({"scoringStrategy": {"type": "LeastNumaNode"}})",
                     "scoringStrategy.type: must be LeastAllocated, MostAllocated, "
                     "BalancedAllocation, LeastNUMANodes or PreserveLargeZones, not "
                     "\"LeastNumaNode\", did you mean \"LeastNUMANodes\"?"),
           std::pair(R"({"scoringStrategy": {"type": "PreserveLargezone"}})",
                     "scoringStrategy.type: must be LeastAllocated, MostAllocated, "
                     "BalancedAllocation, LeastNUMANodes or PreserveLargeZones, not "
                     "\"PreserveLargezone\", did you mean \"PreserveLargeZones\"?"),
           std::pair(R"({"zoneView": "predictd"})",
                     "zoneView: must be Predicted or Minimum, not \"predictd\", did you mean "
                     "\"Predicted\"?"),
           std::pair(R"({"zoneView": "All"})",
                     "zoneView: must be Predicted or Minimum, not \"All\""),
           std::pair(R"({"zoneView": 1})", "zoneView: must be Predicted or Minimum, not 1"),
           std::pair(
               R"({"zoneView": "Minimum", "scoringStrategy": {"type": "PreserveLargeZones"}})",
               "zoneView: must be Predicted, which PreserveLargeZones needs, not \"Minimum\""),
           std::pair(R"({"strategy": 1})", "strategy: unknown field"),
           std::pair(R"({"view": 1, "zoneView": 2})",
                     "zoneView: must be Predicted or Minimum, not 2\nview: unknown field"),
           std::pair("3", "args must be an object, not 3"),
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

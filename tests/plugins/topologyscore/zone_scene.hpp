#pragma once
// Nodes as a scorer sees them: the counts of a report, the kubelet that they tell of, and where a
// pod would land.

#include "plugins/topology/report/facts.hpp"
#include "plugins/topology/score/zone_score.hpp"
#include "plugins/topology/verdict/zone_use.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {

// A node of which counts are known.
struct CountedNode {
  NumaNode zones;
  std::shared_ptr<const kubelet::NodeModel> model;
  kubelet::NodeState state;
};

class ZoneScene : public TopologyScene {
 public:
  [[nodiscard]] CountedNode counted(const NrtObject& nrt) {
    kubelet::NodeFacts facts = kubelet::from_counts(nrt, index());
    return {NumaNode(nrt, index(), 0), facts.model, std::move(facts.state)};
  }
  [[nodiscard]] CountedNode counted(const ReportSpec& report) { return counted(nrt(report)); }

  // Null: refused. Valid until the next call.
  const plimsoll_numa_use* use(const kubelet::PodDemand& pod, const CountedNode& node) {
    return use_.find(*node.model, node.state, node.zones.view(), pod, scratch_);
  }
  // `node` null: none was reported.
  int64_t score(const ScoringStrategy& strategy, const plimsoll_pod& pod, const CountedNode* node,
                const NodeCpu& cpu = {}) {
    const kubelet::PodDemand demand(pod);
    const ZoneScore score(strategy, pod, demand.asks);
    if (node == nullptr) return score.on(nullptr, nullptr, cpu);
    return score.on(&node->zones.view(), use(demand, *node), cpu);
  }

 private:
  kubelet::Scratch scratch_;
  ZoneUse use_;
};

}  // namespace plimsoll::topology

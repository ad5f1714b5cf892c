#pragma once
// TopologyScore: scores nodes by how a pod would share their NUMA zones, with the strategies of
// KEP-119 (see score.hpp in plugins/topology), on the view of the NUMA ledger: what was promised
// and is not reported yet counts as used. It needs no NodeResourceTopologyMatch beside it: then the
// ledger is its own and knows what is bound.
//
// No AddPod and RemovePod: what-ifs run filters, and scores are for nodes as they are.

#include <plimsoll/plugin.hpp>
#include <string_view>

#include "plugins/topology/ledger_access.hpp"
#include "plugins/topology/score.hpp"

namespace plimsoll::topology {

// Args: {scoringStrategy: {type, resources: [{name, weight}]}}; LeastAllocated unless said
// otherwise. Throws std::runtime_error with every problem and its path.
[[nodiscard]] ScoringStrategy parse_score_args(std::string_view json);

class TopologyScore {
 public:
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_PLUGIN;

  TopologyScore(sdk::Host host, std::string_view args_json);

  sdk::Status score(const plimsoll_cycle& cycle, sdk::Pod pod, sdk::Nodes nodes,
                    std::span<int64_t> scores) const;
  sdk::Status sign(sdk::Pod pod, sdk::Sink& sink);

  void node_event(sdk::NodeEvent type, sdk::Node node, uint32_t aspects);
  void pod_event(sdk::PodEvent type, sdk::Pod pod, std::string_view node_name);
  void object_event(const sdk::ObjectEvent& event);

 private:
  ScoringStrategy strategy_;
  LedgerAccess ledger_;
};

}  // namespace plimsoll::topology

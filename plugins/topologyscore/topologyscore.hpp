#pragma once
// TopologyScore: scores nodes by the NUMA zones that a pod would use there (zone_score.hpp in
// plugins/topology), or by the least of all zones as KEP-119 has it (score.hpp), on the view of the
// NUMA ledger: what was promised and is not reported yet counts as used. It needs no
// NodeResourceTopologyMatch beside it: then the ledger is its own and knows what is bound.
//
// No AddPod and RemovePod: what-ifs run filters, and scores are for nodes as they are.

#include <memory>
#include <plimsoll/plugin.hpp>
#include <string_view>

#include "plugins/topology/pod/pod_memo.hpp"
#include "plugins/topology/score/zone_score.hpp"
#include "plugins/topology/service/ledger_access.hpp"
#include "plugins/topologyscore/score_args.hpp"

namespace plimsoll::topology {

class TopologyScore {
 public:
  // PreserveLargeZones looks at what all pods on a node request.
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_PLUGIN | PLIMSOLL_ASPECT_REQUESTED;
  static constexpr uint16_t least_abi_minor = 1;  // the ledger's waits end by run_on_loop

  // Args: score_args.hpp. Throws std::runtime_error with all that is wrong with them.
  TopologyScore(sdk::Host host, std::string_view args_json);

  sdk::Status score(const plimsoll_cycle& cycle, sdk::Pod pod, sdk::Nodes nodes,
                    std::span<int64_t> scores) const;
  sdk::Status sign(sdk::Pod pod, sdk::Sink& sink);

  bool rests_on(sdk::Pod pod, std::string_view resource) const;

  void node_event(sdk::NodeEvent type, sdk::Node node, uint32_t aspects);
  void pod_event(sdk::PodEvent type, sdk::Pod pod, std::string_view node_name);
  void object_event(const sdk::ObjectEvent& event);

 private:
  // What is asked about all pods of one kind.
  struct Asked {
    std::shared_ptr<const LedgerAccess::Reading> pod;
    ZoneScore score;
  };

  void score_one_by_one(const LedgerAccess::Asked& asked, const ZoneScore& score, sdk::Nodes nodes,
                        std::span<int64_t> scores) const;
  // Of the nodes in these places.
  void score_places(const LedgerAccess::Asked& asked, const ZoneScore& score, sdk::Nodes nodes,
                    std::span<const uint32_t> places, std::span<int64_t> scores,
                    OneZoneUse& room) const;

  ScoreArgs args_;
  LedgerAccess ledger_;
  mutable PodMemo<const Asked> kinds_;
};

}  // namespace plimsoll::topology

#pragma once
// The decision: on which node a pod is placed, if any. It runs PreFilter, Filter, PostFilter,
// PreScore and Score, takes from the tables of the pod's class what they know, and checks some of
// these decisions by making them again without the tables.
//
// A decision changes nothing but what the placer itself remembers. Scheduler loop only.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/cluster/cluster_state.hpp"
#include "framework/extenders/extender.hpp"
#include "framework/placement/class_cache.hpp"
#include "framework/placement/columns.hpp"
#include "framework/placement/diagnosis.hpp"
#include "framework/placement/nominator.hpp"
#include "framework/placement/report.hpp"
#include "framework/placement/what_if.hpp"
#include "framework/runtime/framework.hpp"
#include "framework/runtime/plugin/dry_run_keeper.hpp"

namespace plimsoll {

// A pod that is to be placed. `nominated_to`: the node that it is nominated to, in memory; empty:
// none.
struct PlacementQuery {
  Framework& framework;
  CycleContext& cycle;
  const plimsoll_pod& pod;
  std::string_view nominated_to;
  // What extenders said about nodes so far. Null: no extender is interested in the pod.
  const ExtenderAnswers* answers = nullptr;
  bool post_filter = true;  // false: nobody makes room for it
  // The only nodes that there are for the pod, in slot order, with columns. Null: all.
  const NodeRows* among = nullptr;
};

struct Placement {
  const plimsoll_node_info* node = nullptr;  // null: none, and `status` says why
  Status status;
  Diagnosis diagnosis;
  Nominating nominating = Nominating::clear();  // what a failure says about the nomination
  // Not empty: nothing is decided, since extenders must be asked about these nodes first.
  std::vector<NodeRef> to_ask;
};

class Placer final : private DryRunKeeper {
 public:
  // All but the options must outlive the placer.
  Placer(const ClusterState& cluster, const Nominator& nominator, const ReasonTable& reasons,
         ClassCacheOptions options)
      : cluster_(cluster), nominator_(nominator), reasons_(reasons), classes_(options) {}
  Placer(const Placer&) = delete;
  Placer& operator=(const Placer&) = delete;

  [[nodiscard]] Placement decide(const PlacementQuery& query);
  // The same decision for people, with all verdicts and scores. It changes nothing: no PostFilter
  // runs, no table is used.
  [[nodiscard]] PlacementReport report(const ReportRequest& request) const;

  [[nodiscard]] const ClassCache::Stats& class_stats() const { return classes_.stats(); }
  // For the PostFilter of the decision that is under way.
  [[nodiscard]] const DryRunKeeper& dry_run_keeper() const { return *this; }

 private:
  // What the filters said.
  struct Evaluation {
    NodeRows feasible;            // not filled in if `whole`; in room_
    ClassTable* table = nullptr;  // of the pod's class; null: all nodes are walked over
    NodeRows looked_at;           // what room_.verdicts is about, unless `whole`
    bool whole = false;           // the table's feasible nodes are those of this pod
    bool check = false;           // to be made again without the table
    Diagnosis diagnosis;
    Status status;
    Nominating nominating = Nominating::clear();
  };

  // ---- over the nodes (placer.cpp)
  void evaluate(const PlacementQuery& query, Evaluation& result);
  [[nodiscard]] NodeRows all_nodes() const;
  [[nodiscard]] NodeRows named_nodes(const PreFilterOutcome& outcome, NodeRows all);
  static void spread_verdicts(NodeRows rows, NodeRows all, Columns& columns);
  void sum_up(NodeRows rows, const Columns& columns, Evaluation& result);
  bool fits_nominated_node(const PlacementQuery& query, const PreFilterOutcome& outcome,
                           Evaluation& result);
  void run_post_filters(const PlacementQuery& query, NodeRows rows, std::span<const uint8_t> codes,
                        Evaluation& result);
  const plimsoll_node_info* select(const PlacementQuery& query, const Evaluation& result,
                                   Status& status);
  [[nodiscard]] const plimsoll_node_info* best_of(NodeRows rows,
                                                  std::span<const int64_t> totals) const;

  // ---- of a pod that extenders are interested in (extended_decision.cpp)
  void decide_extended(const PlacementQuery& query, Evaluation& result, Placement& placement);
  void refuse_extended(const PlacementQuery& query, NodeRows refused, Evaluation& result);
  const plimsoll_node_info* select_extended(const PlacementQuery& query, NodeRows approved,
                                            Status& status);

  // ---- from what is known of the pod's class (class_decision.cpp)
  void ask_class(const PlacementQuery& query, Evaluation& result);
  bool copy_class_verdicts(const PlacementQuery& query, NodeRows rows, Evaluation& result,
                           Columns& columns);
  void check_verdicts(const PlacementQuery& query, NodeRows rows, Evaluation& result,
                      Columns& columns);
  bool same_verdicts(const PlacementQuery& query, NodeRows rows, const Columns& kept, size_t begin,
                     const Columns& afresh);
  const plimsoll_node_info* best_by_class(const PlacementQuery& query, const Evaluation& result,
                                          NodeRows feasible);
  bool agrees(const PlacementQuery& query, const Evaluation& result, NodeRows feasible,
              const plimsoll_node_info* best);
  bool same_scores(const PlacementQuery& query, const Evaluation& result,
                   const Framework::Slot& slot, NodeRows feasible);
  void differs(const PlacementQuery& query, PluginIndex plugin, const plimsoll_node_info& node,
               std::string_view kept, std::string_view afresh);

  void end_post_filtering(const PlacementQuery& query, Evaluation& result);

  // ---- DryRunKeeper, for the PostFilter that runs
  struct PostFiltering {
    ClassTable* table = nullptr;  // with `kept`
    std::unique_ptr<KeptDryRuns>* kept = nullptr;
    std::vector<std::string_view> look_beyond;
    bool check = false;
    // What differs first.
    const plimsoll_node_info* node = nullptr;
    std::string before, now;
  };
  [[nodiscard]] std::unique_ptr<KeptDryRuns>* kept() const override { return post_filtering_.kept; }
  void hold_reason(uint32_t reason) const override { post_filtering_.table->hold_reason(reason); }
  [[nodiscard]] std::vector<std::string_view> look_beyond() const override {
    return post_filtering_.look_beyond;
  }
  [[nodiscard]] bool has_nominated(uint32_t slot) const override {
    return contested_.at(slot) != nullptr;
  }
  [[nodiscard]] bool is_check() const override { return post_filtering_.check; }
  void differs(const plimsoll_node_info& node, std::string_view before,
               std::string_view now) const override;

  const ClusterState& cluster_;
  const Nominator& nominator_;
  const ReasonTable& reasons_;
  ClassCache classes_;
  std::vector<uint64_t> last_chosen_;  // by slot: when a node was last chosen, for ties
  uint64_t choices_ = 0;
  ContestedNodes contested_;  // of the pod that is looked at, if its class has a table
  PlacementRoom room_;        // for one decision, kept
  mutable PostFiltering post_filtering_;
};

}  // namespace plimsoll

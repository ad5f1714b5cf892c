#pragma once
// What is known of every node for one class of pods: pods whose signatures are equal, so that no
// filter and no score can tell them apart (architecture, section 6).
//
// Columns by node slot, as narrow as their numbers allow: the verdict of the filters, the raw and
// the normalised score of each Score plugin, and the best node. The change log of the cluster says
// what became of each node since the class was last asked for; only the plugins that rest on what
// changed run again, and only for those nodes. Nothing is invalidated by hand: a row is as good as
// the log.
//
// A node takes some ten bytes of it (and twelve more for each that passes, unless all do), so that
// the tables of a hundred classes fit where a hundred thousand nodes are.
//
// Plugins that do not sign, do not say on what they rest, or rest on more than the node (cluster
// scope) are "fresh": their word is asked for each time (run_fresh_filters, score).
//
// Scheduler loop only. After an error of a plugin the table begins anew at its next use.
// Verdicts are in class_table.cpp, scores in class_table_scores.cpp.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "framework/cluster/cluster_state.hpp"
#include "framework/placement/diagnosis.hpp"
#include "framework/placement/kept_score.hpp"
#include "framework/placement/narrow_column.hpp"
#include "framework/placement/node_ranking.hpp"
#include "framework/placement/what_if.hpp"
#include "framework/runtime/framework.hpp"
#include "framework/runtime/plugin/dry_run_keeper.hpp"

namespace plimsoll {

class ClassTable {
 public:
  struct Work {
    uint32_t slot;
    uint32_t changed;
    uint32_t before, after;  // the verdict
  };
  // What one call needs: one for all tables, which outlives them. Nothing in it is kept from one
  // call to the next but that `changed` is all zero.
  struct Room {
    std::vector<uint32_t> changed;  // by slot
    std::vector<Work> work;
    std::vector<uint32_t> indices, slots, reasons;
    std::vector<const plimsoll_node_info*> rows;
    std::vector<uint8_t> codes;
    std::vector<int64_t> scores, totals;

    [[nodiscard]] size_t bytes() const;
  };

  // `fresh`: plugins whose word is not to be kept, whatever they declare.
  ClassTable(const Framework& framework, const PluginMask& fresh, Room& room);

  // Brings the verdicts up to date with the cluster. After PreFilter: what that skips is left out.
  // Error: of a filter plugin.
  Status update_verdicts(const CycleContext& cycle, const plimsoll_pod& pod,
                         const ClusterState& cluster);

  // ---- of the filters that are kept, as of update_verdicts
  [[nodiscard]] bool has_fresh_filters() const { return !fresh_filters_.empty(); }
  [[nodiscard]] size_t feasible_count() const { return feasible_count_; }
  [[nodiscard]] NodeRows feasible();  // in slot order; valid until the next update
  void diagnose(Diagnosis& diagnosis) const;
  // What became of rows that are in the cluster: their codes; or the verdicts of those that are
  // refused, where nobody was before.
  void copy_codes(NodeRows rows, std::span<uint8_t> codes) const;
  void copy_verdicts(NodeRows rows, FilterColumns inout) const;
  // Completes what copy_verdicts gave with the filters that are not kept: on each node the first
  // plugin of the profile that refuses it is named.
  Status run_fresh_filters(const CycleContext& cycle, const plimsoll_pod& pod, NodeRows rows,
                           FilterColumns inout) const;

  // ---- scores. After PreScore with more than one feasible node.
  // Brings the raw scores of the feasible nodes up to date.
  Status update_scores(const CycleContext& cycle, const plimsoll_pod& pod);
  // Whether best() is kept: no fresh filter and no fresh score, and every plugin that normalises
  // looks at the extremes only.
  [[nodiscard]] bool ranks() const { return fresh_filters_.empty() && rankable_; }
  // With ranks(), after update_scores: normalises what changed, and the node that Scheduler::select
  // would take. `last_chosen`: by slot, when it was last chosen.
  Status rank(const CycleContext& cycle, const plimsoll_pod& pod,
              const std::vector<uint64_t>& last_chosen, const plimsoll_node_info*& best);
  // Totals of some of the feasible nodes, as Framework::run_score gives them.
  Status score(const CycleContext& cycle, const plimsoll_pod& pod, NodeRows rows,
               ScoreTable& out) const;

  // With nominated pods on the nodes; kept by whoever filters these nodes (what_if.hpp).
  [[nodiscard]] KeptContested contested();
  // Keeps the reason of a verdict that is kept elsewhere with the table.
  void hold_reason(uint32_t reason) { reasons_.add(reason); }
  // What PostFilter found out about the nodes; null: nothing may be kept (DryRunKeeper).
  [[nodiscard]] std::unique_ptr<KeptDryRuns>* dry_runs();
  // Names of the filters that are not kept (DryRunKeeper).
  [[nodiscard]] std::vector<std::string_view> look_beyond() const;

  [[nodiscard]] size_t bytes() const;

  // ---- for the check
  [[nodiscard]] bool keeps_score(PluginIndex plugin) const;
  // The first of these feasible nodes whose raw score is kept and is not what was found `afresh`,
  // and what is kept; rows.size(): none.
  [[nodiscard]] size_t other_raw(PluginIndex plugin, NodeRows rows, std::span<const int64_t> afresh,
                                 int64_t& kept) const;
  // The same of normalised scores, where all nodes are ranked.
  [[nodiscard]] size_t other_normalised(PluginIndex plugin, NodeRows rows,
                                        std::span<const int64_t> afresh, int64_t& kept) const;

 private:
  struct KeptFilter {
    PluginIndex plugin;
    uint32_t aspects;
    size_t position;  // among all filters of the profile
  };
  struct Verdict {
    uint8_t refuser = 0;  // index into filters_
    uint8_t code = PLIMSOLL_SUCCESS;
    uint32_t reason = 0;
    size_t nodes = 0;  // that have it; 0: not in use
  };
  // Ids of verdicts; the next ones are refusals.
  static constexpr uint32_t kUnknown = 0;  // no node, or nothing known of it
  static constexpr uint32_t kFeasible = 1, kFirstRefusal = 2;

  // What is known of a slot's scores.
  static constexpr uint8_t kScored = 1;   // the raw ones are right
  static constexpr uint8_t kCounted = 2;  // they are in the extremes, and the node is ranked
  // A slot whose verdict or scores changed since the last rank().
  struct Todo {
    uint32_t slot;
    uint32_t changed;  // aspects whose scores are not up to date
  };
  static constexpr size_t kMostPlugins = 60;                   // of one kind; more are fresh
  static constexpr size_t kMostReasonBytes = size_t{4} << 20;  // then the table begins anew

  // ---- verdicts
  void begin(const CycleContext& cycle);
  Status fill(const CycleContext& cycle, const plimsoll_pod& pod);
  Status replay(const CycleContext& cycle, const plimsoll_pod& pod);
  void grow();
  void read_log();
  Status judge(const CycleContext& cycle, const plimsoll_pod& pod, size_t filter);
  [[nodiscard]] bool has_to_run(const Work& work, size_t filter) const;
  Status run_on_all(PluginIndex plugin, const CycleContext& cycle, const plimsoll_pod& pod,
                    NodeRows rows, FilterColumns out) const;
  Status run_on_some(const FreshFilter& filter, const CycleContext& cycle, const plimsoll_pod& pod,
                     NodeRows rows, FilterColumns inout) const;
  void take(const Work& work);
  void leave(uint32_t verdict);
  [[nodiscard]] uint32_t refusal(size_t filter, uint8_t code, uint32_t reason);
  [[nodiscard]] bool feasible_at(uint32_t slot) const { return verdict_[slot] == kFeasible; }
  [[nodiscard]] const plimsoll_node_info* row_at(uint32_t slot) const {
    return cluster_->node_at(slot)->abi();
  }

  // ---- scores
  void begin_scores(const CycleContext& cycle);
  void note_change(uint32_t slot, uint32_t before, uint32_t after, uint32_t changed);
  void gather_todo();
  void take_raw(KeptScore& score, std::span<const uint32_t> slots, std::span<const int64_t> raw);
  void count_all();
  void count_todo(NodeRanking::LastChosen last_chosen);
  Status normalize(const CycleContext& cycle, const plimsoll_pod& pod, KeptScore& score, bool& all);
  [[nodiscard]] std::span<const uint32_t> feasible_slots();
  void add_up(std::span<const uint32_t> slots);

  const Framework& framework_;
  PluginMask fresh_;
  Room& room_;
  const ClusterState* cluster_ = nullptr;  // that of the last update
  bool known_ = false;                     // false: begin anew
  uint64_t seen_ = 0;                      // the log up to here
  PluginMask skip_filter_, skip_score_;
  std::vector<KeptFilter> filters_;
  std::vector<FreshFilter> fresh_filters_;

  HeldReasons reasons_;  // of all that is kept here

  NarrowColumn verdict_;                                                 // by slot: the id
  std::vector<Verdict> verdicts_;                                        // by id
  std::map<std::tuple<uint8_t, uint8_t, uint32_t>, uint32_t> refusals_;  // ids that are in use
  std::vector<uint32_t> free_ids_;
  uint32_t last_refusal_ = 0;  // the id; most nodes in a row are refused alike
  size_t feasible_count_ = 0, node_count_ = 0;
  // Unless all nodes are feasible.
  std::vector<const plimsoll_node_info*> feasible_;
  std::vector<uint32_t> feasible_slots_;
  bool feasible_stale_ = true;

  bool scores_known_ = false, rankable_ = false;
  bool none_ranked_ = false;  // all feasible nodes are still to be counted and ranked
  std::vector<KeptScore> scores_;
  uint32_t score_aspects_ = 0;  // on which any of them rests
  std::vector<FreshScore> fresh_scores_;
  std::vector<uint8_t> flags_;  // by slot
  std::vector<Todo> todo_;
  NodeRanking ranking_;
  ContestedVerdicts contested_;
  std::unique_ptr<KeptDryRuns> dry_runs_;
};

}  // namespace plimsoll

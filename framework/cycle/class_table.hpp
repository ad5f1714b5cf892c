#pragma once
// What is known of every node for one class of pods: pods whose signatures are equal, so that no
// filter and no score can tell them apart (architecture, section 6).
//
// Columns by node slot: the verdict of the filters, the raw and the normalised score of each Score
// plugin, the total, and the best node. The change log of the cluster says what became of each node
// since the class was last asked for; only the plugins that rest on what changed run again, and
// only for those nodes. Nothing is invalidated by hand: a row is as good as the log.
//
// Plugins that do not sign, do not say on what they rest, or rest on more than the node (cluster
// scope) are "fresh": their word is asked for each time (run_fresh_filters, score).
//
// Scheduler loop only. After an error of a plugin the table begins anew at its next use.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "framework/cluster/cluster_state.hpp"
#include "framework/cycle/contested_verdicts.hpp"
#include "framework/cycle/diagnosis.hpp"
#include "framework/cycle/node_ranking.hpp"
#include "framework/runtime/framework.hpp"

namespace plimsoll {

class ClassTable {
 public:
  // `fresh`: plugins whose word is not to be kept, whatever they declare.
  ClassTable(const Framework& framework, const PluginMask& fresh);

  // Brings the verdicts up to date with the cluster. After PreFilter: what that skips is left out.
  // Error: of a filter plugin.
  Status update_verdicts(const CycleContext& cycle, const plimsoll_pod& pod,
                         const ClusterState& cluster);

  // ---- of the filters that are kept, as of update_verdicts
  [[nodiscard]] bool has_fresh_filters() const { return !fresh_filters_.empty(); }
  [[nodiscard]] size_t feasible_count() const { return feasible_count_; }
  [[nodiscard]] NodeRows feasible();  // in slot order; valid until the next update
  void diagnose(Diagnosis& diagnosis) const;
  // What became of rows that are in the cluster: their codes, and all of their verdicts.
  void copy_codes(NodeRows rows, std::span<uint8_t> codes) const;
  void copy_verdicts(NodeRows rows, FilterColumns out) const;
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
  [[nodiscard]] ContestedVerdicts& contested() { return contested_; }

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
  struct FreshFilter {
    PluginIndex plugin;
    size_t position;
  };
  struct KeptScore {
    PluginIndex plugin;
    int64_t weight;
    uint32_t aspects;
    bool normalizes;
    std::vector<int64_t> raw;        // by slot
    std::vector<uint8_t> weighable;  // by slot: normalised, 0..100
    // If it normalizes: of the raw scores of counted rows; how many have the extreme.
    int64_t low = 0, high = 0;
    size_t at_low = 0, at_high = 0;
    bool extremes_stale = false;
    // Those that `weighable` was made with.
    bool normalized = false;
    int64_t normalized_low = 0, normalized_high = 0;

    void count(int64_t value);
    void uncount(int64_t value);
  };
  struct FreshScore {
    PluginIndex plugin;
    int64_t weight;
  };
  struct Row {
    const plimsoll_node_info* node = nullptr;  // null: no node, or nothing known of it
    uint32_t reason = 0;
    uint8_t refuser = 0;  // index into filters_; kFeasible
    uint8_t code = 0;
    bool todo = false;     // in todo_
    bool counted = false;  // its raw scores are in the extremes, and it is ranked
    uint64_t scored = 0;   // bit i: scores_[i].raw is right
  };
  struct Work {
    uint32_t slot;
    uint32_t changed;
    uint8_t before;  // Row::refuser, kUnknown
    uint8_t after;
    uint8_t code;
    uint32_t reason;
  };
  static constexpr uint8_t kFeasible = 0xff;
  static constexpr uint8_t kUnknown = 0xfe;
  static constexpr size_t kMostPlugins = 60;  // of one kind; more are fresh

  void begin(const CycleContext& cycle, const ClusterState& cluster);
  void begin_scores(const CycleContext& cycle);
  void read_log(const ClusterState& cluster);
  [[nodiscard]] bool has_to_run(const Work& work, size_t filter) const;
  void take(const Work& work);
  void forget(uint32_t slot);
  void leave(Row& row, uint32_t slot, uint8_t after);
  void wants_scores(Row& row, uint32_t slot);
  void find_extremes(KeptScore& score) const;
  Status normalize(const CycleContext& cycle, const plimsoll_pod& pod, KeptScore& score, bool& all);
  [[nodiscard]] int64_t total(uint32_t slot) const;

  const Framework& framework_;
  PluginMask fresh_;
  bool known_ = false;  // false: begin anew
  uint64_t seen_ = 0;   // the log up to here
  PluginMask skip_filter_;
  PluginMask skip_score_;
  std::vector<KeptFilter> filters_;
  std::vector<FreshFilter> fresh_filters_;

  std::vector<Row> rows_;  // by slot
  size_t feasible_count_ = 0;
  size_t node_count_ = 0;
  const plimsoll_columns* columns_ = nullptr;  // of the cluster
  std::vector<const plimsoll_node_info*> feasible_;
  std::vector<uint32_t> feasible_slots_;
  bool feasible_stale_ = true;
  std::map<uint32_t, size_t> by_reason_;
  std::vector<size_t> refused_;  // by index into filters_
  std::vector<size_t> pending_;

  bool scores_known_ = false;
  bool rankable_ = false;
  std::vector<KeptScore> scores_;
  std::vector<FreshScore> fresh_scores_;
  std::vector<uint32_t> todo_;  // slots whose scores, or rank, are not up to date
  NodeRanking ranking_;
  ContestedVerdicts contested_;

  // Room for one call, kept.
  std::vector<uint32_t> changed_;  // by slot
  std::vector<Work> work_;
  std::vector<uint32_t> batch_;
  std::vector<uint32_t> batch_slots_;
  std::vector<uint32_t> all_;
  std::vector<const plimsoll_node_info*> batch_rows_;
  std::vector<uint8_t> batch_codes_;
  std::vector<uint32_t> batch_reasons_;
  std::vector<int64_t> batch_scores_;
};

}  // namespace plimsoll

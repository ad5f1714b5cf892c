#pragma once
// What a plugin says of one pod: its verdict and raw score for every node of a trial cluster, by
// the way that an attempt takes through it (PreFilter, Filter, PreScore, Score).

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lint/trial_cluster.hpp"

namespace plimsoll::lint {

// Where the call that runs is written: see Options::call_note.
class CallNote {
 public:
  CallNote(std::span<char> place, std::string plugin) : place_(place), plugin_(std::move(plugin)) {}
  // "X: filter of pod default/a in cluster 3".
  void about_to(std::string_view what, std::string_view detail = {});
  void idle() { about_to("between its calls"); }
  void in_cluster(size_t round) { round_ = round; }

 private:
  std::span<char> place_;
  std::string plugin_;
  size_t round_ = 0;
};

// On one node; absent nodes have none.
struct NodeAnswer {
  bool present = false;
  uint8_t code = 0;  // of Filter; Success if it was not asked
  uint32_t reason = 0;
  bool scored = false;
  int64_t raw = 0;
};

struct Answer {
  bool signable = false;
  std::string signature;
  // Filter was asked, about all nodes: what the scheduler may keep. Not so after a rejection or
  // Skip of PreFilter, or if that narrowed the nodes.
  bool filtered = false;
  bool scored = false;              // PreScore did not Skip, and nothing failed
  std::string error;                // of whatever function failed
  std::vector<NodeAnswer> by_slot;  // with filtered or scored
  std::shared_ptr<CycleContext> cycle;
  std::vector<const plimsoll_node_info*> feasible;  // of its Filter, in slot order

  [[nodiscard]] size_t refused() const;
};

// The plugin's part in a profile that has nobody else at these points.
struct Examined {
  PluginIndex plugin;
  bool filters;
  bool scores;
};

inline constexpr uint32_t kNoSlot = UINT32_MAX;
// `without`: a node that PreScore and Score are not told of, as if another plugin had refused it.
[[nodiscard]] Answer ask(TrialCluster& cluster, const Examined& examined, const PodRef& pod,
                         CallNote& note, uint32_t without = kNoSlot);

// Nodes as a batch call gets them: with the columns of the cluster, as in an attempt, or without,
// as in a what-if. A view of `rows`, until something changes.
class BatchOf {
 public:
  BatchOf(const TrialCluster& cluster, std::span<const plimsoll_node_info* const> rows,
          bool with_columns);
  [[nodiscard]] NodeRows rows() const { return {rows_, slots_, columns_}; }

 private:
  std::span<const plimsoll_node_info* const> rows_;
  std::vector<uint32_t> slots_;
  const plimsoll_columns* columns_;
};

// The verdicts of `answer` made again in another way: one row, or some rows in another order, with
// the same cycle's state. An empty text if they are the same; otherwise what differs.
[[nodiscard]] std::string ask_rows(TrialCluster& cluster, const Examined& examined,
                                   const PodRef& pod, const Answer& answer,
                                   std::span<const plimsoll_node_info* const> rows,
                                   bool with_columns, bool with_scores, CallNote& note);

// "Success", "Unschedulable (node(s) had no seats)", "score 17".
[[nodiscard]] std::string verdict_text(const TrialCluster& cluster, const NodeAnswer& answer);
[[nodiscard]] std::string score_text(const NodeAnswer& answer);

}  // namespace plimsoll::lint

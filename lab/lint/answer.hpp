#pragma once
// What a plugin says of one pod: its verdict and raw score for every node of a trial cluster, by
// the way that an attempt takes through it (PreFilter, Filter, PreScore, Score).

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/runtime/plugin/plugin_errors.hpp"
#include "lab/lint/trial_cluster.hpp"

namespace plimsoll::lint {

enum class Part { kFilter, kScore };
inline constexpr std::array kBothParts = {Part::kFilter, Part::kScore};
// "filter", "score".
[[nodiscard]] std::string part_name(Part part);

// Where the call that runs is written: see Options::call_note. It notes which of them failed, too,
// but for those that Answer::error tells of.
class CallNote {
 public:
  CallNote(std::span<char> place, std::atomic<uint64_t>* calls, std::string plugin)
      : place_(place), calls_(calls), plugin_(std::move(plugin)) {}
  // "X: filter of pod default/a in cluster 3".
  void about_to(std::string_view what, std::string_view detail = {});
  void in_cluster(size_t round) { round_ = round; }

  struct Failure {
    std::string function;  // "object_event"
    std::string error;
    std::string call;  // "object_event of gates.v1.example.com n0"
  };
  // Of the call that was noted last. Empty: it did not fail.
  void failed(std::string_view function, std::string_view error);
  // Those since the last time.
  [[nodiscard]] std::vector<Failure> take_failures();

 private:
  void look_at_errors();

  std::span<char> place_;
  std::atomic<uint64_t>* calls_;
  std::string plugin_;
  size_t round_ = 0;
  std::string doing_;
  PluginErrors errors_;
  std::vector<Failure> failures_;
};

// On one node, by one part.
struct Said {
  bool asked = false;   // false: there is no such node, or it does not fit the pod (Score)
  int64_t value = 0;    // Filter's code, Success if it was not called; the raw score
  uint32_t reason = 0;  // of Filter
  bool operator==(const Said&) const = default;
};

using Rows = std::vector<const plimsoll_node_info*>;

struct Answer {
  bool signable = false;
  std::string signature;
  std::string error;      // of whatever function failed
  std::string failed;     // which one: "filter"
  std::string failed_on;  // the first node that it fails for; empty: for none alone
  // By Part: asked about all nodes, or all that fit. What the scheduler may keep. Filter: not so
  // after a rejection or Skip of PreFilter, or if that narrowed the nodes.
  bool complete[2] = {};
  bool called[2] = {};        // and the plugin was called for it
  std::vector<Said> said[2];  // by Part and slot
  std::shared_ptr<CycleContext> cycle;
  Rows feasible;  // of its Filter, in slot order
};

inline constexpr uint32_t kNoSlot = UINT32_MAX;

// The plugin in a profile that has nobody else at these points.
class Plugin {
 public:
  Plugin(TrialCluster& cluster, CallNote& note, const std::string& name);

  // `without`: a node that PreScore and Score are not told of, as if another plugin had refused it.
  [[nodiscard]] Answer ask(const PodRef& pod, uint32_t without = kNoSlot);
  // The part alone, about some rows in any order, with the same cycle's state. With the columns of
  // the cluster, as in an attempt, or without, as in a what-if. Empty: it failed.
  [[nodiscard]] std::vector<Said> say(Part part, const CycleContext& cycle, const PodRef& pod,
                                      const Rows& rows, bool with_columns, std::string& error);
  [[nodiscard]] Status normalize(const CycleContext& cycle, const PodRef& pod, const Rows& rows,
                                 std::vector<int64_t>& scores);
  // "Success", "Unschedulable (node(s) had no seats)", "score 17".
  [[nodiscard]] std::string text(Part part, const Said& said) const;

  [[nodiscard]] PluginIndex index() const { return index_; }
  [[nodiscard]] bool has(Part part) const { return has_[static_cast<int>(part)]; }

 private:
  TrialCluster& cluster_;
  Framework& framework_;
  CallNote& note_;
  PluginIndex index_ = kNoPlugin;
  bool has_[2];
};

}  // namespace plimsoll::lint

#pragma once
// Why a pod is where it is, or waits: what the scheduling cycle would say about it now, and what
// the queue remembers of it. Made only when somebody asks (Scheduler::explain); the cycle itself
// records nothing for it.
//
// The result is a value without pointers into the scheduler: any thread may keep and print it.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "framework/runtime/status.hpp"

namespace plimsoll {

struct ExplainRequest {
  std::string ns;
  std::string name;
  // Of the nodes that one plugin refuses for one reason, how many the plugin is asked about in its
  // own words. Asking is what takes long in a large cluster.
  size_t texts_per_reason = std::numeric_limits<size_t>::max();
};

enum class ExplainedState {
  kUnknown,          // no such pod here: it does not exist, is finished, or is another scheduler's
  kQueued,           // waits for its next attempt
  kWaitingOnPermit,  // has a node, and Permit plugins hold it
  kBinding,          // has a node; PreBind or Bind is under way, or its answer not yet watched
  kBound,
};

// A plugin that rejected the pod in its last attempt, or that gates it.
struct ExplainedRejector {
  enum class Kind { kRejected, kPending, kGate };
  std::string plugin;
  Kind kind = Kind::kRejected;
  std::string text;                    // of a gate
  bool any_event = false;              // every event wakes the pod
  std::vector<std::string> waits_for;  // "Node/Add", "Pod/Delete", ... that may wake it
};

struct ExplainedQueuePlace {
  // "active", "backoff", "errorBackoff", "unschedulable", "gated" or "inFlight".
  std::string place;
  size_t pods_there = 0;
  uint32_t attempts = 0;
  int64_t queued_for_ms = 0;    // since it last entered the queue
  int64_t backoff_left_ms = 0;  // before it may be tried again, whatever happens
  std::vector<ExplainedRejector> rejectors;
};

struct ExplainedWait {
  std::string plugin;
  int64_t left_ms = 0;
};

// A kind that is not followed and that the pod's verdict rests on.
struct ExplainedLoss {
  std::string kind;
  std::string plugin;  // that says so; empty: every pod rests on pods and nodes
  std::string why;
  int64_t lost_for_ms = 0;
};

// A plugin's own words about one node.
struct ExplainedRemark {
  std::string plugin;
  std::string text;
};

struct RefusedNode {
  std::string node;
  Code code = Code::kUnschedulable;
  std::string plugin;  // the first one that refused it: later ones are not asked, as in the cycle
  std::string reason;  // as in the pod's event
  std::string text;    // the plugin's own words; empty: it has none, or was not asked
  // It would fit but for the room that is kept for these pods, which are nominated to the node.
  std::vector<std::string> kept_for;
};

// Scores are in the order of Evaluation::score_plugins.
struct FittingNode {
  std::string node;
  std::vector<int64_t> raw;              // what Score returned
  std::vector<int64_t> scores;           // after NormalizeScore, 0 .. 100
  int64_t total = 0;                     // sum of scores times weights
  std::vector<ExplainedRemark> remarks;  // only of the chosen node and of the one it is on
};

struct ScorePlugin {
  std::string plugin;
  int64_t weight = 0;
};

// One scheduling cycle that ends before Reserve.
struct PlacementReport {
  size_t nodes = 0;   // of the cluster
  std::string error;  // the cycle ends with this error: nothing below is complete then
  // What the pod's event and condition would say, if no node fits.
  std::string message;

  // PreFilter
  std::optional<RefusedNode> pre_filter_rejection;  // of the pod as a whole; without a node
  std::vector<std::string> skipped;      // plugins that have nothing to say about this pod
  std::vector<std::string> narrowed_by;  // plugins that named the only nodes to look at ...
  size_t narrowed_to = 0;                // ... and how many of those there are

  std::vector<RefusedNode> refused;  // in the cluster's order
  std::vector<FittingNode> fitting;  // best first
  // The pod has a nomination and its node fits: the cycle looks at no other.
  bool nominated_node_taken = false;
  // Empty if fewer than two nodes fit: the cycle does not score then.
  std::vector<ScorePlugin> score_plugins;
  std::vector<std::string> score_skipped;  // plugins that PreScore left out
  std::string chosen;                      // where the pod would go; empty: nowhere
};

struct Explanation {
  ExplainedState state = ExplainedState::kUnknown;
  bool synced = false;  // false: the cluster was not read completely yet, nothing else is filled in
  bool standby = false;  // another replica leads: this one schedules nothing
  std::string ns;
  std::string name;
  std::string uid;
  std::string scheduler_name;
  std::string profile;  // whose plugins were asked; another name: the pod is another scheduler's
  std::vector<std::string> profiles;  // all that are here
  int32_t priority = 0;
  bool terminating = false;
  std::string node;  // where it is, or will be
  std::string nominated_node;
  std::vector<ExplainedWait> waits;   // with kWaitingOnPermit
  std::vector<ExplainedLoss> losses;  // it is not decided on until these kinds are followed again
  std::optional<ExplainedQueuePlace> queue;
  // As if it were next. Of a pod that has a node: as if it were pending and not on it.
  std::optional<PlacementReport> placement;
  int64_t took_us = 0;  // how long the loop was busy with it
};

}  // namespace plimsoll

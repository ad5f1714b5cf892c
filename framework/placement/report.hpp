#pragma once
// One scheduling cycle for people: PreFilter, Filter and Score of one pod over all nodes, with
// every verdict and every score kept (Placer::report).
//
// The report is a value without pointers into the scheduler: any thread may keep and print it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/runtime/framework.hpp"

namespace plimsoll {

struct ReportRequest {
  Framework& framework;
  PodRef pod;      // as it would be tried: without a node
  PodRef on_node;  // the same pod with the node it has, which is looked at without it; null: none
  // Of the nodes that one plugin refuses for one reason, how many the plugin is asked about in its
  // own words.
  size_t texts_per_reason;
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

// Scores are in the order of PlacementReport::score_plugins.
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

  // Those that come closest to having what the pod requests first, else in the cluster's order.
  std::vector<RefusedNode> refused;
  std::vector<FittingNode> fitting;  // best first
  // The pod has a nomination and its node fits: the cycle looks at no other.
  bool nominated_node_taken = false;
  // Empty if fewer than two nodes fit: the cycle does not score then.
  std::vector<ScorePlugin> score_plugins;
  std::vector<std::string> score_skipped;  // plugins that PreScore left out
  std::string chosen;                      // where the pod would go; empty: nowhere
};

}  // namespace plimsoll

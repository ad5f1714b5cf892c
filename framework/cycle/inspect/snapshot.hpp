#pragma once
// What the scheduler knows at one moment: nodes, the pods on them, the queue. For dumps and for
// comparisons with the API server. Kubernetes: pkg/scheduler/backend/cache/debugger.
//
// Taken on the loop by sharing the immutable objects, so that it holds up nobody; made into text on
// another thread. A value without pointers into the scheduler.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/api/objects.hpp"

namespace plimsoll {

// A moment in the life of one scheduler, as its nodes are concerned.
struct StateMark {
  uint64_t changes = 0;   // how many there were before
  uint64_t node_set = 0;  // another whenever a node came or went
  // Slots of nodes that changed before and are still to be told of, the first that changed first.
  std::vector<uint32_t> untold = {};
};

// What is wanted. Of nodes, only those that changed cost the loop time, or the one.
struct StateChoice {
  bool plugins = false;  // with what plugins keep themselves
  bool strays = true;  // of these, what they keep of nodes that are not there: costs the loop text
  bool nodes = true;   // with nodes and the pods on them
  bool queue = true;
  bool kinds = true;                    // with the names of further kinds' objects
  std::string node = {};                // of the nodes, this one alone; empty: all
  std::optional<StateMark> since = {};  // of the nodes, those that changed since
  size_t most = SIZE_MAX;               // of these, so many; the mark names the others
  std::vector<std::string> first = {};  // of these, before all others
};

// What a plugin says of itself: its JSON text, or what it has copied, of which it makes the text.
class PluginState {
 public:
  using Write = std::function<std::string()>;
  PluginState() = default;
  PluginState(std::string text) : text_(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  explicit PluginState(Write write) : write_(std::move(write)) {}
  // Takes long for many nodes: not on the loop. Empty: nothing.
  [[nodiscard]] std::string text() const { return write_ ? write_() : text_; }

 private:
  std::string text_;
  Write write_;
};

struct StateSnapshot {
  struct Node {
    NodeRef node;
    uint64_t generation = 0;
    std::vector<int64_t> allocatable;  // by resource index
    std::vector<int64_t> requested;
  };
  // A pod that counts on a node: also on one whose Node object is gone.
  struct PlacedPod {
    PodRef pod;
    bool assumed = false;  // the API server has not confirmed it yet
  };
  struct QueuedPod {
    PodRef pod;
    std::string group;  // its name; empty: none
    std::string place;  // as in ExplainedQueuePlace
    uint32_t attempts = 0;
    int64_t waiting_ms = 0;     // since it was created
    int64_t queued_for_ms = 0;  // as in ExplainedQueuePlace
    int64_t backoff_left_ms = 0;
    std::vector<std::string> rejected_by;  // plugins, those that gate or wait included
  };
  // A further kind that plugins watch.
  struct Kind {
    std::string group;
    std::string version;
    std::string plural;
    bool synced = false;
    std::vector<std::string> names;  // "ns/name", or "/name" without a namespace
  };

  bool synced = false;  // false: the first lists are not complete
  bool standby = false;
  std::vector<std::string> scheduler_names;
  std::vector<std::string> resource_names;  // by resource index
  StateMark mark;
  // `nodes` and `placed` have what changed since the mark that was asked for, but for what the new
  // one has as untold. False: they have everything, since the changes from then on are not known
  // any more.
  bool changes_only = false;
  // With changes_only, if a node came or went: the names of all that there are.
  std::optional<std::vector<std::string>> names;
  std::vector<Node> nodes;
  std::vector<PlacedPod> placed;
  std::vector<QueuedPod> queued;
  std::map<std::string, Kind> kinds;  // by their resource text
  // By plugin name what those have that show their state (<plimsoll/state_source.h>); only if they
  // were asked for.
  std::map<std::string, PluginState> plugins;
  int64_t took_us = 0;  // of the loop's CPU time
};

}  // namespace plimsoll

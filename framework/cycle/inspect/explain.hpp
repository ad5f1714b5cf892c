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

#include "framework/api/objects.hpp"
#include "framework/placement/report.hpp"

namespace plimsoll {

struct ExplainRequest {
  std::string ns;
  std::string name;
  // Of the nodes that one plugin refuses for one reason, how many the plugin is asked about in its
  // own words. Asking is what takes long in a large cluster.
  size_t texts_per_reason = std::numeric_limits<size_t>::max();
  // What would become of this pod, which is not there and has a UID of its own.
  PodRef what_if = {};
};

enum class ExplainedState {
  kUnknown,          // no such pod here: it does not exist, is finished, or is another scheduler's
  kQueued,           // waits for its next attempt
  kWaitingOnPermit,  // has a node, and Permit plugins hold it
  kBinding,          // has a node; PreBind or Bind is under way, or its answer not yet watched
  kBound,
  kWhatIf,  // it is not there
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
  int64_t waiting_ms = 0;       // since it was created
  int64_t queued_for_ms = 0;    // since it last entered the queue: since its last attempt, if any
  int64_t backoff_left_ms = 0;  // before it may be tried again, whatever happens
  std::vector<ExplainedRejector> rejectors;
};

// Of a pod that waits with its PodGroup.
struct ExplainedGroup {
  std::string name;
  size_t needed = 0;   // pods; 0: the group is not known
  size_t waiting = 0;  // of its pods
  size_t placed = 0;   // that have a node
  std::string said;    // by the last attempt
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

struct Explanation {
  ExplainedState state = ExplainedState::kUnknown;
  bool synced = false;  // false: the cluster was not read completely yet, nothing else is filled in
  bool standby = false;  // another replica leads: this one schedules nothing
  // Of pods and nodes, those that are not followed: what is said is of that time.
  std::vector<ExplainedLoss> outdated;
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
  std::optional<ExplainedQueuePlace> queue;  // of a pod of a group: the group's
  std::optional<ExplainedGroup> group;
  // As if it were next. Of a pod that has a node: as if it were pending and not on it.
  std::optional<PlacementReport> placement;
  int64_t took_us = 0;  // how long the loop was busy with it
};

}  // namespace plimsoll

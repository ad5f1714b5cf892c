#pragma once
// Is what the scheduler knows what the API server has? Kubernetes: CacheComparer of
// pkg/scheduler/backend/cache/debugger.
//
// The two are never looked at in the same instant, so a difference that is found once means
// nothing: a list and a snapshot are taken again later, and only what is still different, and has
// not moved here meanwhile, counts (persisting()). Pure functions, any thread.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "framework/cycle/inspect/snapshot.hpp"

namespace plimsoll {

// What the API server has, as far as it is compared.
struct ApiListing {
  struct Object {
    std::string ns;  // empty for nodes
    std::string name;
    std::string uid;
    std::string resource_version;
  };
  struct Pod : Object {
    std::string node;
    std::string scheduler_name;
    bool terminating = false;
  };
  std::vector<Object> nodes;
  std::vector<Pod> pods;  // all but the finished ones
  // Further kinds: their resource text, and "ns/name" of each object.
  std::map<std::string, std::vector<std::string>> kinds;
  std::set<std::string> unreadable;  // UIDs: the scheduler cannot know these as they are
};

enum class StateProblem {
  kMissed,     // the API server has it, the scheduler does not
  kRedundant,  // the scheduler has it, the API server does not
  kElsewhere,  // a pod that the two have on different nodes, or that waits here and runs there
  kStale,      // the scheduler has another version of it
};
[[nodiscard]] std::string_view to_string(StateProblem problem);

struct StateDifference {
  std::string kind;    // "Node", "Pod", or a further kind's resource text
  std::string object;  // "ns/name", of nodes the name
  std::string uid;     // of nodes and pods
  StateProblem problem = StateProblem::kMissed;
  std::string here;  // node, place or version as the scheduler has it; empty: nothing
  std::string api;   // the same as the API server has it
};

// Everything in which the two differ, nodes first, sorted by name within a kind.
[[nodiscard]] std::vector<StateDifference> compare_state(const StateSnapshot& snapshot,
                                                         const ApiListing& listing);

// What is in both, and of which the scheduler has heard nothing in between.
[[nodiscard]] std::vector<StateDifference> persisting(const std::vector<StateDifference>& before,
                                                      const std::vector<StateDifference>& now);

}  // namespace plimsoll

#pragma once
// The one way into the scheduler loop. Whoever learns something (reflectors, binders, signals,
// timers) posts a message; the loop takes them in order. Messages own immutable values; nothing in
// them is shared for writing.

#include <functional>
#include <string>
#include <variant>

#include "framework/api/objects.hpp"

namespace plimsoll {

// Pods and nodes as the API server has them now. `resource` names a kind as in
// plimsoll_event_interest; pods and nodes are "pods" and "nodes".
struct PodUpserted {
  PodRef pod;
};
struct PodDeleted {
  PodRef last_known;
};  // what we last heard of it, perhaps stale
struct NodeUpserted {
  NodeRef node;
};
struct NodeDeleted {
  std::string name;
};
struct ObjectUpserted {
  RawRef object;
};
struct ObjectDeleted {
  RawRef last_known;  // its names and versions; the text is not kept
};
// The first list of a kind was delivered completely, or the kind is not served by this API server
// (CRD not installed).
struct KindSynced {
  std::string resource;
  bool served;
};
// An object that could not be decoded: skipped and counted. `error` says which field.
struct ObjectMalformed {
  std::string resource;
  std::string ns;
  std::string name;
  std::string error;
};
// Anything else that has to happen on the loop, such as the end of an API write.
struct Task {
  std::function<void()> run;
};

using Message = std::variant<PodUpserted, PodDeleted, NodeUpserted, NodeDeleted, ObjectUpserted,
                             ObjectDeleted, KindSynced, ObjectMalformed, Task>;

// Implemented by the scheduler loop.
class Inbox {
 public:
  virtual ~Inbox() = default;
  // Any thread; never blocks for long, keeps the order of one sender. Messages posted after the
  // loop stopped are dropped.
  virtual void post(Message message) = 0;
};

}  // namespace plimsoll

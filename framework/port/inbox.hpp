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
// (CRD not installed). From here on the kind counts as followed.
struct KindSynced {
  std::string resource;
  bool served;
};
// A kind whose first list was delivered is not followed any more (the connection is lost, or it is
// being listed afresh), or is again: nothing of what happened to it is missing then.
struct KindFollowed {
  std::string resource;
  bool followed;
  std::string why;      // it is not
  bool wanted = false;  // it is listed afresh because the scheduler begins to lead: no fault
};
// An object that could not be decoded: counted. `error` says which field. Of a pod, what can be
// read follows as PodUpserted (plimsoll_pod.unreadable); others are skipped.
struct ObjectMalformed {
  std::string resource;
  std::string ns;
  std::string name;
  std::string error;
};
// Anything else that has to happen on the loop, such as the end of an API write.
struct Task {
  std::function<void()> run;
  bool in_order = false;  // it may go by what was posted before it, and does not overtake that
};

using Message = std::variant<PodUpserted, PodDeleted, NodeUpserted, NodeDeleted, ObjectUpserted,
                             ObjectDeleted, KindSynced, KindFollowed, ObjectMalformed, Task>;

// Implemented by the scheduler loop.
class Inbox {
 public:
  virtual ~Inbox() = default;
  // Any thread; never blocks for long, keeps the order of one sender. Messages posted after the
  // loop stopped are dropped.
  virtual void post(Message message) = 0;
};

}  // namespace plimsoll

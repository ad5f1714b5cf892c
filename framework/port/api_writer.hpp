#pragma once
// What the scheduler writes to the API server. The informer implements it over HTTP; tests
// implement it in memory.
//
// Every call returns at once and is carried out on other threads; `done` is called exactly once, on
// any thread (the loop posts itself a Task from there). Binds never wait behind events or condition
// patches. Retries that make sense (throttling, server errors, lost responses) have happened before
// `done` hears of an error.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll {

// POST pods/NAME/binding. The API server answers 409 (kConflict) if the pod has another UID, has
// changed since that resource version, or is bound to another node.
struct BindRequest {
  std::string ns;
  std::string name;
  std::string uid;
  std::string node;
  std::vector<std::pair<std::string, std::string>>
      annotations;  // merged into the pod by the same write
  // Of the pod that is bound: whoever changes the pod makes this request void, however late it is
  // carried out. Empty: no such condition.
  std::string resource_version = {};
};

// An events.k8s.io/v1 event, mostly about a pod.
struct EventRecord {
  bool warning = false;
  std::string ns;
  std::string name;  // of the pod
  std::string uid;
  std::string resource_version;
  std::string scheduler_name;  // reportingController
  std::string reason;          // "Scheduled", "FailedScheduling", ...
  std::string action;          // "Binding", "Scheduling", ...
  std::string note;            // cut to 1024 bytes when it is written
  // Of the object that it is about.
  std::string api_version = "v1";
  std::string kind = "Pod";
};

// PATCH pods/NAME/status: condition PodScheduled=False, or status.nominatedNodeName, or both.
struct ConditionPatch {
  std::string ns;
  std::string name;
  std::string uid;
  // Of the pod that was looked at: a pod that has changed since then, above all one that was bound,
  // is not told that it could not be placed. Empty: whatever state it is in.
  std::string resource_version;
  std::string reason;   // "Unschedulable" or "SchedulerError"; empty: no condition
  std::string message;  // in full
  int64_t observed_generation = 0;
  bool set_nominated = false;
  std::string nominated_node;  // empty with set_nominated: clear it
  bool stays_false = false;    // the condition is False already: its last transition stays
};

// Any other request; paths are absolute and percent-encoded, the body is JSON.
struct ApiRequest {
  std::string method;  // "GET", "POST", "PUT", "PATCH", "DELETE"
  std::string path;
  std::string content_type;  // of the body; empty: application/json
  std::string body;
};

class ApiWriter {
 public:
  using Done = std::function<void(Result<void>)>;
  virtual ~ApiWriter() = default;
  // An error means that the pod was not bound by this request and will not be: the scheduler gives
  // its place to another pod at once. A writer that does not know goes on asking until it does.
  virtual void bind(BindRequest request, Done done) = 0;
  virtual void record_event(EventRecord event) = 0;  // best effort: dropped when the queue is full
  virtual void patch_condition(ConditionPatch patch, Done done) = 0;
  // The HTTP status and body of the answer, also of a refusal; 0 and a text if there was none.
  using Answered = std::function<void(int status, std::string_view body)>;
  virtual void request(ApiRequest request, Answered done) = 0;
};

}  // namespace plimsoll

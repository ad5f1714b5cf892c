#pragma once
// PreBind of VolumeBinding: writes what Reserve decided, one object after the other, and waits
// until the volumes are bound. Kubernetes: BindPodVolumes in
// pkg/scheduler/framework/plugins/volumebinding/binder.go.
//
// No thread waits: answers of the API server, changes of objects and a timer move a run on. Each
// write is a merge patch with the resourceVersion that was seen: it fails with a conflict if
// anybody changed the object meanwhile, and touches nothing else.
//
// Loop only, but for begin().

#include <plimsoll/host.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/builtin/volumes/reservation.hpp"
#include "plugins/builtin/volumes/storage_store.hpp"

namespace plimsoll::volumes {

class BindingRun;

class BindingRuns {
 public:
  explicit BindingRuns(const StorageStore& store);
  ~BindingRuns();

  struct Request {
    std::string pod_uid;
    std::string pod_name;
    std::shared_ptr<Reservation> reservation;
    int64_t timeout_ms;
    sdk::Token token;
    sdk::CounterMetric stage_errors;  // by operation
  };
  // Starts a run, which completes the token. Any thread.
  void begin(const sdk::Host& host, Request request);

  // The store has the object as it is now.
  void changed(const sdk::ObjectEvent& event);
  // The pod's binding is given up: a run that is under way does nothing any more.
  void abandon(std::string_view pod_uid);

 private:
  friend class BindingRun;
  using RunRef = std::shared_ptr<BindingRun>;

  void start(RunRef run);
  void look_at(const BindingRun& run, bool look);
  void check(std::string_view resource, const std::string& key);
  void tick(const sdk::Host& host);

  const StorageStore& store_;
  std::unordered_map<std::string, RunRef> runs_;                  // by UID of the pod
  std::multimap<std::string, BindingRun*, std::less<>> looking_;  // by kind and key: who waits
  bool has_timer_ = false;
};

}  // namespace plimsoll::volumes

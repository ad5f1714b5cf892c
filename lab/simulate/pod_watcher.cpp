#include "lab/simulate/pod_watcher.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "lab/simulate/placements.hpp"

namespace plimsoll::cli {
namespace {

// Whether the pod was found unschedulable, and preemption is not making room for it.
bool is_refused(const sandbox::StoredObject& object) {
  // Most pods have no condition yet and need no parsing.
  if (object.text.find("PodScheduled") == std::string::npos) return false;
  const nlohmann::json pod = object.parse();
  return !placement_of(pod).message.empty() &&
         pod.at("status").value("nominatedNodeName", "").empty();
}

}  // namespace

PodWatcher::PodWatcher(sandbox::ObjectStore& store, std::set<std::string> scheduler_names,
                       std::set<std::string> bound_before, std::function<double()> clock)
    : store_(store),
      scheduler_names_(std::move(scheduler_names)),
      bound_before_(std::move(bound_before)),
      clock_(std::move(clock)),
      version_(store.resource_version()),
      subscription_(store.subscribe(sandbox::kPods, [this] { wake(); })) {}

bool PodWatcher::follow(std::chrono::milliseconds timeout) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [this] { return dirty_; });
    if (!dirty_) return false;
    dirty_ = false;
  }
  bool more = true;
  while (more) {
    const auto batch = store_.events_after(sandbox::kPods, version_, 1000);
    if (!batch) {  // the history is shorter than the gap
      relist();
      return true;
    }
    for (const sandbox::StoreEvent& event : batch->events) take(event);
    version_ = batch->position;
    more = batch->more;
  }
  return true;
}

std::optional<PodTimes> PodWatcher::times(const std::string& uid) const {
  const auto found = created_.find(uid);
  if (found == created_.end()) return std::nullopt;
  return found->second;
}

double PodWatcher::seconds() const {
  if (!first_created_ || !last_bound_) return 0;
  return *last_bound_ - *first_created_;
}

void PodWatcher::expect(const sandbox::StoredObject& pod) {
  take(pod, true);
}

void PodWatcher::wake() {
  {
    const std::lock_guard lock(mutex_);
    dirty_ = true;
  }
  changed_.notify_one();
}

void PodWatcher::came(const std::string& uid) {
  const double now = clock_();
  if (!created_.try_emplace(uid, PodTimes{now, std::nullopt}).second) return;
  if (!first_created_) first_created_ = now;
  last_created_ = now;
}

void PodWatcher::take(const sandbox::StoreEvent& event) {
  if (event.type == sandbox::EventType::kDeleted) {
    const std::string& uid = event.object->uid;
    const std::string& node = event.object->field("spec.nodeName");
    const bool preempted = event.object->text.find("PreemptionByScheduler") != std::string::npos;
    if (preempted && !node.empty()) {
      evicted_.push_back(
          {event.object->key.ns + "/" + event.object->key.name, node, clock_(), times(uid)});
    }
    const auto gone = created_.find(uid);
    if (gone != created_.end()) {
      if (gone->second.bound) --bound_;
      created_.erase(gone);
    }
    refused_.erase(uid);
    return;
  }
  take(*event.object, event.type == sandbox::EventType::kAdded);
}

void PodWatcher::take(const sandbox::StoredObject& object, bool arrived) {
  if (bound_before_.contains(object.uid)) return;
  if (!scheduler_names_.contains(object.field("spec.schedulerName"))) return;
  if (arrived) came(object.uid);
  if (!object.field("spec.nodeName").empty()) {
    const auto pod = created_.find(object.uid);
    if (pod != created_.end() && !pod->second.bound) {
      pod->second.bound = last_bound_ = clock_();
      ++bound_;
    }
    refused_.erase(object.uid);
  } else if (is_refused(object)) {
    refused_.insert(object.uid);
  } else {
    refused_.erase(object.uid);  // preemption makes room for it
  }
}

void PodWatcher::relist() {
  const auto pods = store_.list(sandbox::kPods);
  if (!pods) return;
  version_ = pods->resource_version;
  for (const sandbox::ObjectPtr& object : pods->objects) take(*object, true);
}

}  // namespace plimsoll::cli

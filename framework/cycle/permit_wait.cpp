// Pods that wait on Permit. Kubernetes: waitingPod in
// pkg/scheduler/framework/runtime/waiting_pods_map.go, WaitOnPermit in framework.go. Nothing
// blocks: a waiting pod is an attempt with a timer for each plugin that has not allowed it yet.

#include <utility>

#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/go_duration.hpp"
#include "framework/cycle/scheduler.hpp"

namespace plimsoll {

void Scheduler::begin_wait(Attempt& attempt) {
  const std::string uid = attempt.uid();
  waiting_.insert(uid);
  if (metrics_) attempt.wait_start = metrics::Clock::now();
  for (auto& [plugin, wait] : attempt.waits) {
    wait.timer = timers_.emplace(now_ms() + wait.timeout_ms,
                                 [this, uid, name = plugin] { expire(uid, name); });
  }
}

void Scheduler::end_wait(Attempt& attempt) {
  for (const auto& [plugin, wait] : attempt.waits) {
    if (wait.timer != timers_.end()) timers_.erase(wait.timer);
  }
  attempt.waits.clear();
  waiting_.erase(attempt.uid());
}

// waitingPod.Allow: the last one lets it go.
void Scheduler::allow(const std::string& uid, const std::string& plugin) {
  const auto found = attempts_.find(uid);
  if (found == attempts_.end()) return;
  Attempt& attempt = *found->second;
  const auto wait = attempt.waits.find(plugin);
  if (wait == attempt.waits.end()) return;
  timers_.erase(wait->second.timer);
  attempt.waits.erase(wait);
  if (!attempt.waits.empty()) return;
  waiting_.erase(uid);
  if (metrics_) {
    metrics_->observe_permit_wait(PLIMSOLL_SUCCESS, metrics::seconds_since(attempt.wait_start));
  }
  proceed(attempt);
}

// waitingPod.Reject, by any plugin, or by nobody ("") if the pod itself is gone.
void Scheduler::reject(const std::string& uid, const std::string& plugin,
                       const std::string& message) {
  const auto found = attempts_.find(uid);
  if (found == attempts_.end() || !found->second->waiting()) return;
  const Attempt& attempt = *found->second;
  if (attempt.waits.empty() && !plugin.empty()) return;  // all have allowed it
  if (metrics_ && !attempt.waits.empty()) {
    metrics_->observe_permit_wait(PLIMSOLL_UNSCHEDULABLE,
                                  metrics::seconds_since(attempt.wait_start));
  }
  Status status;
  status.code = Code::kUnschedulable;
  for (PluginIndex i = 0; i < attempt.framework.plugin_count(); ++i) {
    if (attempt.framework.plugin_name(i) == plugin) status.plugin_index = i;
  }
  Diagnosis diagnosis;
  diagnosis.node_count = 1;
  diagnosis.texts.push_back(message);
  note_rejection(diagnosis, status);
  binding_failed(uid, status, std::move(diagnosis));
}

void Scheduler::expire(const std::string& uid, const std::string& plugin) {
  Attempt& attempt = *attempts_.at(uid);
  const auto wait = attempt.waits.find(plugin);
  const int64_t timeout_ms = wait->second.timeout_ms;
  wait->second.timer = timers_.end();  // it is the one that runs
  reject(
      uid, plugin,
      "rejected due to timeout after waiting " + go_duration(timeout_ms) + " at plugin " + plugin);
}

// The scheduler stops: what was reserved is given back, and nothing is written about it. Whoever
// takes over schedules these pods from the beginning.
void Scheduler::drop_waiting_pods() {
  std::vector<std::string> uids;
  for (const auto& [uid, attempt] : attempts_) {
    if (attempt->waiting()) uids.push_back(uid);
  }
  for (const std::string& uid : uids) {
    const std::unique_ptr<Attempt> attempt = std::move(attempts_.at(uid));
    attempts_.erase(uid);
    end_wait(*attempt);
    undo(*attempt);
    queue_.done(uid);
  }
}

}  // namespace plimsoll

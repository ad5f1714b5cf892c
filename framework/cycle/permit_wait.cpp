// Pods that wait on Permit. Kubernetes: waitingPod in
// pkg/scheduler/framework/runtime/waiting_pods_map.go, WaitOnPermit in framework.go. Nothing
// blocks: a waiting pod is an attempt with a timer for each plugin that has not allowed it yet.

#include <plimsoll/duration.hpp>

#include <utility>

#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/bindings.hpp"

namespace plimsoll {

void Bindings::begin_wait(Attempt& attempt) {
  const std::string uid = attempt.uid();
  waiting_.insert(uid);
  if (state_.metrics) attempt.wait_start = metrics::Clock::now();
  for (auto& [plugin, wait] : attempt.waits) {
    wait.timer = state_.timers.emplace(state_.now_ms() + wait.timeout_ms,
                                       [this, uid, name = plugin] { expire(uid, name); });
  }
}

void Bindings::end_wait(Attempt& attempt) {
  for (const auto& [plugin, wait] : attempt.waits) {
    if (wait.timer != state_.timers.end()) state_.timers.erase(wait.timer);
  }
  attempt.waits.clear();
  waiting_.erase(attempt.uid());
}

// A plugin may answer before all of the pod's group have been asked: it counts once they wait.
void Bindings::defer_answer(const std::string& uid, std::function<void()> answer) {
  const PodRef pod = state_.cluster.pod(uid);
  if (pod && state_.is_decided_on(*pod)) state_.deferred.push_back(Task{std::move(answer)});
}

// waitingPod.Allow: the last one lets it go.
void Bindings::allow(const std::string& uid, const std::string& plugin) {
  const auto found = attempts_.find(uid);
  if (found == attempts_.end())
    return defer_answer(uid, [this, uid, plugin] { allow(uid, plugin); });
  Attempt& attempt = *found->second;
  const auto wait = attempt.waits.find(plugin);
  if (wait == attempt.waits.end()) return;
  state_.timers.erase(wait->second.timer);
  attempt.waits.erase(wait);
  if (!attempt.waits.empty()) return;
  waiting_.erase(uid);
  if (state_.metrics) {
    state_.metrics->observe_permit_wait(PLIMSOLL_SUCCESS,
                                        metrics::seconds_since(attempt.wait_start));
  }
  proceed(attempt);
}

// waitingPod.Reject, by any plugin, or by nobody ("") if the pod itself is gone.
void Bindings::reject(const std::string& uid, const std::string& plugin,
                      const std::string& message) {
  const auto found = attempts_.find(uid);
  if (found == attempts_.end())
    return defer_answer(uid, [this, uid, plugin, message] { reject(uid, plugin, message); });
  if (!found->second->waiting()) return;
  const Attempt& attempt = *found->second;
  if (attempt.waits.empty() && !plugin.empty()) return;  // all have allowed it
  if (state_.metrics && !attempt.waits.empty()) {
    state_.metrics->observe_permit_wait(PLIMSOLL_UNSCHEDULABLE,
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
  diagnosis.add_rejector(status);
  binding_failed(uid, status, std::move(diagnosis));
}

void Bindings::expire(const std::string& uid, const std::string& plugin) {
  Attempt& attempt = *attempts_.at(uid);
  const auto wait = attempt.waits.find(plugin);
  const int64_t timeout_ms = wait->second.timeout_ms;
  wait->second.timer = state_.timers.end();  // it is the one that runs
  reject(uid, plugin,
         "rejected due to timeout after waiting " +
             sdk::format_duration(std::chrono::milliseconds(timeout_ms)) + " at plugin " + plugin);
}

// The scheduler stops: what was reserved is given back, and nothing is written about it. Whoever
// takes over schedules these pods from the beginning.
void Bindings::drop_waiting() {
  std::vector<std::string> uids;
  for (const auto& [uid, attempt] : attempts_) {
    if (attempt->waiting()) uids.push_back(uid);
  }
  for (const std::string& uid : uids) {
    const std::unique_ptr<Attempt> attempt = std::move(attempts_.at(uid));
    attempts_.erase(uid);
    end_wait(*attempt);
    state_.undo(*attempt);
    state_.queue.done(uid);
  }
}

std::vector<WaitingPod> Bindings::waiting_pods() const {
  std::vector<WaitingPod> result;
  for (const std::string& uid : waiting_) {
    const Attempt& attempt = *attempts_.at(uid);
    WaitingPod& waiting = result.emplace_back();
    waiting.pod = attempt.assumed.get();
    waiting.node = view(attempt.assumed->node_name);
    for (const auto& [plugin, wait] : attempt.waits) waiting.pending_plugins.push_back(plugin);
  }
  return result;
}

bool Bindings::is_cancelled(std::string_view pod_uid) const {
  const Attempt* attempt = find(pod_uid);
  return attempt != nullptr && attempt->gate->cancelled();
}

bool Bindings::cancel(std::string_view pod_uid, std::string_view message) {
  const std::string uid(pod_uid);
  const auto found = attempts_.find(uid);
  if (found == attempts_.end() || !found->second->gate->cancel(message)) return false;
  // Not from within the plugin's own call: plugins hear of it.
  state_.inbox.post(Task{[this, uid, gate = found->second->gate] {
    Attempt* attempt = find(uid);
    if (attempt == nullptr || attempt->gate != gate) return;  // a later attempt of the same pod
    if (attempt->waiting()) {                                 // waitingPod.Preempt
      binding_failed(uid, error_status("waiting on permit for pod: " + gate->message()));
    } else if (state_.forget(*attempt->assumed)) {
      // Its PreBind may take minutes to end, and only then undo() comes; it will not be bound.
      state_.queue.move_all(assigned_pod_deleted(attempt->assumed), state_.now_ms());
    }
  }});
  return true;
}

}  // namespace plimsoll

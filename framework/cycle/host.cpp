// What plugins ask of the scheduler (HostBackend).

#include <chrono>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/queue_metrics.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/cycle/timing.hpp"
#include "framework/cycle/what_if.hpp"

namespace plimsoll {
// ---- HostBackend; loop only

const plimsoll_node_info* Scheduler::node_by_name(std::string_view node_name) {
  const NodeInfo* info = cluster_.node(node_name);
  return info == nullptr ? nullptr : info->abi();
}

const plimsoll_node_info* Scheduler::node_by_slot(uint32_t slot) {
  const NodeInfo* info = cluster_.node_at(slot);
  return info == nullptr ? nullptr : info->abi();
}

uint32_t Scheduler::slot_count() {
  return cluster_.slot_count();
}

void Scheduler::touch_node(uint32_t slot, uint32_t aspects) {
  cluster_.touch(slot, aspects);
}

Result<void> Scheduler::watch(std::string_view group, std::string_view version,
                              std::string_view plural) {
  WantedKind kind{std::string(group), std::string(version), std::string(plural)};
  for (const WantedKind& known : wanted_kinds_) {
    if (known.resource() == kind.resource()) return {};
  }
  if (kind.group.empty() && (plural == "pods" || plural == "nodes")) {
    return fail(ErrorCode::kInvalid, "watch " + std::string(plural) +
                                         ": plugins hear of them through pod_event and node_event");
  }
  // One that is asked for late, because another kind is not served, say, stops only pods that rest
  // on it.
  if (!synced_) {
    unsynced_kinds_.insert(kind.resource());
  } else {
    lost_kinds_.lost(kind.resource(), "it is being listed for the first time", now_ms());
  }
  if (started_ && kind_wanted_) kind_wanted_(kind);
  wanted_kinds_.push_back(std::move(kind));
  return {};
}

void Scheduler::requeue_rejected(std::string_view plugin) {
  ClusterEvent event;
  event.resource = kResourceRequeue;
  event.actions = PLIMSOLL_ACTION_ALL;
  event.label = plugin;
  // Not from within the plugin's own call: the queue may ask it for a hint.
  post(Task{[this, event = std::move(event)] { queue_.move_all(event, now_ms()); }});
}

void Scheduler::emit_event(std::string_view scheduler_name, const plimsoll_pod& pod, bool warning,
                           std::string_view reason, std::string_view action,
                           std::string_view note) {
  EventRecord event;
  event.warning = warning;
  event.ns = view(pod.meta.ns);
  event.name = view(pod.meta.name);
  event.uid = view(pod.meta.uid);
  event.resource_version = view(pod.meta.resource_version);
  event.scheduler_name = scheduler_name;
  event.reason = reason;
  event.action = action;
  event.note = note;
  writer_.record_event(std::move(event));
}

const plimsoll_pod* Scheduler::pod_by_uid(std::string_view uid) {
  if (const PodRef placed = cluster_.pod(uid)) return placed.get();
  return queue_.find(uid).get();
}

std::vector<WaitingPod> Scheduler::waiting_pods() {
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

std::unique_ptr<WhatIf> Scheduler::what_if(const CycleContext& cycle, const plimsoll_pod& pod,
                                           uint32_t slot) {
  const NodeInfo* node = cluster_.node_at(slot);
  if (node == nullptr) return nullptr;
  for (const auto& framework : frameworks_) {
    if (framework.get() == cycle.framework) {
      return make_what_if(*framework, cycle, pod, *node, nominator_);
    }
  }
  return nullptr;
}

void Scheduler::nominate(const plimsoll_pod& pod, std::string_view node_name) {
  const PodRef pending = queue_.find(view(pod.meta.uid));
  if (pending) nominator_.add(pending, Nominating::to(std::string(node_name)));
}

std::vector<const plimsoll_pod*> Scheduler::nominated_pods(std::string_view node_name) {
  std::vector<const plimsoll_pod*> pods;
  for (const PodRef& pod : nominator_.pods_of(node_name)) pods.push_back(pod.get());
  return pods;
}

// ---- HostBackend; any thread

void Scheduler::allow_waiting(std::string_view plugin, std::string_view pod_uid) {
  post(Task{
      [this, plugin = std::string(plugin), uid = std::string(pod_uid)] { allow(uid, plugin); }});
}

void Scheduler::reject_waiting(std::string_view plugin, std::string_view pod_uid,
                               std::string_view message) {
  post(Task{[this, plugin = std::string(plugin), uid = std::string(pod_uid),
             message = std::string(message)] { reject(uid, plugin, message); }});
}

void Scheduler::post_binding(BindingPost request, std::function<void(Result<void>)> done) {
  writer_.bind({std::move(request.ns), std::move(request.name), std::move(request.uid),
                std::move(request.node), std::move(request.annotations),
                std::move(request.resource_version)},
               std::move(done));
}

bool Scheduler::cancel_binding(std::string_view pod_uid, std::string_view message) {
  const std::string uid(pod_uid);
  const auto found = attempts_.find(uid);
  if (found == attempts_.end() || !found->second->gate->cancel(message)) return false;
  if (found->second->waiting()) {
    // waitingPod.Preempt. Not from within the plugin's own call: plugins hear of it by unreserve.
    post(Task{[this, uid] {
      const auto waiting = attempts_.find(uid);
      if (waiting == attempts_.end() || !waiting->second->waiting()) return;
      if (!waiting->second->gate->cancelled()) return;  // a later attempt of the same pod
      binding_failed(
          uid, error_status("waiting on permit for pod: " + waiting->second->gate->message()));
    }});
  }
  return true;
}

void Scheduler::activate(std::string_view pod_uid) {
  // PodsToActivate: what is asked for within a scheduling cycle is done when that has succeeded.
  if (loop_thread_.load() == std::this_thread::get_id() && current_ != nullptr) {
    current_->to_activate.emplace_back(pod_uid);
    return;
  }
  post(Task{[this, uid = std::string(pod_uid)] { queue_.activate(uid, now_ms()); }});
}

void Scheduler::run_on_loop(int64_t delay_ms, std::function<void()> task) {
  if (delay_ms <= 0) return post(Task{std::move(task)});
  post(Task{[this, due = now_ms() + delay_ms, task = std::move(task)]() mutable {
    timers_.emplace(due, std::move(task));
  }});
}

void Scheduler::api_request(PluginRequest request, ApiAnswer done) {
  writer_.request({std::move(request.method), std::move(request.path),
                   std::move(request.content_type), std::move(request.body)},
                  std::move(done));
}

// Time of day that never steps back: a corrected clock must not freeze backoffs and deadlines.
int64_t Scheduler::now_ms() {
  if (options_.clock) return options_.clock();
  return clock_offset_ms_ + std::chrono::duration_cast<std::chrono::milliseconds>(
                                std::chrono::steady_clock::now().time_since_epoch())
                                .count();
}

Framework* Scheduler::framework_for(const plimsoll_pod& pod) {
  return policy_.framework_for(pod);
}

}  // namespace plimsoll

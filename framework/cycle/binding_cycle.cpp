// From Permit to the Binding. Kubernetes: bindingCycle and handleBindingCycleError in
// pkg/scheduler/schedule_one.go, waitingPod in pkg/scheduler/framework/runtime/waiting_pods_map.go.

#include <optional>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/binder_pool.hpp"
#include "framework/cycle/go_duration.hpp"
#include "framework/cycle/scheduler.hpp"

namespace plimsoll {

void Scheduler::expire_waiting_pods() {
  if (waiting_.empty()) return;
  const int64_t now = now_ms();
  std::vector<std::pair<std::string, std::string>> expired;  // UID and plugin
  for (const std::string& uid : waiting_) {
    for (const auto& [plugin, deadline] : attempts_.at(uid)->waits) {
      if (deadline <= now) {
        expired.emplace_back(uid, plugin);
        break;
      }
    }
  }
  for (const auto& [uid, plugin] : expired) {
    const int64_t timeout = attempts_.at(uid)->wait_timeouts_ms[plugin];
    resolve_waiting(
        uid, plugin,
        "rejected due to timeout after waiting " + go_duration(timeout) + " at plugin " + plugin);
  }
}

void Scheduler::resolve_waiting(const std::string& uid, const std::string& plugin,
                                std::optional<std::string> rejected_because) {
  const auto found = attempts_.find(uid);
  if (found == attempts_.end() || !found->second->waiting()) return;
  if (!rejected_because) {
    found->second->waits.erase(plugin);
    if (found->second->waits.empty()) start_binding(*found->second);
    return;
  }
  const std::unique_ptr<Attempt> attempt = std::move(found->second);
  attempts_.erase(found);
  waiting_.erase(uid);
  undo(*attempt);
  Status status;
  status.code = Code::kUnschedulable;
  for (PluginIndex i = 0; i < attempt->framework.plugin_count(); ++i) {
    if (attempt->framework.plugin_name(i) == plugin) status.plugin_index = i;
  }
  Diagnosis diagnosis;
  diagnosis.node_count = 1;
  diagnosis.texts.push_back(std::move(*rejected_because));
  note_rejection(diagnosis, status);
  fail_attempt(*attempt, status, std::move(diagnosis));
  queue_.move_all(assigned_pod_deleted(attempt->assumed), now_ms(), uid);
}

void Scheduler::start_binding(Attempt& attempt) {
  const std::string uid = attempt.uid();
  attempt.binding = true;
  waiting_.erase(uid);
  queue_.done(uid);
  const std::string_view node_name = view(attempt.assumed->node_name);
  Status status;
  if (cluster_.node(node_name) == nullptr) {  // it may have waited on Permit for minutes
    status = error_status("node " + std::string(node_name) + " is gone");
  } else {
    status = attempt.framework.run_pre_bind_pre_flight(*attempt.cycle, *attempt.assumed, node_name);
  }
  if (status.is_error()) {
    binding_ended(uid, status);
    return;
  }
  attempt.cycle->begin_binding();
  const BindTarget target{attempt.cycle, attempt.assumed,
                          std::string(view(attempt.assumed->node_name))};
  Framework* framework = &attempt.framework;
  const auto on_binder = [this](std::function<void()> job) { binders_->submit(std::move(job)); };
  const auto ended = [this, uid](Status result) {
    post(Task{[this, uid, result = std::move(result)] { binding_ended(uid, result); }});
  };
  // The answer arrives on the writer's thread, which PostBind must not hold up.
  const auto bound = [framework, target, ended, on_binder](Status result) {
    if (!result.ok() || framework->at(ExtensionPoint::kPostBind).empty()) {
      ended(std::move(result));
      return;
    }
    on_binder([framework, target, ended] {
      framework->run_post_bind(target);
      ended({});
    });
  };
  framework->run_pre_binds(target, on_binder, [=](Status result) {
    if (!result.ok()) {
      ended(std::move(result));
    } else {
      framework->run_binds(target, on_binder, bound);
    }
  });
}

void Scheduler::binding_ended(const std::string& uid, const Status& status) {
  const auto found = attempts_.find(uid);
  if (found == attempts_.end()) return;
  const std::unique_ptr<Attempt> attempt = std::move(found->second);
  attempts_.erase(found);
  const plimsoll_pod& pod = *attempt->assumed;
  if (status.ok()) {
    ++counters_.scheduled;
    queue_.forget(uid);
    const std::string node(view(pod.node_name));
    log_debug("pod bound", {{"pod", full_name(pod)}, {"node", node}});
    emit_event(attempt->framework.scheduler_name(), pod, false, "Scheduled", "Binding",
               "Successfully assigned " + full_name(pod) + " to " + node);
    return;
  }
  ++counters_.bind_errors;
  undo(*attempt);
  if (attempt->deleted || attempt->seen_bound) {
    queue_.forget(uid);
  } else {
    Diagnosis diagnosis;
    diagnosis.node_count = 1;
    if (status.rejected()) {
      note_rejection(diagnosis, status);
      diagnosis.texts.push_back(status.message(environment_.reasons));
    }
    queue_.restore(attempt->current(), diagnosis.rejectors, now_ms());
    report_failure(*attempt->current(), status.rejected(),
                   status.rejected() ? fit_error_message(diagnosis, environment_.reasons)
                                     : status.message(environment_.reasons));
  }
  if (!attempt->seen_bound) {
    queue_.move_all(assigned_pod_deleted(attempt->assumed), now_ms(), uid);
  }
}

}  // namespace plimsoll

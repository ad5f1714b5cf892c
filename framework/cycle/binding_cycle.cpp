// From a reserved node to the Binding. Kubernetes: bindingCycle and handleBindingCycleError in
// pkg/scheduler/schedule_one.go.
//
//   begin_binding_cycle: PreBindPreFlight, status.nominatedNodeName if it may take a while
//   proceed:             once all Permit plugins allow it
//   bind:                Done, then on binder threads PreBind, Bind, PostBind
//   binding_ended, binding_failed: back on the loop

#include <utility>

#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/binder_pool.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/cycle/timing.hpp"

namespace plimsoll {

void Scheduler::begin_binding_cycle(Attempt& attempt) {
  current_ = nullptr;  // the scheduling cycle has succeeded
  for (const std::string& uid : std::exchange(attempt.to_activate, {})) {
    queue_.activate(uid, now_ms());
  }
  const bool waits = !attempt.waits.empty();
  if (waits) begin_wait(attempt);
  const Status flight = timed(attempt.framework, metrics::Point::kPreBindPreFlight, [&] {
    return attempt.framework.run_pre_bind_pre_flight(*attempt.cycle, *attempt.assumed,
                                                     view(attempt.assumed->node_name));
  });
  if (flight.is_error()) return binding_failed(attempt.uid(), flight);
  if (flight.ok() || waits) write_nomination(attempt);
  proceed(attempt);
}

// NominatedNodeNameForExpectation: others, the cluster autoscaler above all, learn where the pod is
// going to be, if that takes longer than a bind does. Nothing waits for it: if Bind comes first, a
// writer drops it, or the API server refuses it for its old resource version.
void Scheduler::write_nomination(Attempt& attempt) {
  const plimsoll_pod& pod = *attempt.pod;
  const std::string_view node = view(attempt.assumed->node_name);
  if (view(pod.nominated_node_name) == node) return;
  ConditionPatch patch;
  patch.ns = view(pod.meta.ns);
  patch.name = view(pod.meta.name);
  patch.uid = view(pod.meta.uid);
  patch.resource_version = view(pod.meta.resource_version);
  patch.set_nominated = true;
  patch.nominated_node = node;
  attempt.nominated = true;
  writer_.patch_condition(std::move(patch), [name = full_name(pod)](const Result<void>& written) {
    if (!written) {  // not worth failing for
      log_warn("the nominated node could not be written",
               {{"pod", name}, {"error", written.error().message}});
    }
  });
}

void Scheduler::proceed(Attempt& attempt) {
  const bool ready = attempt.waiting() && attempt.waits.empty();
  if (!ready || attempt.gate->cancelled()) return;  // cancel_binding() has seen to the rest
  // It may have waited on Permit for minutes.
  if (waits_for_kinds(attempt)) return;
  const std::string_view node_name = view(attempt.assumed->node_name);
  if (cluster_.node(node_name, attempt.slot) == nullptr) {
    return binding_failed(attempt.uid(),
                          error_status("node " + std::string(node_name) + " is gone"));
  }
  bind(attempt);
}

// The attempt stays where it is until the loop has heard that its binding has ended, so the steps
// get along with a pointer to it.
void Scheduler::bind(Attempt& attempt) {
  attempt.binding = true;
  attempt.cycle->pod_version = view(attempt.current()->meta.resource_version);
  queue_.done(view(attempt.pod->meta.uid));
  attempt.step.emplace(attempt.framework.metrics(), metrics::Point::kPreBind);
  attempt.framework.run_pre_binds(attempt.target(), on_binder_, [this, of = &attempt](Status s) {
    of->step->end(code_of(s));
    if (!s.ok()) return post_end(*of, std::move(s));
    run_binds(*of);
  });
}

void Scheduler::run_binds(Attempt& attempt) {
  attempt.step.emplace(attempt.framework.metrics(), metrics::Point::kBind);
  attempt.framework.run_binds(attempt.target(), on_binder_, [this, of = &attempt](Status s) {
    of->step->end(code_of(s));
    // The answer arrives on the writer's thread, which PostBind must not hold up.
    const bool last = !s.ok() || of->framework.at(ExtensionPoint::kPostBind).empty();
    if (last) return post_end(*of, std::move(s));
    on_binder_([this, of] { run_post_bind(*of); });
  });
}

void Scheduler::run_post_bind(Attempt& attempt) {
  timed(attempt.framework, metrics::Point::kPostBind,
        [&] { attempt.framework.run_post_bind(attempt.target()); });
  post_end(attempt, {});
}

void Scheduler::post_end(Attempt& attempt, Status status) {
  if (status.ok()) return post(Task{[this, of = &attempt] { binding_ended(*of, {}); }});
  post(Task{[this, of = &attempt, why = std::move(status)] { binding_ended(*of, why); }});
}

void Scheduler::binding_ended(Attempt& ended, Status status) {
  if (!status.ok()) {
    ++counters_.bind_errors;
    if (status.code == Code::kSkip) status = error_status("all Bind plugins skipped the pod");
    return binding_failed(ended.uid(), status);
  }
  const std::string_view uid = view(ended.pod->meta.uid);  // the pod stays as long as the attempt
  const auto found = attempts_.find(uid);
  const std::unique_ptr<Attempt> attempt = std::move(found->second);
  attempts_.erase(found);
  const plimsoll_pod& pod = *attempt->assumed;
  ++counters_.scheduled;
  queue_.forget(uid);
  attempt->count(metrics::AttemptResult::kScheduled);
  if (metrics_) {
    const auto since_first = static_cast<double>(now_ms() - attempt->first_attempt_ms) / 1000;
    metrics_->observe_scheduled(attempt->number, since_first, attempt->flushed);
  }
  const std::string_view node = view(pod.node_name);
  if (log_enabled(LogLevel::kDebug)) {
    log_debug("pod bound", {{"pod", full_name(pod)},
                            {"node", node},
                            {"profile", attempt->framework.scheduler_name()}});
  }
  std::string note = "Successfully assigned ";
  note.append(view(pod.meta.ns)).append("/").append(view(pod.meta.name));
  note.append(" to ").append(node);
  emit_event(attempt->framework.scheduler_name(), pod, false, "Scheduled", "Binding", note);
}

// `diagnosis`: of a rejection that counts as a FitError, which those of PreBind and Bind do not:
// a pod that fails there is tried again after an error backoff, whatever events come.
void Scheduler::binding_failed(const std::string& uid, const Status& status,
                               std::optional<Diagnosis> diagnosis) {
  const auto found = attempts_.find(uid);
  const std::unique_ptr<Attempt> attempt = std::move(found->second);
  attempts_.erase(found);
  attempt->count(status.rejected() ? metrics::AttemptResult::kUnschedulable
                                   : metrics::AttemptResult::kError);
  end_wait(*attempt);
  undo(*attempt);
  // To all others, an assumed pod that is forgotten is a pod that was deleted. One that was
  // rejected must not be woken by that itself, so it is told last then.
  const bool tell = !attempt->seen_bound;
  const ClusterEvent freed = assigned_pod_deleted(attempt->assumed);
  if (tell && !status.rejected()) queue_.move_all(freed, now_ms(), {});
  if (attempt->deleted || attempt->seen_bound) {
    queue_.done(uid);
    queue_.forget(uid);
  } else {
    const PodRef pod = attempt->current();
    if (attempt->binding) {
      queue_.restore(pod, {}, now_ms());
    } else if (diagnosis) {
      queue_.reject(uid, diagnosis->rejectors, diagnosis->pending, now_ms());
    } else {
      queue_.fail(uid, now_ms());
    }
    nominator_.add(pod, Nominating::clear());
    report_failure(*pod, status.rejected(),
                   diagnosis ? fit_error_message(*diagnosis, environment_.reasons)
                             : status.message(environment_.reasons),
                   Nominating::clear(),
                   attempt->nominated || attempt->nominated_to != view(pod->nominated_node_name));
  }
  if (tell && status.rejected()) queue_.move_all(freed, now_ms(), uid);
}

}  // namespace plimsoll

// From a reserved node to the Binding. Kubernetes: bindingCycle and handleBindingCycleError in
// pkg/scheduler/schedule_one.go.
//
//   begin:               PreBindPreFlight, status.nominatedNodeName if it may take a while
//   proceed:             once all Permit plugins allow it
//   bind:                Done, then on binder threads PreBind, Bind, PostBind
//   binding_ended, binding_failed: back on the loop

#include <algorithm>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/bindings.hpp"
#include "framework/cycle/extender_binding.hpp"
#include "framework/placement/timing.hpp"

namespace plimsoll {

Bindings::Bindings(LoopState& state)
    : state_(state),
      on_binder_([this](std::function<void()> job) {
        if (state_.loop_thread.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
          for_binders_.push_back(std::move(job));
        } else {
          binders_.submit(std::move(job));
        }
      }),
      binders_(state.options.binder_threads) {}

Bindings::~Bindings() = default;

Attempt* Bindings::find(std::string_view uid) const {
  const auto found = attempts_.find(uid);
  return found == attempts_.end() ? nullptr : found->second.get();
}

bool Bindings::any_under_way() const {
  return std::any_of(attempts_.begin(), attempts_.end(),
                     [](const auto& entry) { return entry.second->binding; });
}

// Several at once: each time a thread may have to be woken.
void Bindings::hand_over() {
  if (!for_binders_.empty()) binders_.submit_all(for_binders_);
}

void Bindings::begin(std::unique_ptr<Attempt> begun) {
  const std::string uid = begun->uid();
  Attempt& attempt = *attempts_.insert_or_assign(uid, std::move(begun)).first->second;
  state_.current = nullptr;  // the scheduling cycle has succeeded
  for (const std::string& woken : std::exchange(attempt.to_activate, {})) {
    state_.queue.activate(woken, state_.now_ms());
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
// going to be, if that takes longer than a bind does.
void Bindings::write_nomination(Attempt& attempt) {
  const std::string_view node = view(attempt.assumed->node_name);
  if (view(attempt.pod->nominated_node_name) == node) return;
  attempt.nominated = true;
  state_.write_nomination(*attempt.pod, node);
}

void Bindings::proceed(Attempt& attempt) {
  const bool ready = attempt.waiting() && attempt.waits.empty();
  if (!ready || attempt.gate->cancelled()) return;  // cancel_binding() has seen to the rest
  // It may have waited on Permit for minutes.
  if (auto missing = state_.missing_kinds(attempt)) {
    return binding_failed(attempt.uid(), missing->status, std::move(missing->diagnosis));
  }
  const std::string_view node_name = view(attempt.assumed->node_name);
  if (state_.cluster.node(node_name, attempt.slot) == nullptr) {
    return binding_failed(attempt.uid(),
                          error_status("node " + std::string(node_name) + " is gone"));
  }
  bind(attempt);
}

// The loop keeps the attempt until it receives the binding's end, so the steps may hold a plain
// pointer.
void Bindings::bind(Attempt& attempt) {
  attempt.binding = true;
  attempt.cycle->pod_version = view(attempt.current()->meta.resource_version);
  state_.queue.done(view(attempt.pod->meta.uid));
  attempt.step.emplace(attempt.framework.metrics(), metrics::Point::kPreBind);
  attempt.framework.run_pre_binds(attempt.target(), on_binder_, [this, of = &attempt](Status s) {
    of->step->end(code_of(s));
    if (!s.ok()) return post_end(*of, std::move(s));
    run_binds(*of);
  });
}

void Bindings::run_binds(Attempt& attempt) {
  attempt.step.emplace(attempt.framework.metrics(), metrics::Point::kBind);
  const auto by_plugins = [this, of = &attempt] {
    of->framework.run_binds(of->target(), on_binder_,
                            [this, of](Status s) { bind_ended(*of, std::move(s)); });
  };
  const bool extended =
      bind_by_extender(state_, attempt.target(), [this, of = &attempt, by_plugins](Status s) {
        s.code == Code::kSkip ? by_plugins() : bind_ended(*of, std::move(s));
      });
  if (!extended) by_plugins();
}

void Bindings::bind_ended(Attempt& attempt, Status status) {
  attempt.step->end(code_of(status));
  // The answer arrives on the writer's thread, which PostBind must not hold up.
  const bool last = !status.ok() || attempt.framework.at(ExtensionPoint::kPostBind).empty();
  if (last) return post_end(attempt, std::move(status));
  on_binder_([this, of = &attempt] { run_post_bind(*of); });
}

void Bindings::run_post_bind(Attempt& attempt) {
  timed(attempt.framework, metrics::Point::kPostBind,
        [&] { attempt.framework.run_post_bind(attempt.target()); });
  post_end(attempt, {});
}

void Bindings::post_end(Attempt& attempt, Status status) {
  if (status.ok())
    return state_.inbox.post(Task{[this, of = &attempt] { binding_ended(*of, {}); }});
  state_.inbox.post(
      Task{[this, of = &attempt, why = std::move(status)] { binding_ended(*of, why); }});
}

void Bindings::binding_ended(Attempt& ended, Status status) {
  if (!status.ok()) {
    ++state_.counters.bind_errors;
    if (status.code == Code::kSkip) status = error_status("all Bind plugins skipped the pod");
    return binding_failed(ended.uid(), status);
  }
  const std::string_view uid = view(ended.pod->meta.uid);  // the pod stays as long as the attempt
  const auto found = attempts_.find(uid);
  const std::unique_ptr<Attempt> attempt = std::move(found->second);
  attempts_.erase(found);
  const plimsoll_pod& pod = *attempt->assumed;
  ++state_.counters.scheduled;
  state_.queue.forget(uid);
  attempt->count(metrics::AttemptResult::kScheduled);
  if (state_.metrics) {
    const auto since_first =
        static_cast<double>(state_.now_ms() - attempt->first_attempt_ms) / 1000;
    state_.metrics->observe_scheduled(attempt->number, since_first, attempt->flushed);
  }
  const std::string_view node = view(pod.node_name);
  if (log_enabled(LogLevel::kDebug)) {
    log_debug("pod bound", {{"pod", full_name(pod)},
                            {"node", node},
                            {"profile", attempt->framework.scheduler_name()}});
  }
  const ScheduledEvents events = state_.options.scheduled_events;
  const bool waited = attempt->number > 1;
  if (events == ScheduledEvents::kNever || (events == ScheduledEvents::kWaited && !waited)) return;
  std::string note = "Successfully assigned ";
  note.append(view(pod.meta.ns)).append("/").append(view(pod.meta.name));
  note.append(" to ").append(node);
  state_.emit_event(attempt->framework.scheduler_name(), pod, false, "Scheduled", "Binding", note);
}

// The others of a group may be bound already: the pod keeps its place for its next attempt, unless
// that is what it failed for.
Nominating Bindings::nomination_after(const Attempt& attempt, const Status& status) const {
  const std::string_view node = view(attempt.assumed->node_name);
  const bool is_to_blame = attempt.binding ? status.rejected() : status.code != Code::kPending;
  const GroupName group = state_.policy.group_of(*attempt.pod);
  if (is_to_blame || !group || !state_.policy.group(group, *attempt.pod).known)
    return Nominating::clear();
  const QueuedPod* queued = state_.queue.entry(attempt.uid());
  const bool again = queued != nullptr && queued->consecutive_errors < kMostFailuresInPlace;
  if (!again || state_.cluster.node(node, attempt.slot) == nullptr) return Nominating::clear();
  return Nominating::to(std::string(node));
}

// `diagnosis`: of a rejection that counts as a FitError, which those of PreBind and Bind do not:
// a pod that fails there is tried again after an error backoff, whatever events come.
void Bindings::binding_failed(const std::string& uid, const Status& status,
                              std::optional<Diagnosis> diagnosis) {
  const auto found = attempts_.find(uid);
  const std::unique_ptr<Attempt> attempt = std::move(found->second);
  attempts_.erase(found);
  attempt->count(status.rejected() ? metrics::AttemptResult::kUnschedulable
                                   : metrics::AttemptResult::kError);
  end_wait(*attempt);
  state_.undo(*attempt);
  // To all others, an assumed pod that is forgotten is a pod that was deleted. One that was
  // rejected must not be woken by that itself, so it is told last then.
  const bool tell = !attempt->seen_bound;
  const ClusterEvent freed = assigned_pod_deleted(attempt->assumed);
  if (tell && !status.rejected()) state_.queue.move_all(freed, state_.now_ms(), {});
  const PodRef pod = attempt->current();
  // One that is being deleted is not of its group any more.
  const bool leaves = pod->meta.deletion_ms != 0 && state_.policy.group_gate(*pod);
  if (attempt->deleted || attempt->seen_bound || leaves) {
    state_.queue.done(uid);
    state_.queue.forget(uid);
  } else {
    if (attempt->binding) {
      state_.queue.restore(pod, {}, state_.now_ms());
    } else if (diagnosis) {
      state_.queue.reject(uid, diagnosis->rejectors, diagnosis->pending, state_.now_ms());
    } else {
      state_.queue.fail(uid, state_.now_ms());
    }
    const Nominating nominating = nomination_after(*attempt, status);
    const std::string why = diagnosis ? fit_error_message(*diagnosis, state_.environment.reasons)
                                      : status.message(state_.environment.reasons);
    state_.nominate(pod, nominating);
    state_.report_failure(
        *pod, status.rejected(), why, nominating,
        attempt->nominated || attempt->nominated_to != view(pod->nominated_node_name));
    state_.queue.say(*pod, full_name(*pod) + " was not bound, and " +
                               (nominating.node.empty() ? "loses its place"
                                                        : "keeps its place on " + nominating.node) +
                               ": " + why);
  }
  if (tell && status.rejected()) state_.queue.move_all(freed, state_.now_ms(), uid);
}

}  // namespace plimsoll

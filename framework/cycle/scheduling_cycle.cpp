// One attempt: from the queue to a reserved node. Kubernetes: pkg/scheduler/schedule_one.go.

#include <algorithm>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/bindings.hpp"
#include "framework/cycle/extender_waits.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/placement/timing.hpp"

namespace plimsoll {

bool Scheduler::schedule_one() {
  const QueuedPod* queued = state_.queue.pop();
  if (queued == nullptr) return false;
  const PodRef pod = queued->pod;
  const std::string_view uid = view(pod->meta.uid);
  Framework* framework = state_.framework_for(*pod);
  // skipPodSchedule: a terminating pod, or one that is on its way already.
  const bool assumed = state_.cluster.is_assumed(uid);
  if (pod->meta.deletion_ms != 0 || framework == nullptr || assumed) {
    state_.skip(*pod, framework);
    return true;
  }
  ++state_.counters.attempts;
  if (state_.options.on_attempt) state_.options.on_attempt(uid);
  const PodRef seen = state_.as_nominated(pod);
  auto attempt = std::make_unique<Attempt>(seen, *framework);
  if (seen != pod) attempt->latest = pod;  // what is tried again
  attempt->number = queued->attempts;
  attempt->first_attempt_ms = queued->initial_attempt_ms;
  attempt->flushed = queued->flushed;
  attempt->nominated_to = state_.nominator.node_of(uid);
  if (extenders_ != nullptr && extenders_->concern(*pod)) {
    attempt->answers = std::make_unique<ExtenderAnswers>();
    if (extenders_->must_queue(attempt)) return true;
  }
  consider(std::move(attempt));
  return true;
}

void Scheduler::consider(std::unique_ptr<Attempt> attempt) {
  if (state_.environment.stop_asked()) return;
  const ScopedPointer current(state_.current, attempt.get());
  if (auto missing = state_.missing_kinds(*attempt)) {
    return fail_attempt(*attempt, missing->status, std::move(missing->diagnosis),
                        Nominating::keep());
  }
  Placement placement = state_.placer.decide({attempt->framework, *attempt->cycle, *attempt->pod,
                                              attempt->nominated_to, attempt->answers.get()});
  if (state_.environment.gave_up()) return;  // the loop ends
  if (!placement.to_ask.empty()) {
    return extenders_->ask(std::move(attempt), std::move(placement.to_ask));
  }
  if (!attempt->victims_to_ask.empty()) return extenders_->ask_about_victims(std::move(attempt));
  if (state_.metrics) {
    state_.metrics->algorithm_duration.observe(metrics::seconds_since(attempt->start));
  }
  if (placement.node == nullptr) {
    return fail_attempt(*attempt, placement.status, std::move(placement.diagnosis),
                        placement.nominating);
  }
  if (!reserve_and_permit(*attempt, placement.node)) return;
  if (attempt->nominated_to != view(attempt->assumed->node_name)) {
    state_.nomination_ended(attempt->current(), attempt->nominated_to);
  }
  bindings_.begin(std::move(attempt));
}

bool Scheduler::reserve_and_permit(Attempt& attempt, const plimsoll_node_info* node) {
  attempt.slot = node->slot;
  attempt.assumed = assigned_copy(attempt.pod, view(node->node->meta.name));
  if (!state_.assume(attempt.assumed, node->slot)) {
    state_.cluster.touch(node->slot, PLIMSOLL_ASPECT_PODS);  // when it was last chosen did change
    // The pod is on a node already, by another way: the informer's word counts.
    state_.queue.done(attempt.uid());
    state_.queue.forget(attempt.uid());
    return false;
  }
  state_.nominator.remove(view(attempt.assumed->meta.uid));  // it holds its room by itself now
  Status status = timed(attempt.framework, metrics::Point::kReserve, [&] {
    return attempt.framework.run_reserve(*attempt.cycle, *attempt.assumed, *node);
  });
  if (status.ok()) {
    PermitOutcome permit = timed(attempt.framework, metrics::Point::kPermit, [&] {
      return attempt.framework.run_permit(*attempt.cycle, *attempt.assumed, *node);
    });
    for (const PermitOutcome::Wait& wait : permit.waits) {
      attempt.waits[std::string(wait.plugin)].timeout_ms = wait.timeout_ms;
    }
    if (permit.status.ok() || permit.status.code == Code::kWait) return true;
    status = std::move(permit.status);
  }
  state_.undo(attempt);
  Diagnosis diagnosis;
  if (status.rejected()) {
    diagnosis.node_count = 1;
    diagnosis.nodes_by_reason[status.reason] = 1;
    diagnosis.add_rejector(status);
  }
  fail_attempt(attempt, status, std::move(diagnosis), Nominating::clear());
  return false;
}

void Scheduler::fail_attempt(Attempt& attempt, const Status& status, Diagnosis diagnosis,
                             const Nominating& nominating) {
  const std::string uid = attempt.uid();
  attempt.count(status.rejected() ? metrics::AttemptResult::kUnschedulable
                                  : metrics::AttemptResult::kError);
  const PodRef current = state_.queue.find(uid);
  if (!current) {  // deleted or bound by somebody else meanwhile
    if (state_.metrics) state_.metrics->attempts_dropped.add();
    return;
  }
  const bool no_nodes = status.rejected() && status.error == kNoNodesMessage;
  if (status.rejected() && !no_nodes) {
    state_.queue.reject(uid, diagnosis.rejectors, diagnosis.pending, state_.now_ms());
  } else {
    state_.queue.fail(uid, state_.now_ms());
  }
  // Before the API server hears of it: the next attempt must see it already. What is kept is what
  // was in memory: the pod's status may not say it yet.
  const std::string& before = attempt.nominated_to;
  const bool untold = before != view(current->nominated_node_name);
  const bool kept = !nominating.override_mode && !before.empty();
  state_.nominator.add(current, kept ? Nominating::to(before) : nominating);
  // No update of the pod is going to tell of the end of what its status never said.
  if (untold && state_.nominator.node_of(uid) != before) {
    state_.nomination_ended(current, before, uid);
  }
  const bool unschedulable = status.rejected();
  state_.report_failure(*current, unschedulable,
                        unschedulable && !no_nodes
                            ? fit_error_message(diagnosis, state_.environment.reasons)
                            : status.message(state_.environment.reasons),
                        nominating, untold);
}

}  // namespace plimsoll

// One attempt: from the queue to a reserved node. Kubernetes: pkg/scheduler/schedule_one.go.

#include <algorithm>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/bindings.hpp"
#include "framework/cycle/extender_waits.hpp"
#include "framework/cycle/group_cycle.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/placement/timing.hpp"

namespace plimsoll {

size_t Scheduler::schedule_one() {
  const QueuedPod* queued = state_.queue.pop();
  if (queued == nullptr) return 0;
  if (queued->group != nullptr) {
    group_ = std::make_unique<GroupCycle>(state_, bindings_, extenders_, *queued->group, 0);
    const size_t pods = group_->size();
    go_on_with_group();
    return pods;
  }
  const PodRef pod = queued->pod;
  const std::string_view uid = view(pod->meta.uid);
  Framework* framework = state_.framework_for(*pod);
  // skipPodSchedule: a terminating pod, or one that is on its way already.
  const bool assumed = state_.cluster.is_assumed(uid);
  if (pod->meta.deletion_ms != 0 || framework == nullptr || assumed) {
    state_.skip(*pod, framework);
    return 1;
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
    if (extenders_->must_queue(attempt)) return 1;
  }
  consider(std::move(attempt));
  return 1;
}

void Scheduler::go_on_with_group() {
  const GroupCycle::End end = group_->go_on();
  if (end == GroupCycle::End::kOutdated) {
    QueuedGroup& group = group_->group();
    const int outdated = group_->outdated() + 1;
    group_ = nullptr;
    if (state_.lost_kinds.blind()) {
      state_.queue.reject_group(group, {}, state_.now_ms(), true);
      return end_group();
    }
    group_ = std::make_unique<GroupCycle>(state_, bindings_, extenders_, group, outdated);
    return;
  }
  if (end != GroupCycle::End::kNotYet) end_group();
}

// What was heard of it meanwhile has its turn.
void Scheduler::end_group() {
  group_ = nullptr;
  state_.deferred_pods.clear();
  state_.watch_waits_since.reset();
  state_.deferred_of_others = 0;
  std::vector<Message> deferred = std::exchange(state_.deferred, {});
  for (Message& message : deferred) hear(message);
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
  std::optional<Status> status = state_.reserve(attempt, node);
  if (!status) {
    // The informer's word counts.
    state_.queue.done(attempt.uid());
    state_.queue.forget(attempt.uid());
    return false;
  }
  if (status->ok()) status = state_.permit(attempt, node);
  if (status->ok() || status->code == Code::kWait) return true;
  state_.undo(attempt);
  fail_attempt(attempt, *status, one_node_refused(*status), Nominating::clear());
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
  if (status.rejected() && status.error != kNoNodesMessage) {
    state_.queue.reject(uid, diagnosis.rejectors, diagnosis.pending, state_.now_ms());
  } else {
    state_.queue.fail(uid, state_.now_ms());
  }
  state_.attempt_failed(attempt, current, status, diagnosis, nominating);
}

}  // namespace plimsoll

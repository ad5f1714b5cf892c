// One attempt: from the queue to a reserved node. Kubernetes: pkg/scheduler/schedule_one.go.

#include <algorithm>
#include <utility>

#include "framework/api/decode.hpp"
#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/columns.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/cycle/timing.hpp"
#include "framework/cycle/what_if.hpp"
#include "framework/runtime/score_loops.hpp"

namespace plimsoll {
namespace {

std::string failed_to_schedule_deleting(const plimsoll_pod& pod) {
  return "skip schedule deleting pod: " + full_name(pod);
}

}  // namespace

bool Scheduler::schedule_one() {
  const QueuedPod* queued = queue_.pop();
  if (queued == nullptr) return false;
  const PodRef pod = queued->pod;
  const std::string_view uid = view(pod->meta.uid);
  Framework* framework = framework_for(*pod);
  // skipPodSchedule: a terminating pod, or one that is on its way already.
  const bool assumed = cluster_.is_assumed(uid);
  if (pod->meta.deletion_ms != 0 || framework == nullptr || assumed) {
    if (framework != nullptr && pod->meta.deletion_ms != 0) {
      emit_event(framework->scheduler_name(), *pod, true, "FailedScheduling", "Scheduling",
                 failed_to_schedule_deleting(*pod));
    }
    queue_.done(uid);
    queue_.forget(uid);
    return true;
  }
  ++counters_.attempts;
  const PodRef seen = as_nominated(pod);
  auto attempt = std::make_unique<Attempt>(seen, *framework);
  if (seen != pod) attempt->latest = pod;  // what is tried again
  const ScopedPointer current(current_, attempt.get());
  attempt->number = queued->attempts;
  attempt->first_attempt_ms = queued->initial_attempt_ms;
  attempt->flushed = queued->flushed;
  attempt->nominated_to = nominator_.node_of(uid);
  if (waits_for_kinds(*attempt)) return true;
  Evaluation result;
  evaluate(*attempt, result);
  Status status = std::move(result.status);
  const plimsoll_node_info* node = nullptr;
  if (status.ok()) node = select(*attempt, result, status);
  if (metrics_) metrics_->algorithm_duration.observe(metrics::seconds_since(attempt->start));
  if (node == nullptr) {
    fail_attempt(*attempt, status, std::move(result.diagnosis), result.nominating);
    return true;
  }
  if (!reserve_and_permit(*attempt, node)) return true;
  Attempt& kept = *attempts_.insert_or_assign(std::string(uid), std::move(attempt)).first->second;
  if (kept.nominated_to != view(kept.assumed->node_name)) {
    nomination_ended(pod, kept.nominated_to);
  }
  begin_binding_cycle(kept);
  return true;
}

// A plugin that its verdict rests on does not know all: as if that had answered Pending. True: the
// attempt has ended.
bool Scheduler::waits_for_kinds(Attempt& attempt) {
  if (lost_kinds_.none()) return false;
  const auto needs = lost_kinds_.needs_of(attempt.framework, *attempt.pod);
  if (needs.empty()) return false;
  Status status;
  status.code = Code::kPending;
  Diagnosis diagnosis;
  diagnosis.node_count = cluster_.node_count();
  diagnosis.pre_filter_message = waiting_message(needs);
  for (const LostKinds::Need& need : needs) {
    if (need.plugin != kNoPlugin) diagnosis.pending.insert(need.plugin);
  }
  lost_kinds_.waits(attempt.uid());
  if (attempt.assumed) {
    binding_failed(attempt.uid(), status, std::move(diagnosis));
  } else {
    fail_attempt(attempt, status, std::move(diagnosis), Nominating::keep());
  }
  return true;
}

// The API server tells of a nomination only after a while, and plugins go by the pod: for them it
// has what it is going to have.
PodRef Scheduler::as_nominated(const PodRef& pod) const {
  if (pod->nominated_node_name.len != 0) return pod;
  const std::string_view node_name = nominator_.node_of(view(pod->meta.uid));
  return node_name.empty() ? pod : nominated_copy(pod, node_name);
}

void Scheduler::note_rejection(Diagnosis& diagnosis, const Status& status) const {
  if (status.plugin_index == kNoPlugin) return;
  auto& plugins = status.code == Code::kPending ? diagnosis.pending : diagnosis.rejectors;
  plugins.insert(status.plugin_index);
}

void Scheduler::evaluate(Attempt& attempt, Evaluation& result) {
  const NodeRows all = all_nodes();
  Diagnosis& diagnosis = result.diagnosis;
  diagnosis.node_count = all.size();
  if (all.empty()) {
    result.status.code = Code::kUnschedulableAndUnresolvable;
    result.status.error = kNoNodesMessage;
    return;
  }
  PreFilterOutcome outcome = timed(attempt.framework, metrics::Point::kPreFilter, [&] {
    return attempt.framework.run_pre_filter(*attempt.cycle, *attempt.pod);
  });
  for (const PluginIndex plugin : outcome.narrowed_by) diagnosis.rejectors.insert(plugin);
  if (!outcome.status.ok()) {
    result.status = outcome.status;
    if (!outcome.status.rejected()) return;
    diagnosis.pre_filter_message = outcome.status.message(environment_.reasons);
    note_rejection(diagnosis, outcome.status);
    std::vector<uint8_t>& codes = room_->verdicts.codes;
    codes.assign(all.size(), static_cast<uint8_t>(outcome.status.code));
    run_post_filters(attempt, all, codes, result);
    return;
  }
  if (fits_nominated_node(attempt, outcome, result)) return;

  const metrics::PointTimer filter_timer(attempt.framework.metrics(), metrics::Point::kFilter);
  if (!outcome.narrowed) {
    ask_class(attempt, result);
    if (result.whole && !result.check) {
      filter_timer.end(PLIMSOLL_SUCCESS);
      if (result.table->feasible_count() != 0) return;
      result.table->diagnose(diagnosis);
      result.status.code = Code::kUnschedulable;
      if (attempt.framework.at(ExtensionPoint::kPostFilter).empty()) return;
      std::vector<uint8_t>& codes = room_->verdicts.codes;
      codes.resize(all.size());
      result.table->copy_codes(all, codes);
      run_post_filters(attempt, all, codes, result);
      return;
    }
  }
  // One verdict for each node that is looked at; what PreFilter leaves out is out for good, and a
  // pod that is pinned to one of many nodes costs no look at the others.
  const NodeRows rows = outcome.narrowed ? named_nodes(outcome) : all;
  if (rows.size() < all.size() && outcome.absent_nodes.reason != 0) {
    diagnosis.nodes_by_reason[outcome.absent_nodes.reason] += all.size() - rows.size();
  }
  Columns& columns = room_->verdicts;
  columns.reset(rows.size());
  if (copy_class_verdicts(attempt, rows, result, columns)) {
    if (result.check) check_verdicts(attempt, rows, result, columns);
  } else if (!rows.empty()) {
    result.status = run_filters_with_nominated(attempt.framework, *attempt.cycle, *attempt.pod,
                                               rows, columns.view(), cluster_, nominator_);
  }
  filter_timer.end(static_cast<int32_t>(result.status.code));
  if (!result.status.ok()) return;
  sum_up(rows, columns, result);
  if (!result.feasible.empty()) return;
  result.status.code = Code::kUnschedulable;
  if (outcome.narrowed) spread_verdicts(rows, columns);
  run_post_filters(attempt, all, columns.codes, result);
}

NodeRows Scheduler::all_nodes() const {
  return {cluster_.rows(), cluster_.row_slots(), &cluster_.columns()};
}

// The nodes that PreFilter left, as far as they exist, in slot order.
NodeRows Scheduler::named_nodes(const PreFilterOutcome& outcome) {
  std::vector<uint32_t>& slots = room_->named_slots;
  slots.clear();
  for (const std::string& name : outcome.node_names) {
    const NodeInfo* node = cluster_.node(name);
    if (node != nullptr) slots.push_back(node->slot());
  }
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  room_->named.clear();
  for (const uint32_t slot : slots) room_->named.push_back(cluster_.node_at(slot)->abi());
  return {room_->named, slots, &cluster_.columns()};
}

// From verdicts on some nodes to the codes of all: the others are out for good.
void Scheduler::spread_verdicts(NodeRows rows, Columns& columns) const {
  const std::vector<uint32_t>& slots = cluster_.row_slots();  // they rise
  std::vector<uint8_t> codes(slots.size(), PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto at = std::lower_bound(slots.begin(), slots.end(), rows.slot(i)) - slots.begin();
    codes[static_cast<size_t>(at)] = columns.codes[i];
  }
  columns.codes = std::move(codes);
}

// The nodes that passed, and why the others did not. Neighbours mostly have the same answer.
void Scheduler::sum_up(NodeRows rows, const Columns& columns, Evaluation& result) {
  if (all_passed(columns.codes)) {
    result.feasible = rows;
    return;
  }
  Diagnosis& diagnosis = result.diagnosis;
  room_->feasible.clear();
  room_->feasible_slots.clear();
  uint32_t reason = 0;
  size_t nodes = 0;  // in a row with this reason
  uint8_t code = PLIMSOLL_SUCCESS;
  PluginIndex rejector = kNoPlugin;
  const auto note = [&] {
    if (nodes != 0 && reason != 0) diagnosis.nodes_by_reason[reason] += nodes;
    nodes = 0;
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    if (columns.codes[i] == PLIMSOLL_SUCCESS) {
      room_->add_feasible(rows[i], rows.slot(i));
      continue;
    }
    if (columns.reasons[i] != reason) {
      note();
      reason = columns.reasons[i];
    }
    ++nodes;
    if (columns.codes[i] == code && columns.rejectors[i] == rejector) continue;
    code = columns.codes[i];
    rejector = columns.rejectors[i];
    auto& plugins = code == PLIMSOLL_PENDING ? diagnosis.pending : diagnosis.rejectors;
    if (rejector != kNoPlugin) plugins.insert(rejector);
  }
  note();
  result.feasible = {room_->feasible, room_->feasible_slots, rows.columns()};
}

// The node that was cleared for the pod is most likely the only one that takes it: it is looked at
// alone, and if it still does, at no other. Kubernetes: evaluateNominatedNode.
bool Scheduler::fits_nominated_node(Attempt& attempt, const PreFilterOutcome& outcome,
                                    Evaluation& result) {
  const std::string_view name = view(attempt.pod->nominated_node_name);
  const NodeInfo* node = name.empty() ? nullptr : cluster_.node(name);
  if (node == nullptr) return false;
  const auto& allowed = outcome.node_names;
  if (outcome.narrowed && std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
    return false;
  }
  const Status status =
      filter_with_nominated(attempt.framework, *attempt.cycle, *attempt.pod, *node, nominator_);
  if (status.ok()) {
    room_->feasible.assign(1, node->abi());
    room_->feasible_slots.assign(1, node->slot());
    result.feasible = {room_->feasible, room_->feasible_slots, &cluster_.columns()};
    return true;
  }
  if (status.is_error()) {
    log_error("the nominated node could not be looked at",
              {{"pod", full_name(*attempt.pod)},
               {"node", name},
               {"error", status.message(environment_.reasons)}});
  } else {
    note_rejection(result.diagnosis, status);
  }
  return false;
}

void Scheduler::run_post_filters(Attempt& attempt, NodeRows rows, std::span<const uint8_t> codes,
                                 Evaluation& result) {
  if (attempt.framework.at(ExtensionPoint::kPostFilter).empty()) return;
  const PostFilterOutcome post = timed(attempt.framework, metrics::Point::kPostFilter, [&] {
    return attempt.framework.run_post_filters(*attempt.cycle, *attempt.pod, rows, codes);
  });
  result.diagnosis.post_filter_message = post.status.message(environment_.reasons);
  result.nominating =
      post.override_nomination ? Nominating::to(post.nominated_node) : Nominating::keep();
}

const plimsoll_node_info* Scheduler::select(Attempt& attempt, const Evaluation& result,
                                            Status& status) {
  const NodeRows feasible =
      result.whole && !result.check ? result.table->feasible() : result.feasible;
  const plimsoll_node_info* chosen = feasible.front();
  if (feasible.size() > 1) {
    chosen = nullptr;
    status = timed(attempt.framework, metrics::Point::kPreScore, [&] {
      return attempt.framework.run_pre_score(*attempt.cycle, *attempt.pod, feasible);
    });
    last_chosen_.resize(std::max<size_t>(last_chosen_.size(), cluster_.slot_count()), 0);
    if (!status.ok()) return nullptr;
    status = timed(attempt.framework, metrics::Point::kScore, [&] {
      if (result.table != nullptr) chosen = best_by_class(attempt, result, feasible);
      if (chosen != nullptr) return Status();
      ScoreTable& scores = room_->scores;
      Status scored = attempt.framework.run_score(*attempt.cycle, *attempt.pod, feasible, scores);
      if (scored.ok()) chosen = best_of(feasible, scores.totals);
      return scored;
    });
    if (!status.ok()) return nullptr;
  }
  last_chosen_.resize(std::max<size_t>(last_chosen_.size(), chosen->slot + size_t{1}), 0);
  last_chosen_[chosen->slot] = ++choices_;
  return chosen;
}

// Among equals, the node that was chosen longest ago: pods spread, and the choice is reproducible.
const plimsoll_node_info* Scheduler::best_of(NodeRows rows, std::span<const int64_t> totals) const {
  const int64_t highest = highest_of(totals.data(), rows.size());
  size_t best = 0;
  uint64_t chosen_at = UINT64_MAX;
  for (size_t i = 0; i < rows.size() && chosen_at != 0; ++i) {  // 0: it never was
    if (totals[i] != highest || last_chosen_[rows.slot(i)] >= chosen_at) continue;
    best = i;
    chosen_at = last_chosen_[rows.slot(i)];
  }
  return rows[best];
}

bool Scheduler::reserve_and_permit(Attempt& attempt, const plimsoll_node_info* node) {
  attempt.slot = node->slot;
  attempt.assumed = assigned_copy(attempt.pod, view(node->node->meta.name));
  if (!cluster_.assume(attempt.assumed, node->slot)) {
    cluster_.touch(node->slot, PLIMSOLL_ASPECT_PODS);  // when it was last chosen did change
    // The pod is on a node already, by another way: the informer's word counts.
    queue_.done(attempt.uid());
    queue_.forget(attempt.uid());
    return false;
  }
  nominator_.remove(view(attempt.assumed->meta.uid));  // it holds its room by itself now
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
  undo(attempt);
  Diagnosis diagnosis;
  if (status.rejected()) {
    diagnosis.node_count = 1;
    diagnosis.nodes_by_reason[status.reason] = 1;
    note_rejection(diagnosis, status);
  }
  fail_attempt(attempt, status, std::move(diagnosis));
  return false;
}

void Scheduler::undo(Attempt& attempt) {
  if (!attempt.assumed) return;
  timed(attempt.framework, metrics::Point::kUnreserve, [&] {
    attempt.framework.run_unreserve(*attempt.cycle, *attempt.assumed,
                                    view(attempt.assumed->node_name));
  });
  cluster_.forget(view(attempt.assumed->meta.uid));
}

void Scheduler::fail_attempt(Attempt& attempt, const Status& status, Diagnosis diagnosis,
                             const Nominating& nominating) {
  const std::string uid = attempt.uid();
  attempt.count(status.rejected() ? metrics::AttemptResult::kUnschedulable
                                  : metrics::AttemptResult::kError);
  const PodRef current = queue_.find(uid);
  if (!current) {  // deleted or bound by somebody else meanwhile
    if (metrics_) metrics_->attempts_dropped.add();
    return;
  }
  const bool no_nodes = status.rejected() && status.error == kNoNodesMessage;
  if (status.rejected() && !no_nodes) {
    queue_.reject(uid, diagnosis.rejectors, diagnosis.pending, now_ms());
  } else {
    queue_.fail(uid, now_ms());
  }
  // Before the API server hears of it: the next attempt must see it already. What is kept is what
  // was in memory: the pod's status may not say it yet.
  const std::string& before = attempt.nominated_to;
  const bool untold = before != view(current->nominated_node_name);
  const bool kept = !nominating.override_mode && !before.empty();
  nominator_.add(current, kept ? Nominating::to(before) : nominating);
  // No update of the pod is going to tell of the end of what its status never said.
  if (untold && nominator_.node_of(uid) != before) nomination_ended(current, before, uid);
  const bool unschedulable = status.rejected();
  report_failure(*current, unschedulable,
                 unschedulable && !no_nodes ? fit_error_message(diagnosis, environment_.reasons)
                                            : status.message(environment_.reasons),
                 nominating, untold);
}

void Scheduler::report_failure(const plimsoll_pod& pod, bool unschedulable,
                               const std::string& message, const Nominating& nominating,
                               bool nominated) {
  ++(unschedulable ? counters_.unschedulable : counters_.errors);
  log_debug("pod not scheduled",
            {{"pod", full_name(pod)}, {"profile", view(pod.scheduler_name)}, {"why", message}});
  emit_event(view(pod.scheduler_name), pod, true, "FailedScheduling", "Scheduling", message);
  const std::string_view reason = unschedulable ? "Unschedulable" : "SchedulerError";
  const bool unchanged = view(pod.scheduled_status) == "False" &&
                         view(pod.scheduled_reason) == reason &&
                         view(pod.scheduled_message) == message;
  const bool renominate =
      nominating.override_mode && (nominated || view(pod.nominated_node_name) != nominating.node);
  if (unchanged && !renominate) return;
  ConditionPatch patch;
  patch.ns = view(pod.meta.ns);
  patch.name = view(pod.meta.name);
  patch.uid = view(pod.meta.uid);
  patch.resource_version = view(pod.meta.resource_version);
  patch.reason = reason;
  patch.message = message;
  patch.observed_generation = pod.meta.generation;
  patch.stays_false = view(pod.scheduled_status) == "False";
  patch.set_nominated = renominate;
  if (renominate) patch.nominated_node = nominating.node;
  writer_.patch_condition(std::move(patch), [name = full_name(pod)](const Result<void>& result) {
    if (!result && result.error().code != ErrorCode::kNotFound) {
      log_warn("the PodScheduled condition could not be written",
               {{"pod", name}, {"error", result.error().message}});
    }
  });
}

}  // namespace plimsoll

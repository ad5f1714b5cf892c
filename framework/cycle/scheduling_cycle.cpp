// One attempt: from the queue to a reserved node. Kubernetes: pkg/scheduler/schedule_one.go.

#include <algorithm>
#include <utility>

#include "framework/api/decode.hpp"
#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/scheduler.hpp"

namespace plimsoll {
namespace {

std::string failed_to_schedule_deleting(const plimsoll_pod& pod) {
  return "skip schedule deleting pod: " + full_name(pod);
}

}  // namespace

bool Scheduler::schedule_one() {
  const QueuedPod* queued = queue_.pop(now_ms());
  if (queued == nullptr) return false;
  const PodRef pod = queued->pod;
  const std::string uid(view(pod->meta.uid));
  Framework* framework = framework_for(*pod);
  if (pod->meta.deletion_ms != 0 || framework == nullptr) {
    if (framework != nullptr) {
      emit_event(framework->scheduler_name(), *pod, true, "FailedScheduling", "Scheduling",
                 failed_to_schedule_deleting(*pod));
    }
    queue_.done(uid);
    queue_.forget(uid);
    return true;
  }
  ++counters_.attempts;
  auto attempt = std::make_unique<Attempt>(pod, *framework);
  Evaluation result;
  evaluate(*attempt, result);
  Status status = std::move(result.status);
  const plimsoll_node_info* node = nullptr;
  if (status.ok()) node = select(*attempt, result, status);
  if (node == nullptr) {
    fail_attempt(*attempt, status, std::move(result.diagnosis));
    return true;
  }
  if (!reserve_and_permit(*attempt, node)) return true;
  Attempt& kept = *attempts_.insert_or_assign(uid, std::move(attempt)).first->second;
  if (kept.waits.empty()) {
    start_binding(kept);
  } else {
    waiting_.insert(uid);
  }
  return true;
}

void Scheduler::note_rejection(Diagnosis& diagnosis, const Status& status) const {
  if (status.plugin_index == kNoPlugin) return;
  auto& plugins = status.code == Code::kPending ? diagnosis.pending : diagnosis.rejectors;
  plugins.insert(status.plugin_index);
}

void Scheduler::evaluate(Attempt& attempt, Evaluation& result) {
  const std::vector<const plimsoll_node_info*>& all = cluster_.rows();
  Diagnosis& diagnosis = result.diagnosis;
  diagnosis.node_count = all.size();
  if (all.empty()) {
    result.status.code = Code::kUnschedulableAndUnresolvable;
    result.status.error = kNoNodesMessage;
    return;
  }
  PreFilterOutcome outcome = attempt.framework.run_pre_filter(*attempt.cycle, *attempt.pod);
  for (const PluginIndex plugin : outcome.narrowed_by) diagnosis.rejectors.insert(plugin);
  if (!outcome.status.ok()) {
    if (outcome.status.rejected()) {
      diagnosis.pre_filter_message = outcome.status.message(environment_.reasons);
      note_rejection(diagnosis, outcome.status);
    }
    result.status = std::move(outcome.status);
    return;
  }

  std::vector<const plimsoll_node_info*> narrowed;
  if (outcome.narrowed) {
    for (const std::string& name : outcome.node_names) {
      if (const NodeInfo* info = cluster_.node(name)) narrowed.push_back(info->abi());
    }
    if (narrowed.size() < all.size() && outcome.absent_nodes.reason != 0) {
      diagnosis.nodes_by_reason[outcome.absent_nodes.reason] += all.size() - narrowed.size();
    }
  }
  const NodeRows rows = outcome.narrowed ? NodeRows(narrowed) : NodeRows(all);
  std::vector<uint8_t> codes(rows.size(), 0);
  std::vector<uint32_t> reasons(rows.size(), 0);
  std::vector<PluginIndex> rejectors(rows.size(), kNoPlugin);
  result.status = attempt.framework.run_filters(*attempt.cycle, *attempt.pod, rows,
                                                {codes, reasons, rejectors});
  if (!result.status.ok()) return;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (codes[i] == PLIMSOLL_SUCCESS) {
      result.feasible.push_back(rows[i]);
      continue;
    }
    ++diagnosis.nodes_by_reason[reasons[i]];
    auto& plugins = codes[i] == PLIMSOLL_PENDING ? diagnosis.pending : diagnosis.rejectors;
    if (rejectors[i] != kNoPlugin) plugins.insert(rejectors[i]);
  }
  if (!result.feasible.empty()) return;

  result.status.code = Code::kUnschedulable;
  if (attempt.framework.at(ExtensionPoint::kPostFilter).empty()) return;
  const PostFilterOutcome post =
      attempt.framework.run_post_filters(*attempt.cycle, *attempt.pod, rows, codes);
  diagnosis.post_filter_message = post.status.message(environment_.reasons);
}

const plimsoll_node_info* Scheduler::select(Attempt& attempt, const Evaluation& result,
                                            Status& status) {
  const NodeRows feasible(result.feasible);
  size_t best = 0;
  if (feasible.size() > 1) {
    ScoreTable scores;
    status = attempt.framework.run_pre_score(*attempt.cycle, *attempt.pod, feasible);
    if (status.ok()) {
      status = attempt.framework.run_score(*attempt.cycle, *attempt.pod, feasible, scores);
    }
    if (!status.ok()) return nullptr;
    last_chosen_.resize(std::max<size_t>(last_chosen_.size(), cluster_.slot_count()), 0);
    // Among equals, the node that was chosen longest ago: pods spread, and the choice is
    // reproducible.
    for (size_t i = 1; i < feasible.size(); ++i) {
      if (scores.totals[i] > scores.totals[best] ||
          (scores.totals[i] == scores.totals[best] &&
           last_chosen_[feasible[i]->slot] < last_chosen_[feasible[best]->slot])) {
        best = i;
      }
    }
  }
  const plimsoll_node_info* chosen = feasible[best];
  last_chosen_.resize(std::max<size_t>(last_chosen_.size(), chosen->slot + size_t{1}), 0);
  last_chosen_[chosen->slot] = ++choices_;
  return chosen;
}

bool Scheduler::reserve_and_permit(Attempt& attempt, const plimsoll_node_info* node) {
  attempt.assumed = assigned_copy(attempt.pod, view(node->node->meta.name));
  if (!cluster_.assume(attempt.assumed)) {
    // The pod is on a node already, by another way: the informer's word counts.
    queue_.done(attempt.uid());
    queue_.forget(attempt.uid());
    return false;
  }
  Status status = attempt.framework.run_reserve(*attempt.cycle, *attempt.assumed, *node);
  if (status.ok()) {
    PermitOutcome permit = attempt.framework.run_permit(*attempt.cycle, *attempt.assumed, *node);
    for (const PermitOutcome::Wait& wait : permit.waits) {
      attempt.waits.emplace(wait.plugin, now_ms() + wait.timeout_ms);
      attempt.wait_timeouts_ms.emplace(wait.plugin, wait.timeout_ms);
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
  attempt.framework.run_unreserve(*attempt.cycle, *attempt.assumed,
                                  view(attempt.assumed->node_name));
  cluster_.forget(view(attempt.assumed->meta.uid));
}

void Scheduler::fail_attempt(Attempt& attempt, const Status& status, Diagnosis diagnosis) {
  const std::string uid = attempt.uid();
  const PodRef current = queue_.find(uid);
  if (!current) return;  // deleted or bound by somebody else meanwhile
  const bool no_nodes = status.rejected() && status.error == kNoNodesMessage;
  if (status.rejected() && !no_nodes) {
    queue_.reject(uid, diagnosis.rejectors, diagnosis.pending, now_ms());
  } else {
    queue_.fail(uid, now_ms());
  }
  const bool unschedulable = status.rejected();
  report_failure(*current, unschedulable,
                 unschedulable && !no_nodes ? fit_error_message(diagnosis, environment_.reasons)
                                            : status.message(environment_.reasons));
}

void Scheduler::report_failure(const plimsoll_pod& pod, bool unschedulable,
                               const std::string& message) {
  ++(unschedulable ? counters_.unschedulable : counters_.errors);
  log_debug("pod not scheduled", {{"pod", full_name(pod)}, {"why", message}});
  emit_event(view(pod.scheduler_name), pod, true, "FailedScheduling", "Scheduling", message);
  const std::string_view reason = unschedulable ? "Unschedulable" : "SchedulerError";
  const bool unchanged = view(pod.scheduled_status) == "False" &&
                         view(pod.scheduled_reason) == reason &&
                         view(pod.scheduled_message) == message;
  if (unchanged) return;
  ConditionPatch patch;
  patch.ns = view(pod.meta.ns);
  patch.name = view(pod.meta.name);
  patch.uid = view(pod.meta.uid);
  patch.resource_version = view(pod.meta.resource_version);
  patch.reason = reason;
  patch.message = message;
  patch.observed_generation = pod.meta.generation;
  writer_.patch_condition(std::move(patch), [name = full_name(pod)](const Result<void>& result) {
    if (!result && result.error().code != ErrorCode::kNotFound) {
      log_warn("the PodScheduled condition could not be written",
               {{"pod", name}, {"error", result.error().message}});
    }
  });
}

}  // namespace plimsoll

#include "framework/cycle/loop_state.hpp"

#include <algorithm>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/base/log.hpp"
#include "framework/base/shown.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/groups/group_conditions.hpp"
#include "framework/cycle/queue_metrics.hpp"
#include "framework/objects/object_store.hpp"
#include "framework/objects/pod_group.hpp"
#include "framework/placement/timing.hpp"

namespace plimsoll {
namespace {

// For this version of the pod; it changes nothing yet.
ConditionPatch patch_of(const plimsoll_pod& pod) {
  ConditionPatch patch;
  patch.ns = view(pod.meta.ns);
  patch.name = view(pod.meta.name);
  patch.uid = view(pod.meta.uid);
  patch.resource_version = view(pod.meta.resource_version);
  return patch;
}

}  // namespace

LoopState::LoopState(SchedulerOptions given, SymbolTable& symbols, ApiWriter& api_writer,
                     Inbox& messages, std::unique_ptr<PreparedPlugins> made)
    : options(std::move(given)),
      writer(api_writer),
      group_conditions(std::make_shared<GroupConditions>(api_writer)),
      inbox(messages),
      prepared(made != nullptr ? std::move(made) : std::make_unique<PreparedPlugins>(symbols)),
      environment(prepared->env()),
      policy(environment, cluster),
      nominator([this](std::string_view node_name) {
        const NodeInfo* node = cluster.node(node_name);
        if (node != nullptr) cluster.touch(node->slot(), PLIMSOLL_ASPECT_NOMINATED);
      }),
      placer(cluster, nominator, environment.reasons, options.classes),
      group_trial(
          cluster, nominator, [this](const plimsoll_pod& pod) { return framework_for(pod); },
          [this](const plimsoll_pod& pod) { return unit_of(pod); }, options.group_search_ms),
      group_decision(cluster),
      queue(policy, options.queue),
      unsynced_kinds{"pods", "nodes"},
      standby(options.standby) {
  environment.services.publish(DryRunKeeper::kService, 1, &placer.dry_run_keeper());
  const GroupDryRun* dry_run = &group_trial;
  environment.services.publish(GroupDryRun::kService, 1, dry_run);
  environment.services.publish(PLIMSOLL_POD_GROUPS_SERVICE, PLIMSOLL_POD_GROUPS_VERSION,
                               group_decision.table());
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  const auto since = [](auto clock_now) {
    return duration_cast<milliseconds>(clock_now.time_since_epoch()).count();
  };
  clock_offset_ms_ =
      since(std::chrono::system_clock::now()) - since(std::chrono::steady_clock::now());
  if (options.metrics != nullptr) start_metrics();
}

LoopState::~LoopState() = default;

void LoopState::start_metrics() {
  metrics = std::make_unique<metrics::SchedulerMetrics>(*options.metrics);
  queue_metrics = std::make_unique<QueueMetrics>(*metrics, [this](const plimsoll_pod& pod) {
    const Framework* framework = framework_for(pod);
    return framework == nullptr ? nullptr : framework->metrics();
  });
  queue.observe(queue_metrics.get());
  policy.measure(queue_metrics.get());
  environment.metrics = metrics.get();
  environment.plugin_metrics.show_in(*options.metrics);
}

void LoopState::begin_step() {
  if (decided_on.empty()) environment.reasons.end_step();  // an attempt keeps what it was told
  step_began.store(std::chrono::steady_clock::now().time_since_epoch().count(),
                   std::memory_order_relaxed);
}

// Time of day that never steps back: a corrected clock must not freeze backoffs and deadlines.
int64_t LoopState::now_ms() const {
  if (options.clock) return options.clock();
  return clock_offset_ms_ + std::chrono::duration_cast<std::chrono::milliseconds>(
                                std::chrono::steady_clock::now().time_since_epoch())
                                .count();
}

// The API server tells of a nomination only after a while, and plugins go by the pod: for them it
// has what it is going to have.
PodRef LoopState::as_nominated(const PodRef& pod) const {
  if (pod->nominated_node_name.len != 0) return pod;
  const std::string_view node_name = nominator.node_of(view(pod->meta.uid));
  return node_name.empty() ? pod : nominated_copy(pod, node_name);
}

VictimUnit LoopState::unit_of(const plimsoll_pod& pod) const {
  VictimUnit unit{{&pod}, pod.priority};
  if (!PLIMSOLL_HAS(&pod, group) || pod.group.len == 0) return unit;
  unit.of_group = true;
  const GroupName name{GroupKind::kPodGroup, view(pod.meta.ns), view(pod.group)};
  const PodGroup* group = find_pod_group(environment.objects, name);
  if (group == nullptr || group->object.unreadable.len != 0) return unit;
  unit.priority = group->priority;
  unit.is_whole_group = group->disrupts_all;
  const PlacedMembers* members = group->disrupts_all ? cluster.members(name) : nullptr;
  if (members == nullptr || pod.meta.deletion_ms != 0) return unit;
  unit.pods = members->living_pods();
  return unit;
}

// A plugin that its verdict rests on does not know all: as if that had answered Pending.
std::optional<LoopState::Refusal> LoopState::missing_kinds(const Attempt& attempt) {
  if (lost_kinds.none()) return std::nullopt;
  const auto needs = lost_kinds.needs_of(attempt.framework, *attempt.pod);
  if (needs.empty()) return std::nullopt;
  Refusal refusal;
  refusal.status.code = Code::kPending;
  refusal.diagnosis.node_count = cluster.node_count();
  refusal.diagnosis.pre_filter_message = waiting_message(needs);
  for (const LostKinds::Need& need : needs) {
    if (need.plugin != kNoPlugin) refusal.diagnosis.pending.insert(need.plugin);
  }
  lost_kinds.waits(attempt.uid());
  return refusal;
}

void LoopState::skip(const plimsoll_pod& pod, const Framework* framework) {
  if (framework != nullptr && pod.meta.deletion_ms != 0) {
    emit_event(framework->scheduler_name(), pod, true, "FailedScheduling", "Scheduling",
               "skip schedule deleting pod: " + full_name(pod));
  }
  const std::string_view uid = view(pod.meta.uid);
  queue.done(uid);
  queue.forget(uid);
}

std::optional<Status> LoopState::reserve(Attempt& attempt, const plimsoll_node_info* node) {
  attempt.slot = node->slot;
  attempt.assumed = assigned_copy(attempt.pod, view(node->node->meta.name));
  if (!assume(attempt.assumed, node->slot)) {
    attempt.assumed = nullptr;
    cluster.touch(node->slot, PLIMSOLL_ASPECT_PODS);  // when it was last chosen did change
    return std::nullopt;
  }
  nominator.remove(view(attempt.assumed->meta.uid));  // it holds its room by itself now
  return timed(attempt.framework, metrics::Point::kReserve, [&] {
    return attempt.framework.run_reserve(*attempt.cycle, *attempt.assumed, *node);
  });
}

Status LoopState::permit(Attempt& attempt, const plimsoll_node_info* node) {
  PermitOutcome permit = timed(attempt.framework, metrics::Point::kPermit, [&] {
    return attempt.framework.run_permit(*attempt.cycle, *attempt.assumed, *node);
  });
  for (const PermitOutcome::Wait& wait : permit.waits) {
    attempt.waits[std::string(wait.plugin)].timeout_ms = wait.timeout_ms;
  }
  return std::move(permit.status);
}

void LoopState::undo(Attempt& attempt) {
  if (!attempt.assumed) return;
  timed(attempt.framework, metrics::Point::kUnreserve, [&] {
    attempt.framework.run_unreserve(*attempt.cycle, *attempt.assumed,
                                    view(attempt.assumed->node_name));
  });
  forget(*attempt.assumed);
}

void LoopState::nominate(const PodRef& pod, const Nominating& nominating) {
  nominator.add(pod, nominating);
  if (!nominator.node_of(view(pod->meta.uid)).empty()) queue.keeps_room(*pod);
}

void LoopState::attempt_failed(const Attempt& attempt, const PodRef& pod, const Status& status,
                               const Diagnosis& diagnosis, const Nominating& nominating,
                               std::string_view why, std::string_view entry_uid) {
  // Before the API server hears of it: the next attempt must see it already. What is kept is what
  // was in memory: the pod's status may not say it yet.
  const std::string& before = attempt.nominated_to;
  const bool untold = before != view(pod->nominated_node_name);
  const bool kept = !nominating.override_mode && !before.empty();
  nominate(pod, kept ? Nominating::to(before) : nominating);
  // No update of the pod is going to tell of the end of what its status never said.
  const std::string_view uid = view(pod->meta.uid);
  if (untold && nominator.node_of(uid) != before)
    nomination_ended(pod, before, entry_uid.empty() ? uid : entry_uid);
  const bool fit_error = status.rejected() && status.error != kNoNodesMessage;
  const std::string said = !why.empty() ? std::string(why)
                           : fit_error  ? fit_error_message(diagnosis, environment.reasons)
                                        : status.message(environment.reasons);
  report_failure(*pod, status.rejected(), said, nominating, untold);
}

bool LoopState::assume(const PodRef& pod, uint32_t slot) {
  if (!cluster.assume(pod, slot)) return false;
  for (const auto& framework : frameworks) {
    framework->assumed_pod_event(PLIMSOLL_POD_ASSIGNED, *pod);
  }
  return true;
}

bool LoopState::add_amounts(std::string_view pod_uid, const plimsoll_list& amounts) {
  const PodRef pod = cluster.pod(pod_uid);
  if (!pod || !cluster.is_assumed(pod_uid)) return false;
  const PodRef amended = with_claim_amounts(pod, amounts, environment.symbols);
  cluster.amend(amended);
  for (const auto& framework : frameworks)
    framework->assumed_pod_event(PLIMSOLL_POD_ASSIGNED, *amended);
  return true;
}

bool LoopState::forget(const plimsoll_pod& assumed) {
  if (!cluster.forget(view(assumed.meta.uid))) return false;
  for (const auto& framework : frameworks) {
    framework->assumed_pod_event(PLIMSOLL_POD_REMOVED, assumed);
  }
  return true;
}

// The room that was kept for the pod is free again. Kubernetes: getLEPriorityPreCheck. Hints get
// the pod as if it had run there: of one without a node they would say that it helps nobody.
void LoopState::nomination_ended(const PodRef& pod, std::string_view node_name,
                                 std::string_view except_uid) {
  if (node_name.empty()) return;
  ClusterEvent event = assigned_pod_deleted(assigned_copy(pod, node_name));
  event.max_priority = pod->priority;
  queue.move_all(event, now_ms(), except_uid);
}

void LoopState::write_nomination(const plimsoll_pod& pod, std::string_view node_name) {
  ConditionPatch patch = patch_of(pod);
  patch.set_nominated = true;
  patch.nominated_node = node_name;
  writer.patch_condition(std::move(patch), [name = full_name(pod)](const Result<void>& written) {
    if (!written) {  // not worth failing for
      log_warn("the nominated node could not be written",
               {{"pod", name}, {"error", written.error().message}});
    }
  });
}

void LoopState::report_failure(const plimsoll_pod& pod, bool unschedulable, std::string_view why,
                               const Nominating& nominating, bool nominated) {
  const std::string message = shown(why);
  ++(unschedulable ? counters.unschedulable : counters.errors);
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
  ConditionPatch patch = patch_of(pod);
  patch.reason = reason;
  patch.message = message;
  patch.observed_generation = pod.meta.generation;
  patch.stays_false = view(pod.scheduled_status) == "False";
  patch.set_nominated = renominate;
  if (renominate) patch.nominated_node = nominating.node;
  writer.patch_condition(std::move(patch), [name = full_name(pod)](const Result<void>& result) {
    if (!result && result.error().code != ErrorCode::kNotFound) {
      log_warn("the PodScheduled condition could not be written",
               {{"pod", name}, {"error", result.error().message}});
    }
  });
}

void LoopState::emit_event(std::string_view scheduler_name, const plimsoll_pod& pod, bool warning,
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
  event.note = shown(note);
  writer.record_event(std::move(event));
}

}  // namespace plimsoll

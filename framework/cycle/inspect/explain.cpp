#include "framework/cycle/inspect/explain.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/bindings.hpp"
#include "framework/cycle/scheduler.hpp"

namespace plimsoll {
namespace {

std::string place_name(const QueuedPod& pod) {
  switch (pod.place) {
    case QueuePlace::kActive:
      return "active";
    case QueuePlace::kBackoff:
      return "backoff";
    case QueuePlace::kErrorBackoff:
      return "errorBackoff";
    case QueuePlace::kUnschedulable:
      return pod.gated_by ? "gated" : "unschedulable";
    case QueuePlace::kInFlight:
    case QueuePlace::kInGroup:
      break;
  }
  return "inFlight";
}

// Where a pod of a group is, there is its group.
const QueuedPod& place_of(const QueuedPod& pod) {
  return pod.group == nullptr ? pod : pod.group->entry;
}

ExplainedGroup explained(const QueuedGroup& group) {
  return {group.ns + "/" + group.name, group.facts.known ? group.facts.needed : 0,
          group.members.size(), group.facts.placed, group.said};
}

size_t pods_in(const std::string& place, const SchedulingQueue::Sizes& sizes) {
  if (place == "active") return sizes.active;
  if (place == "unschedulable") return sizes.unschedulable;
  if (place == "gated") return sizes.gated;
  if (place == "inFlight") return sizes.in_flight;
  return sizes.backoff;
}

void add_interests(const EventInterests& registered, ExplainedRejector& rejector) {
  rejector.any_event = registered.all;
  for (const plimsoll_event_interest& interest : registered.interests) {
    for (const std::string& action : action_names(interest.actions)) {
      rejector.waits_for.push_back(std::string(view(interest.resource)) + "/" + action);
    }
  }
}

}  // namespace

PodRef Scheduler::find_pod(const ExplainRequest& request) const {
  PodRef found;
  const auto look_at = [&](const PodRef& pod) {
    if (view(pod->meta.name) == request.name && view(pod->meta.ns) == request.ns) found = pod;
  };
  // A namesake that was deleted and is not gone yet counts less than the pod that waits.
  state_.cluster.for_each_pod([&](const PodRef& pod, bool) { look_at(pod); });
  state_.queue.for_each([&](const QueuedPod& queued) { look_at(queued.pod); });
  return found;
}

ExplainedQueuePlace Scheduler::queue_place(const QueuedPod& pod) {
  ExplainedQueuePlace result;
  const QueuedPod& queued = place_of(pod);
  result.place = place_name(queued);
  result.attempts = queued.attempts;
  result.waiting_ms = std::max<int64_t>(0, state_.now_ms() - pod.pod->meta.creation_ms);
  result.queued_for_ms = state_.now_ms() - queued.queued_ms;
  QueuedPod copy = queued;
  result.backoff_left_ms =
      std::max<int64_t>(0, state_.queue.backoff_expiry(copy) - state_.now_ms());
  return result;
}

std::vector<ExplainedRejector> Scheduler::rejectors_of(const QueuedPod& pod, Framework& framework) {
  std::vector<ExplainedRejector> result;
  const QueuedPod& queued = place_of(pod);
  const auto add = [&](PluginIndex plugin, ExplainedRejector::Kind kind) {
    ExplainedRejector& rejector = result.emplace_back();
    rejector.plugin = framework.plugin_name(plugin);
    rejector.kind = kind;
    for (const EventInterests& registered : framework.events()) {
      if (registered.plugin == plugin) add_interests(registered, rejector);
    }
    if (kind != ExplainedRejector::Kind::kGate) return;
    if (pod.group != nullptr) rejector.text = SchedulingQueue::gate_message(*pod.group);
    if (!rejector.text.empty()) return;
    rejector.text = framework.run_pre_enqueue(*queued.pod).message(state_.environment.reasons);
    if (queued.pod != pod.pod) rejector.text += "; of pod " + full_name(*queued.pod);
  };
  for (const PluginIndex plugin : queued.rejectors) {
    if (queued.gated_by != plugin) add(plugin, ExplainedRejector::Kind::kRejected);
  }
  for (const PluginIndex plugin : queued.pending) add(plugin, ExplainedRejector::Kind::kPending);
  if (queued.gated_by) add(*queued.gated_by, ExplainedRejector::Kind::kGate);
  return result;
}

Explanation Scheduler::explain(const ExplainRequest& request) {
  const auto started = std::chrono::steady_clock::now();
  Explanation result = explain_now(request);
  result.took_us = std::chrono::duration_cast<std::chrono::microseconds>(
                       std::chrono::steady_clock::now() - started)
                       .count();
  return result;
}

Explanation Scheduler::explain_now(const ExplainRequest& request) {
  Explanation result;
  result.synced = state_.synced;
  result.standby = state_.standby;
  result.ns = request.ns;
  result.name = request.name;
  for (const auto& framework : state_.frameworks)
    result.profiles.push_back(framework->scheduler_name());
  if (!state_.synced) return result;
  for (const LostKinds::Need& lost : state_.lost_kinds.needs_of_all())
    result.outdated.push_back({lost.kind, "", lost.why, state_.now_ms() - lost.since_ms});
  PodRef pod = request.what_if ? request.what_if : find_pod(request);
  if (!pod) return result;

  const std::string uid(view(pod->meta.uid));
  result.uid = uid;
  result.scheduler_name = view(pod->scheduler_name);
  result.priority = pod->priority;
  result.terminating = pod->meta.deletion_ms != 0;
  result.nominated_node = state_.nominator.node_of(uid);
  if (result.nominated_node.empty()) result.nominated_node = view(pod->nominated_node_name);
  Framework* own = state_.framework_for(*pod);
  Framework& framework = own != nullptr ? *own : *state_.frameworks.front();
  result.profile = framework.scheduler_name();

  const Attempt* attempt = bindings_.find(uid);
  // The place that a pod has while its group is tried may be given back.
  const bool is_tried =
      attempt == nullptr && state_.is_decided_on(*pod) && state_.queue.entry(uid) != nullptr;
  if (const PodRef placed = state_.cluster.pod(uid); placed && !is_tried) {
    pod = placed;
    result.node = view(placed->node_name);
    const bool waits = attempt != nullptr && !attempt->waits.empty();
    result.state = waits                            ? ExplainedState::kWaitingOnPermit
                   : state_.cluster.is_assumed(uid) ? ExplainedState::kBinding
                                                    : ExplainedState::kBound;
    if (waits) {
      for (const auto& [plugin, wait] : attempt->waits) {
        const int64_t due = wait.timer == state_.timers.end() ? state_.now_ms() : wait.timer->first;
        result.waits.push_back({plugin, std::max<int64_t>(0, due - state_.now_ms())});
      }
    }
  } else if (request.what_if) {
    result.state = ExplainedState::kWhatIf;
  } else {
    result.state = ExplainedState::kQueued;
    if (const QueuedPod* queued = state_.queue.entry(uid)) {
      result.queue = queue_place(*queued);
      result.queue->pods_there = pods_in(result.queue->place, state_.queue.sizes());
      result.queue->rejectors = rejectors_of(*queued, framework);
      if (queued->group != nullptr) result.group = explained(*queued->group);
    }
  }

  const bool placed = !result.node.empty();
  if (!placed) {
    for (const LostKinds::Need& need : state_.lost_kinds.needs_of(framework, *pod)) {
      const bool asked = need.plugin != kNoPlugin;
      result.losses.push_back({need.kind,
                               asked ? std::string(framework.plugin_name(need.plugin)) : "",
                               need.why, state_.now_ms() - need.since_ms});
    }
  }
  result.placement =
      state_.placer.report({framework, placed ? assigned_copy(pod, "") : state_.as_nominated(pod),
                            placed ? pod : nullptr, request.texts_per_reason});
  return result;
}

}  // namespace plimsoll

// What the loop does with each message. Kubernetes: pkg/scheduler/eventhandlers.go.

#include <algorithm>
#include <tuple>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/intake.hpp"
#include "framework/cycle/queue_metrics.hpp"
#include "framework/objects/pod_group.hpp"

namespace plimsoll {
namespace {

bool is_finished(const plimsoll_pod& pod) {
  return pod.phase == PLIMSOLL_PHASE_SUCCEEDED || pod.phase == PLIMSOLL_PHASE_FAILED;
}

// What plugins get as the text of PLIMSOLL_OBJECT_SYNCED when the kind does not exist in the
// cluster.
constexpr std::string_view kNotServed = R"({"served":false})";

// RejectWaitingPod's word for pods that were deleted while they waited.
constexpr const char* kRemoved = "removed";

bool is_pod_message(const Message& message) {
  return std::holds_alternative<PodUpserted>(message) ||
         std::holds_alternative<PodDeleted>(message);
}

}  // namespace

void Intake::handle(Message& message) {
  state_.begin_step();
  // Plugins hear of nodes and kinds before they hear of pods, so pods wait for the first lists.
  if (!state_.synced && is_pod_message(message)) {
    hold(std::move(message));
    return;
  }
  if (defer(message)) return;
  place_resources();
  if (state_.queue_metrics) state_.queue_metrics->begin_message();
  std::visit([this](auto& what) { handle(what); }, message);
  if (state_.queue_metrics) state_.queue_metrics->end_message();
}

// The attempt that is under way goes by what the group's pods were when it began.
bool Intake::defer(Message& message) {
  if (state_.decided_on.empty()) return false;
  const auto concerns = [this](const PodRef& pod) {
    const std::string uid(view(pod->meta.uid));
    for (const PodRef& known : {pod, state_.queue.find(uid), state_.cluster.pod(uid)}) {
      if (known && state_.is_decided_on(*known)) state_.deferred_pods.insert(uid);
    }
    return state_.deferred_pods.contains(uid);
  };
  const auto names = [this](const RawObject& object) {
    const GroupKind kind = group_kind(object.resource);
    return kind != GroupKind::kNone &&
           GroupName{kind, object.ns, object.name}.key() == state_.decided_on;
  };
  bool defers = false;
  if (const auto* pod = std::get_if<PodUpserted>(&message)) defers = concerns(pod->pod);
  if (const auto* pod = std::get_if<PodDeleted>(&message)) defers = concerns(pod->last_known);
  if (const auto* set = std::get_if<ObjectUpserted>(&message)) defers = names(*set->object);
  if (const auto* gone = std::get_if<ObjectDeleted>(&message)) defers = names(*gone->last_known);
  const auto* task = std::get_if<Task>(&message);
  if (!defers && state_.watch_waits_since && (task == nullptr || task->in_order)) {
    ++state_.deferred_of_others;
    defers = true;
  }
  if (defers) state_.deferred.push_back(std::move(message));
  return defers;
}

// Only the newest word about a pod is kept: a kind that is refused for hours must not fill the
// memory.
void Intake::hold(Message message) {
  const PodRef& pod = std::holds_alternative<PodUpserted>(message)
                          ? std::get<PodUpserted>(message).pod
                          : std::get<PodDeleted>(message).last_known;
  const std::string_view uid = view(pod->meta.uid);
  auto known = held_.extract(uid);
  if (std::holds_alternative<PodDeleted>(message)) return;
  if (known.empty()) {
    held_.emplace(uid, HeldPod{pod, ++held_count_});
    return;
  }
  known.key() = uid;
  known.mapped().pod = pod;
  held_.insert(std::move(known));
}

void Intake::handle(Task& message) {
  message.run();
}

// ---- resources that no node has named yet

PodRef Intake::placed(PodRef pod, bool followed) {
  const std::string_view uid = view(pod->meta.uid);
  if (followed && has_unplaced(*pod)) {
    pod = reindexed(pod, state_.environment.symbols);
    if (has_unplaced(*pod)) {
      unplaced_[std::string(uid)] = pod;
      return pod;
    }
  }
  if (!unplaced_.empty()) unplaced_.erase(uid);
  return pod;
}

// Before the message that brought the new name: its hints find pods that ask for it as they are.
void Intake::place_resources() {
  const uint32_t known = state_.environment.symbols.resource_count();
  // What is watched may have a newer word about any of them.
  if (known == known_resources_ || state_.watch_waits_since) return;
  known_resources_ = known;
  std::vector<PodRef> changed;
  for (const auto& [uid, pod] : unplaced_) {
    if (state_.deferred_pods.contains(uid)) continue;  // a newer word about it waits
    if (PodRef now = reindexed(pod, state_.environment.symbols); now != pod) {
      changed.push_back(std::move(now));
    }
  }
  for (PodRef& pod : changed) {
    if (state_.environment.stop_asked()) return;
    Message message = PodUpserted{std::move(pod)};
    if (!defer(message)) handle(std::get<PodUpserted>(message));
  }
}

// ---- nodes

void Intake::handle(NodeUpserted& message) {
  const NodeRef node = std::move(message.node);
  const std::string_view name = view(node->meta.name);
  const NodeInfo* known = state_.cluster.node(name);
  const NodeRef before = known == nullptr ? nullptr : known->node();
  const uint32_t aspects = state_.cluster.upsert_node(node);
  if (aspects != 0) ++state_.nodes_changed;
  const NodeInfo* info = state_.cluster.node(name);
  for (const auto& framework : state_.frameworks) {
    framework->node_event(before ? PLIMSOLL_NODE_CHANGED : PLIMSOLL_NODE_ADDED, *info->abi(),
                          aspects);
  }
  if (!before) {
    state_.queue.move_all(node_added(node), state_.now_ms());
    return;
  }
  for (const ClusterEvent& event : node_updated(before, node)) {
    state_.queue.move_all(event, state_.now_ms());
  }
}

void Intake::handle(NodeDeleted& message) {
  const NodeInfo* info = state_.cluster.node(message.name);
  if (info == nullptr) return;
  const NodeRef node = info->node();
  for (const auto& framework : state_.frameworks) {
    framework->node_event(PLIMSOLL_NODE_REMOVED, *info->abi(), 0);
  }
  state_.cluster.remove_node(message.name);
  ++state_.nodes_changed;
  state_.queue.move_all(node_deleted(node), state_.now_ms());
}

// ---- kinds that plugins watch

void Intake::handle(ObjectUpserted& message) {
  const RawRef object = std::move(message.object);
  const ObjectStore::Before before = state_.environment.objects.put(*object);
  for (const auto& framework : state_.frameworks) {
    framework->object_event(PLIMSOLL_OBJECT_UPSERT, object->resource, object->name, object->ns,
                            object->json);
  }
  ClusterEvent event = object_event(before.existed ? object : nullptr, object);
  event.old_object = nullptr;  // the old text is not kept: that would cost the cluster's size twice
  event.old_decoded = before.object;
  state_.queue.move_all(event, state_.now_ms());
  group_changed(*object);
}

void Intake::handle(ObjectDeleted& message) {
  const RawRef object = std::move(message.last_known);
  const ObjectStore::Before before = state_.environment.objects.erase(*object);
  if (!before.existed) return;
  for (const auto& framework : state_.frameworks) {
    framework->object_event(PLIMSOLL_OBJECT_DELETE, object->resource, object->name, object->ns,
                            object->json);
  }
  ClusterEvent event = object_event(object, nullptr);
  event.old_decoded = before.object;
  state_.queue.move_all(event, state_.now_ms());
  group_changed(*object);
}

void Intake::group_changed(const RawObject& object) {
  const GroupKind kind = group_kind(object.resource);
  if (kind == GroupKind::kNone) return;
  state_.queue.group_changed({kind, object.ns, object.name}, state_.now_ms());
}

void Intake::give_back_room() {
  for (const GroupName& name : state_.queue.take_idle_groups()) {
    std::vector<PodRef> members;
    for (const QueuedPod* member : state_.queue.group(name)->members)
      members.push_back(member->pod);
    for (const PodRef& member : members) drop_nomination(member);
  }
}

// It would keep others away from room that it may never use.
void Intake::drop_nomination(const PodRef& pod) {
  const std::string node(state_.nominator.node_of(view(pod->meta.uid)));
  if (node.empty()) return;
  state_.nominator.remove(view(pod->meta.uid));
  state_.write_nomination(*pod, "");
  state_.nomination_ended(pod, node);
}

void Intake::group_changed(const plimsoll_pod& pod) {
  if (const GroupName group = state_.cluster.group_of(pod))
    state_.queue.group_changed(group, state_.now_ms());
}

void Intake::handle(KindSynced& message) {
  for (const auto& framework : state_.frameworks) {
    framework->object_event(PLIMSOLL_OBJECT_SYNCED, message.resource, "", "",
                            message.served ? "" : kNotServed);
  }
  kind_found(message.resource);
  state_.unsynced_kinds.erase(message.resource);
  if (!state_.synced && state_.unsynced_kinds.empty()) finish_initial_sync();
}

void Intake::handle(KindFollowed& message) {
  if (message.followed) return kind_found(message.resource);
  if (message.wanted) {
    log_debug("a kind is listed afresh", {{"kind", message.resource}});
  } else {
    log_warn("a kind is not followed: pods that rest on it wait",
             {{"kind", message.resource}, {"why", message.why}});
  }
  state_.lost_kinds.lost(message.resource, message.why, message.wanted, state_.now_ms());
  if (state_.lost_kinds.blind()) ++state_.nodes_changed;
}

// All that wait are tried at once: what they need besides, they are told again.
void Intake::kind_found(const std::string& resource) {
  const auto loss = state_.lost_kinds.found(resource);
  if (!loss) return;
  const std::unordered_set<std::string> waiting = state_.lost_kinds.take_waiting();
  (loss->wanted ? log_debug : log_info)("a kind is followed again",
                                        {{"kind", resource},
                                         {"lost_for_ms", state_.now_ms() - loss->since_ms},
                                         {"pods_that_waited", waiting.size()}});
  for (const std::string& uid : waiting) state_.queue.activate(uid, state_.now_ms());
}

void Intake::finish_initial_sync() {
  state_.synced = true;
  // In the order of their creation, and of one moment as they came, which is that of their names.
  struct Next {
    int64_t creation_ms;
    uint64_t number;
    PodRef pod;
  };
  std::vector<Next> pods;
  pods.reserve(held_.size());
  for (auto& [uid, held] : std::exchange(held_, {})) {
    const int64_t creation_ms = held.pod->meta.creation_ms;
    pods.push_back({creation_ms, held.number, std::move(held.pod)});
  }
  std::sort(pods.begin(), pods.end(), [](const Next& a, const Next& b) {
    return std::tie(a.creation_ms, a.number) < std::tie(b.creation_ms, b.number);
  });
  for (Next& next : pods) {
    if (state_.environment.stop_asked()) return;
    PodUpserted message{std::move(next.pod)};
    handle(message);
  }
  log_info("the first lists are complete", {{"nodes", state_.cluster.node_count()},
                                            {"pods_with_a_node", state_.cluster.pod_count()},
                                            {"pods_to_schedule", state_.queue.sizes().active}});
}

void Intake::handle(ObjectMalformed& message) {
  ++state_.counters.malformed_objects[message.resource];
}

// ---- pods

void Intake::handle(PodUpserted& message) {
  const bool finished = is_finished(*message.pod);
  const bool assigned = message.pod->node_name.len != 0;
  const bool followed = !finished && (assigned || state_.framework_for(*message.pod) != nullptr);
  const PodRef pod = placed(std::move(message.pod), followed);
  if (finished) {
    forget_pod(pod);
  } else if (assigned) {
    assigned_pod(pod);
  } else if (followed) {
    pending_pod(pod);
  }
}

void Intake::handle(PodDeleted& message) {
  unplaced_.erase(view(message.last_known->meta.uid));
  forget_pod(message.last_known);
}

void Intake::tell_plugins(uint32_t type, const plimsoll_pod& pod, std::string_view node_name) {
  for (const auto& framework : state_.frameworks) framework->pod_event(type, pod, node_name);
}

void Intake::assigned_pod(const PodRef& pod) {
  const std::string_view uid = view(pod->meta.uid);
  const PodRef before = state_.cluster.pod(uid);
  state_.queue.remove(uid);
  const std::string nominated_to(state_.nominator.node_of(uid));
  state_.nominator.remove(uid);
  if (Attempt* attempt = bindings_.find(uid); attempt != nullptr) {
    attempt->seen_bound = true;
    if (attempt->waiting()) {
      bindings_.reject(std::string(uid), "", "pod was bound by another scheduler");
    }
  }
  const PodChange change = state_.cluster.upsert_pod(pod);
  group_changed(*pod);
  if (before && state_.cluster.group_of(*before) != state_.cluster.group_of(*pod))
    group_changed(*before);
  if (change == PodChange::kMoved) {
    tell_plugins(PLIMSOLL_POD_REMOVED, *before, view(before->node_name));
  }
  tell_plugins(PLIMSOLL_POD_ASSIGNED, *pod, view(pod->node_name));
  if (change == PodChange::kUpdated) {
    for (const ClusterEvent& event : pod_updated(kResourceAssignedPod, before, pod)) {
      state_.queue.move_all(event, state_.now_ms());
    }
    return;
  }
  // Where it waited on Permit it was forgotten above, without a word.
  const bool left =
      before && change == PodChange::kAdded && !equal(before->node_name, pod->node_name);
  if (change == PodChange::kMoved || left) {
    state_.queue.move_all(assigned_pod_deleted(before), state_.now_ms());
  }
  if (change == PodChange::kConfirmed) {
    // It may have changed since it was assumed, of which no other event tells.
    for (const ClusterEvent& event : pod_changes(kResourceAssignedPod, before, pod)) {
      state_.queue.move_all(event, state_.now_ms());
    }
  }
  state_.queue.move_all(assigned_pod_added(pod), state_.now_ms());
  // Somebody else bound it, to another node.
  if (nominated_to != view(pod->node_name)) state_.nomination_ended(pod, nominated_to);
}

void Intake::pending_pod(const PodRef& pod) {
  const std::string_view uid = view(pod->meta.uid);
  if (Attempt* attempt = bindings_.find(uid); attempt != nullptr) {
    // It is on its way; if that fails, this is what is tried again.
    attempt->latest = pod;
    attempt->deleted = false;
    if (attempt->waiting()) state_.queue.update(pod, state_.now_ms());
    if (pod->meta.deletion_ms == 0) return;
    // handleAssumedPodDeletion: a terminating pod gives its place back as soon as it can.
    if (attempt->waiting()) {
      bindings_.reject(std::string(uid), "", kRemoved);
    } else {
      (void)bindings_.cancel(uid, kRemoved);
    }
    return;
  }
  if (state_.cluster.is_assumed(uid)) return;  // bound by us; the watch has not caught up
  if (pod->meta.deletion_ms != 0 && state_.policy.group_of(*pod)) {
    drop_nomination(pod);
    state_.queue.remove(uid);  // its group does not count it any more
    return;
  }
  const PodRef before = state_.queue.find(uid);
  if (state_.queue_metrics) {
    state_.queue_metrics->happened(before ? "UnscheduledPodUpdate" : "UnscheduledPodAdd");
  }
  if (!before) {
    // Whoever nominated it, an earlier scheduler perhaps. Since 1.37 a gated pod keeps its room
    // too.
    (void)state_.queue.add(pod, state_.now_ms());
    state_.nominate(pod, Nominating::keep());
    return;
  }
  state_.queue.update(pod, state_.now_ms());
  state_.nominator.update(*before, pod);
  if (state_.policy.group_of(*before) != state_.policy.group_of(*pod)) drop_nomination(pod);
  if (!equal(before->nominated_node_name, pod->nominated_node_name)) {
    state_.nomination_ended(before, view(before->nominated_node_name));
  }
}

// `last_known`: the message's version of the pod.
void Intake::forget_pod(const PodRef& last_known) {
  const std::string_view uid = view(last_known->meta.uid);
  state_.lost_kinds.forget(uid);
  const PodRef pending = state_.queue.find(uid);
  // A terminating pod that was popped is in the queue no more, but keeps its room until it is gone.
  std::string nominated_to(state_.nominator.node_of(uid));
  if (nominated_to.empty() && pending) nominated_to = view(pending->nominated_node_name);
  state_.nominator.remove(uid);
  state_.queue.remove(uid);
  if (Attempt* attempt = bindings_.find(uid); attempt != nullptr) {
    attempt->deleted = true;
    if (attempt->waiting()) {
      bindings_.reject(std::string(uid), "", kRemoved);
    } else {
      attempt->gate->cancel(kRemoved);  // unless it has reached Bind, which will say so
    }
  }
  const PodRef pod = state_.cluster.pod(uid);
  if (!pod) {
    state_.nomination_ended(last_known, nominated_to);
    return;
  }
  state_.cluster.remove_pod(uid);
  group_changed(*pod);
  // How a pod ended stands in its last version only (a kubelet's refusal, say).
  const bool ended_there = is_finished(*last_known) && equal(last_known->node_name, pod->node_name);
  tell_plugins(PLIMSOLL_POD_REMOVED, ended_there ? *last_known : *pod, view(pod->node_name));
  state_.queue.move_all(assigned_pod_deleted(pod), state_.now_ms());
}

}  // namespace plimsoll

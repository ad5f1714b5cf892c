// What the loop does with each message. Kubernetes: pkg/scheduler/eventhandlers.go.

#include <algorithm>
#include <tuple>
#include <utility>

#include "framework/api/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/queue_metrics.hpp"
#include "framework/cycle/scheduler.hpp"

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

void Scheduler::handle(Message& message) {
  begin_step();
  // Plugins hear of nodes and kinds before they hear of pods, so pods wait for the first lists.
  if (!synced_ && is_pod_message(message)) {
    hold(std::move(message));
    return;
  }
  place_resources();
  if (queue_metrics_) queue_metrics_->begin_message();
  std::visit([this](auto& what) { handle(what); }, message);
  if (queue_metrics_) queue_metrics_->end_message();
}

// Only the newest word about a pod is kept: a kind that is refused for hours must not fill the
// memory.
void Scheduler::hold(Message message) {
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

void Scheduler::handle(Task& message) {
  message.run();
}

// ---- resources that no node has named yet

PodRef Scheduler::placed(PodRef pod, bool followed) {
  const std::string_view uid = view(pod->meta.uid);
  if (followed && has_unplaced(*pod)) {
    pod = reindexed(pod, environment_.symbols);
    if (has_unplaced(*pod)) {
      unplaced_[std::string(uid)] = pod;
      return pod;
    }
  }
  if (!unplaced_.empty()) unplaced_.erase(uid);
  return pod;
}

// Before the message that brought the new name: its hints find pods that ask for it as they are.
void Scheduler::place_resources() {
  const uint32_t known = environment_.symbols.resource_count();
  if (known == known_resources_) return;
  known_resources_ = known;
  std::vector<PodRef> changed;
  for (const auto& [uid, pod] : unplaced_) {
    if (PodRef now = reindexed(pod, environment_.symbols); now != pod) {
      changed.push_back(std::move(now));
    }
  }
  for (PodRef& pod : changed) {
    PodUpserted message{std::move(pod)};
    handle(message);
  }
}

// ---- nodes

void Scheduler::handle(NodeUpserted& message) {
  const NodeRef node = std::move(message.node);
  const std::string_view name = view(node->meta.name);
  const NodeInfo* known = cluster_.node(name);
  const NodeRef before = known == nullptr ? nullptr : known->node();
  const uint32_t aspects = cluster_.upsert_node(node);
  const NodeInfo* info = cluster_.node(name);
  for (const auto& framework : frameworks_) {
    framework->node_event(before ? PLIMSOLL_NODE_CHANGED : PLIMSOLL_NODE_ADDED, *info->abi(),
                          aspects);
  }
  if (!before) {
    queue_.move_all(node_added(node), now_ms());
    return;
  }
  for (const ClusterEvent& event : node_updated(before, node)) queue_.move_all(event, now_ms());
}

void Scheduler::handle(NodeDeleted& message) {
  const NodeInfo* info = cluster_.node(message.name);
  if (info == nullptr) return;
  const NodeRef node = info->node();
  for (const auto& framework : frameworks_) {
    framework->node_event(PLIMSOLL_NODE_REMOVED, *info->abi(), 0);
  }
  cluster_.remove_node(message.name);
  queue_.move_all(node_deleted(node), now_ms());
}

// ---- kinds that plugins watch

void Scheduler::handle(ObjectUpserted& message) {
  const RawRef object = std::move(message.object);
  const bool is_new =
      known_objects_[object->resource].insert(object->ns + "/" + object->name).second;
  for (const auto& framework : frameworks_) {
    framework->object_event(PLIMSOLL_OBJECT_UPSERT, object->resource, object->name, object->ns,
                            object->json);
  }
  ClusterEvent event = object_event(is_new ? nullptr : object, object);
  event.old_object = nullptr;  // the old text is not kept: that would cost the cluster's size twice
  queue_.move_all(event, now_ms());
}

void Scheduler::handle(ObjectDeleted& message) {
  const RawRef object = std::move(message.last_known);
  if (known_objects_[object->resource].erase(object->ns + "/" + object->name) == 0) return;
  for (const auto& framework : frameworks_) {
    framework->object_event(PLIMSOLL_OBJECT_DELETE, object->resource, object->name, object->ns,
                            object->json);
  }
  queue_.move_all(object_event(object, nullptr), now_ms());
}

void Scheduler::handle(KindSynced& message) {
  if (!message.served) {
    log_warn("this API server does not serve a kind that plugins use; is its CRD installed?",
             {{"kind", message.resource}});
  }
  for (const auto& framework : frameworks_) {
    framework->object_event(PLIMSOLL_OBJECT_SYNCED, message.resource, "", "",
                            message.served ? "" : kNotServed);
  }
  kind_found(message.resource);
  unsynced_kinds_.erase(message.resource);
  if (!synced_ && unsynced_kinds_.empty()) finish_initial_sync();
}

void Scheduler::handle(KindFollowed& message) {
  if (message.followed) return kind_found(message.resource);
  log_warn("a kind is not followed: pods that rest on it wait",
           {{"kind", message.resource}, {"why", message.why}});
  lost_kinds_.lost(message.resource, message.why, now_ms());
}

// All that wait are tried at once: what they need besides, they are told again.
void Scheduler::kind_found(const std::string& resource) {
  const auto loss = lost_kinds_.found(resource);
  if (!loss) return;
  const std::unordered_set<std::string> waiting = lost_kinds_.take_waiting();
  log_info("a kind is followed again", {{"kind", resource},
                                        {"lost_for_ms", now_ms() - loss->since_ms},
                                        {"pods_that_waited", waiting.size()}});
  for (const std::string& uid : waiting) queue_.activate(uid, now_ms());
}

void Scheduler::finish_initial_sync() {
  synced_ = true;
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
    PodUpserted message{std::move(next.pod)};
    handle(message);
  }
  log_info("the first lists are complete", {{"nodes", cluster_.node_count()},
                                            {"pods_with_a_node", cluster_.pod_count()},
                                            {"pods_to_schedule", queue_.sizes().active}});
}

void Scheduler::handle(ObjectMalformed& message) {
  ++counters_.malformed_objects[message.resource];
}

// ---- pods

void Scheduler::handle(PodUpserted& message) {
  const bool finished = is_finished(*message.pod);
  const bool assigned = message.pod->node_name.len != 0;
  const bool followed = !finished && (assigned || framework_for(*message.pod) != nullptr);
  const PodRef pod = placed(std::move(message.pod), followed);
  if (finished) {
    forget_pod(pod);
  } else if (assigned) {
    assigned_pod(pod);
  } else if (followed) {
    pending_pod(pod);
  }
}

void Scheduler::handle(PodDeleted& message) {
  unplaced_.erase(view(message.last_known->meta.uid));
  forget_pod(message.last_known);
}

void Scheduler::tell_plugins(uint32_t type, const plimsoll_pod& pod, std::string_view node_name) {
  for (const auto& framework : frameworks_) framework->pod_event(type, pod, node_name);
}

void Scheduler::assigned_pod(const PodRef& pod) {
  const std::string_view uid = view(pod->meta.uid);
  const PodRef before = cluster_.pod(uid);
  queue_.remove(uid);
  const std::string nominated_to(nominator_.node_of(uid));
  nominator_.remove(uid);
  if (const auto attempt = attempts_.find(uid); attempt != attempts_.end()) {
    attempt->second->seen_bound = true;
    if (attempt->second->waiting()) {
      reject(std::string(uid), "", "pod was bound by another scheduler");
    }
  }
  const PodChange change = cluster_.upsert_pod(pod);
  if (change == PodChange::kMoved) {
    tell_plugins(PLIMSOLL_POD_REMOVED, *before, view(before->node_name));
  }
  tell_plugins(PLIMSOLL_POD_ASSIGNED, *pod, view(pod->node_name));
  if (change == PodChange::kUpdated) {
    for (const ClusterEvent& event : pod_updated(kResourceAssignedPod, before, pod)) {
      queue_.move_all(event, now_ms());
    }
    return;
  }
  if (change == PodChange::kMoved) queue_.move_all(assigned_pod_deleted(before), now_ms());
  queue_.move_all(assigned_pod_added(pod), now_ms());
  // Somebody else bound it, to another node.
  if (nominated_to != view(pod->node_name)) nomination_ended(pod, nominated_to);
}

// The room that was kept for the pod is free again. Kubernetes: getLEPriorityPreCheck. Hints get
// the pod as if it had run there: of one without a node they would say that it helps nobody.
void Scheduler::nomination_ended(const PodRef& pod, std::string_view node_name,
                                 std::string_view except_uid) {
  if (node_name.empty()) return;
  ClusterEvent event = assigned_pod_deleted(assigned_copy(pod, node_name));
  event.max_priority = pod->priority;
  queue_.move_all(event, now_ms(), except_uid);
}

void Scheduler::pending_pod(const PodRef& pod) {
  const std::string_view uid = view(pod->meta.uid);
  if (const auto attempt = attempts_.find(uid); attempt != attempts_.end()) {
    // It is on its way; if that fails, this is what is tried again.
    attempt->second->latest = pod;
    attempt->second->deleted = false;
    if (attempt->second->waiting()) queue_.update(pod, now_ms());
    if (pod->meta.deletion_ms == 0) return;
    // handleAssumedPodDeletion: a terminating pod gives its place back as soon as it can.
    if (attempt->second->waiting()) {
      reject(std::string(uid), "", kRemoved);
    } else if (attempt->second->gate->cancel(kRemoved) && cluster_.forget(uid)) {
      // Its PreBind may take minutes to end, and only then undo() comes; it will not be bound.
      queue_.move_all(assigned_pod_deleted(attempt->second->assumed), now_ms());
    }
    return;
  }
  if (cluster_.is_assumed(uid)) return;  // bound by us; the watch has not caught up
  const PodRef before = queue_.find(uid);
  if (queue_metrics_) {
    queue_metrics_->happened(before ? "UnschedulablePodUpdate" : "UnschedulablePodAdd");
  }
  if (!before) {
    // Whoever nominated it, an earlier scheduler perhaps. A gated pod keeps no room.
    if (!queue_.add(pod, now_ms()).gated_by) nominator_.add(pod, Nominating::keep());
    return;
  }
  queue_.update(pod, now_ms());
  nominator_.update(*before, pod);
  if (!equal(before->nominated_node_name, pod->nominated_node_name)) {
    nomination_ended(before, view(before->nominated_node_name));
  }
}

// `last_known`: the message's version of the pod.
void Scheduler::forget_pod(const PodRef& last_known) {
  const std::string_view uid = view(last_known->meta.uid);
  lost_kinds_.forget(uid);
  const PodRef pending = queue_.find(uid);
  // A terminating pod that was popped is in the queue no more, but keeps its room until it is gone.
  std::string nominated_to(nominator_.node_of(uid));
  if (nominated_to.empty() && pending) nominated_to = view(pending->nominated_node_name);
  nominator_.remove(uid);
  queue_.remove(uid);
  if (const auto attempt = attempts_.find(uid); attempt != attempts_.end()) {
    attempt->second->deleted = true;
    if (attempt->second->waiting()) {
      reject(std::string(uid), "", kRemoved);
    } else {
      attempt->second->gate->cancel(kRemoved);  // unless it has reached Bind, which will say so
    }
  }
  const PodRef pod = cluster_.pod(uid);
  if (!pod) {
    nomination_ended(last_known, nominated_to);
    return;
  }
  cluster_.remove_pod(uid);
  // How a pod ended stands in its last version only (a kubelet's refusal, say).
  const bool ended_there = is_finished(*last_known) && equal(last_known->node_name, pod->node_name);
  tell_plugins(PLIMSOLL_POD_REMOVED, ended_there ? *last_known : *pod, view(pod->node_name));
  queue_.move_all(assigned_pod_deleted(pod), now_ms());
}

}  // namespace plimsoll

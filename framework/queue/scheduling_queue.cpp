#include "framework/queue/scheduling_queue.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace plimsoll {
namespace {

// Labels of queue_incoming_pods_total besides those of cluster events.
constexpr std::string_view kPodAdd = "UnscheduledPodAdd";
constexpr std::string_view kPodUpdate = "UnscheduledPodUpdate";
constexpr std::string_view kPopFromBackoffQ = "PopFromBackoffQ";

}  // namespace

bool SchedulingQueue::ByKey::operator()(const QueuedPod& a, const QueuedPod& b) const {
  const int order = std::memcmp(a.key.data(), b.key.data(), a.key.size());
  return order != 0 ? order < 0 : a.sequence < b.sequence;
}

bool SchedulingQueue::ByExpiryWindow::operator()(const QueuedPod& a, const QueuedPod& b) const {
  if (a.backoff_expiry_ms != b.backoff_expiry_ms) return a.backoff_expiry_ms < b.backoff_expiry_ms;
  return ByKey{}(a, b);
}

SchedulingQueue::SchedulingQueue(QueuePolicy& policy, QueueConfig config)
    : policy_(policy), config_(config) {}
SchedulingQueue::~SchedulingQueue() = default;

// ---- places

QueuedPod* SchedulingQueue::known(std::string_view uid) {
  const auto found = pods_.find(uid);
  return found == pods_.end() || found->second->departed ? nullptr : found->second.get();
}

const QueuedPod* SchedulingQueue::entry(std::string_view uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() || found->second->departed ? nullptr : found->second.get();
}

PodRef SchedulingQueue::find(std::string_view uid) const {
  const QueuedPod* pod = entry(uid);
  return pod == nullptr ? nullptr : pod->pod;
}

void SchedulingQueue::take_out(QueuedPod& pod) {
  if (is_entry(pod)) count_members(pod, false);
  switch (pod.place) {
    case QueuePlace::kActive:
      active_.remove(&pod);
      break;
    case QueuePlace::kBackoff:
      backoff_.remove(&pod);
      break;
    case QueuePlace::kErrorBackoff:
      error_backoff_.remove(&pod);
      break;
    case QueuePlace::kUnschedulable:
      unschedulable_.erase(pod.sequence);
      if (pod.gated_by) --gated_;
      index_names(pod, false);
      for_each_rejector(pod, [&](PluginKey plugin) {
        const auto found = waiting_for_.find(plugin);
        found->second.erase(pod.sequence);
        if (found->second.empty()) waiting_for_.erase(found);
      });
      break;
    case QueuePlace::kInFlight:
    case QueuePlace::kInGroup:
      break;
  }
}

void SchedulingQueue::put(QueuedPod& pod, QueuePlace place) {
  pod.place = place;
  if (is_entry(pod)) count_members(pod, true);
  pod.sequence = ++sequence_;
  if (observer_ != nullptr && !cause_.empty()) observer_->entered(place, cause_);
  switch (place) {
    case QueuePlace::kActive:
      active_.push(&pod);
      break;
    case QueuePlace::kBackoff:
      backoff_.push(&pod);
      break;
    case QueuePlace::kErrorBackoff:
      error_backoff_.push(&pod);
      break;
    case QueuePlace::kUnschedulable:
      unschedulable_.emplace(pod.sequence, &pod);
      if (pod.gated_by) ++gated_;
      index_names(pod, true);
      for_each_rejector(
          pod, [&](PluginKey plugin) { waiting_for_[plugin].emplace(pod.sequence, &pod); });
      break;
    case QueuePlace::kInFlight:
    case QueuePlace::kInGroup:
      break;
  }
}

void SchedulingQueue::put_active(QueuedPod& pod, int64_t now_ms) {
  if (pod.initial_attempt_ms == 0) pod.initial_attempt_ms = now_ms;
  put(pod, QueuePlace::kActive);
}

void SchedulingQueue::set_key(QueuedPod& pod) {
  const SortKey key = key_of(pod, pod.queued_ms);
  const bool is_ordered = pod.place != QueuePlace::kUnschedulable;
  if (key == pod.key) return;
  const Cause none(*this, {});
  if (is_ordered) take_out(pod);
  pod.key = key;
  if (is_ordered) put(pod, pod.place);
}

void SchedulingQueue::index_names(QueuedPod& pod, bool waits) {
  // What the gate of a gated pod hears of is asked of all that rejected it before, too.
  const bool by_others = pod.gated_by && pod.rejectors.size() + pod.pending.size() > 1;
  const auto keys =
      is_entry(pod) || by_others ? std::vector<std::string>{""} : named_objects(*pod.pod);
  for (const std::string& key : keys) {
    if (waits) {
      naming_[key].emplace(pod.sequence, &pod);
    } else if (const auto found = naming_.find(key); found != naming_.end()) {
      found->second.erase(pod.sequence);
      if (found->second.empty()) naming_.erase(found);
    }
  }
}

// Visits each plugin whose hint can move an unschedulable pod, once. This set does not change while
// the pod is unschedulable.
template <typename Visit>
void SchedulingQueue::for_each_rejector(const QueuedPod& pod, Visit visit) {
  if (pod.gated_by) {
    const PluginKey gate = plugin_key(pod.profile, *pod.gated_by);
    if (!policy_.wakes_whom_it_gates(gate)) visit(gate);
    return;
  }
  for (const PluginIndex plugin : pod.rejectors) visit(plugin_key(pod.profile, plugin));
  for (const PluginIndex plugin : pod.pending) {
    if (!pod.rejectors.contains(plugin)) visit(plugin_key(pod.profile, plugin));
  }
}

// PreEnqueue runs before the active queue and before the backoff queue. A plugin that gated the pod
// stays in `rejectors` until the pod is popped, like any other rejecting plugin.
bool SchedulingQueue::passes_gates(QueuedPod& pod) {
  count_holders(pod, -1);
  // What held a group before it was ever tried is of no interest any more.
  if (is_entry(pod) && pod.group->refusals.empty()) pod.rejectors.clear();
  pod.gated_by = is_entry(pod) ? group_gate(*pod.group) : policy_.gate(*pod.pod);
  if (pod.gated_by) pod.rejectors.insert(*pod.gated_by);
  count_holders(pod, +1);
  if (is_entry(pod)) see_if_idle(*pod.group);
  return !pod.gated_by;
}

void SchedulingQueue::count_holders(const QueuedPod& pod, int change) const {
  if (observer_ == nullptr) return;
  for (const PluginIndex plugin : pod.rejectors) observer_->held_by(*pod.pod, plugin, change);
  for (const PluginIndex plugin : pod.pending) {
    if (!pod.rejectors.contains(plugin)) observer_->held_by(*pod.pod, plugin, change);
  }
}

// ---- pods, as the informer reports them

const QueuedPod& SchedulingQueue::add(PodRef pod, int64_t now_ms) {
  std::unique_ptr<QueuedPod>& entry = pods_[std::string(view(pod->meta.uid))];
  if (entry && !entry->departed) {
    const QueuedPod& updated = *entry;
    update(std::move(pod), now_ms);
    return updated;
  }
  const Cause cause(*this, kPodAdd);
  entry = std::make_unique<QueuedPod>();
  QueuedPod& added = *entry;
  added.pod = std::move(pod);
  added.profile = policy_.profile(*added.pod);
  added.queued_ms = now_ms;
  enter(added, now_ms);
  return added;
}

void SchedulingQueue::enter(QueuedPod& pod, int64_t now_ms) {
  if (policy_.group_of(*pod.pod) && !stays_apart(pod)) return arrive(pod, now_ms);
  pod.key = policy_.sort_key(*pod.pod, pod.queued_ms);
  put_where_it_may(pod, now_ms);
}

void SchedulingQueue::put_where_it_may(QueuedPod& pod, int64_t now_ms) {
  if (!passes_gates(pod)) return put(pod, QueuePlace::kUnschedulable);
  if (backing_off(pod, now_ms)) return put(pod, QueuePlace::kErrorBackoff);
  put_active(pod, now_ms);
}

void SchedulingQueue::update(PodRef pod, int64_t now_ms) {
  QueuedPod* entry = known(view(pod->meta.uid));
  if (entry == nullptr) {
    add(std::move(pod), now_ms);
    return;
  }
  const GroupName group = policy_.group_of(*pod);
  const bool moves = policy_.group_of(*entry->pod) != group ||
                     (entry->group != nullptr &&
                      (entry->pod->priority != pod->priority ||
                       policy_.group(group, *entry->pod) != policy_.group(group, *pod)));
  if (moves && entry->place != QueuePlace::kInFlight) {
    const Cause cause(*this, kPodUpdate);
    return enter_afresh(*entry, std::move(pod), now_ms);
  }
  const bool waits = entry->place == QueuePlace::kUnschedulable;
  if (waits) index_names(*entry, false);
  const PodRef before = std::exchange(entry->pod, std::move(pod));
  if (waits) index_names(*entry, true);
  if (entry->group != nullptr && entry->group->entry.pod == before)
    entry->group->entry.pod = entry->pod;
  std::vector<SeenEvent> seen;
  for (ClusterEvent& event : pod_updated(kResourceUnschedulablePod, before, entry->pod)) {
    std::vector<PluginKey> interested = policy_.interested(event);
    if (!interested.empty()) seen.push_back({std::move(event), std::move(interested)});
  }
  if (entry->place == QueuePlace::kInFlight) {
    // Checked when the attempt ends: the update may have removed the cause of the rejection.
    for (SeenEvent& each : seen) remember(std::move(each));
    return;
  }
  if (entry->place == QueuePlace::kInGroup) return update_member(*entry, seen, now_ms);
  set_key(*entry);
  if (entry->place != QueuePlace::kUnschedulable) return;
  for (const SeenEvent& each : seen) {
    const Strategy strategy = worth_requeuing(*entry, each);
    if (strategy == Strategy::kSkip) continue;
    const Cause cause(*this, each.event.label);
    requeue(*entry, strategy, now_ms);
    break;
  }
}

void SchedulingQueue::pull(QueuedPod& pod) {
  if (pod.place == QueuePlace::kInGroup) {
    QueuedGroup& group = *pod.group;
    leave(pod);
    return settle(group, pod);
  }
  count_holders(pod, -1);
  take_out(pod);
}

void SchedulingQueue::take_backoff(QueuedPod& pod, const QueuedPod& from) {
  if (from.unschedulable_count == 0 && from.consecutive_errors == 0) return;
  pod.unschedulable_count = from.unschedulable_count;
  pod.consecutive_errors = from.consecutive_errors;
  pod.queued_ms = from.queued_ms;
  pod.backoff_expiry_ms = -1;
}

void SchedulingQueue::enter_afresh(QueuedPod& pod, PodRef now, int64_t now_ms) {
  // What its group has failed at counts on: a label may change at any time.
  if (pod.group != nullptr) take_backoff(pod, pod.group->entry);
  pull(pod);
  pod.pod = std::move(now);
  pod.rejectors.clear();
  pod.pending.clear();
  pod.gated_by.reset();
  enter(pod, now_ms);
}

void SchedulingQueue::remove(std::string_view uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  QueuedPod& entry = *found->second;
  if (entry.departed) {
    pods_.erase(found);
    return;
  }
  if (entry.place == QueuePlace::kInFlight) {
    end_flight(entry);
    prune_events();
  }
  pull(entry);
  pods_.erase(found);
}

// ---- the cycle

QueuedPod* SchedulingQueue::pop() {
  QueuedPod* pod = nullptr;
  while (pod == nullptr) {
    if (!active_.empty()) {
      pod = active_.pop();
    } else if (!backoff_.empty()) {
      pod = backoff_.pop();  // SchedulerPopFromBackoffQ
      if (observer_ != nullptr) observer_->entered(QueuePlace::kActive, kPopFromBackoffQ);
    } else {
      return nullptr;
    }
    if (!is_entry(*pod)) break;
    count_members(*pod, false);
    if (has_quorum(*pod->group)) break;
    // One of its pods has gone since.
    static_cast<void>(passes_gates(*pod));
    put(*std::exchange(pod, nullptr), QueuePlace::kUnschedulable);
  }
  pod->place = QueuePlace::kInFlight;
  ++pod->attempts;
  count_holders(*pod, -1);
  pod->rejectors.clear();
  pod->pending.clear();
  pod->gated_by.reset();
  if (is_entry(*pod)) {
    for (QueuedPod* member : pod->group->members) ++member->attempts;
  }
  begin_flight(*pod, next_event());
  return pod;
}

void SchedulingQueue::reject(std::string_view uid, const std::set<PluginIndex>& rejectors,
                             const std::set<PluginIndex>& pending, int64_t now_ms) {
  QueuedPod* pod = known(uid);
  if (pod == nullptr || pod->place != QueuePlace::kInFlight) return;
  const uint64_t flight_since = end_flight(*pod);
  const Cause cause(*this, kScheduleAttemptFailure);
  count_failure(*pod, rejectors, pending, now_ms);
  requeue_after_attempt(*pod, flight_since, now_ms);
  prune_events();
}

void SchedulingQueue::count_failure(QueuedPod& pod, const std::set<PluginIndex>& rejectors,
                                    const std::set<PluginIndex>& pending, int64_t now_ms) {
  count_holders(pod, -1);
  pod.rejectors = rejectors;
  pod.pending = pending;
  count_holders(pod, +1);
  pod.flushed = false;
  if (rejectors.empty() && pending.empty()) {
    ++pod.consecutive_errors;
  } else {
    ++pod.unschedulable_count;
    pod.consecutive_errors = 0;
  }
  pod.queued_ms = now_ms;
  pod.backoff_expiry_ms = -1;
  pod.key = key_of(pod, now_ms);
}

void SchedulingQueue::fail(std::string_view uid, int64_t now_ms) {
  reject(uid, {}, {}, now_ms);
}

void SchedulingQueue::requeue_after_attempt(QueuedPod& pod, uint64_t flight_since, int64_t now_ms) {
  Strategy best =
      pod.rejectors.empty() && pod.pending.empty() ? Strategy::kAfterBackoff : Strategy::kSkip;
  if (flight_since < events_begin_) best = Strategy::kAfterBackoff;
  for (uint64_t at = std::max(flight_since, events_begin_); at < events_begin_ + events_.size();
       ++at) {
    if (best == Strategy::kImmediately) break;
    best = std::max(best, worth_requeuing(pod, events_[static_cast<size_t>(at - events_begin_)]));
  }
  requeue(pod, best, now_ms);
}

void SchedulingQueue::done(std::string_view uid) {
  QueuedPod* pod = known(uid);
  if (pod == nullptr || pod->place != QueuePlace::kInFlight) return;
  end_flight(*pod);
  prune_events();
  pod->departed = true;
}

void SchedulingQueue::restore(PodRef pod, const std::set<PluginIndex>& rejectors, int64_t now_ms) {
  std::unique_ptr<QueuedPod>& entry = pods_[std::string(view(pod->meta.uid))];
  if (entry && !entry->departed) return;
  if (!entry) entry = std::make_unique<QueuedPod>();
  QueuedPod& restored = *entry;
  restored.departed = false;
  restored.pod = std::move(pod);
  restored.profile = policy_.profile(*restored.pod);
  restored.place = QueuePlace::kInFlight;
  const Cause cause(*this, kScheduleAttemptFailure);
  count_failure(restored, rejectors, {}, now_ms);
  if (policy_.group_gate(*restored.pod))
    return come_back(restored, Strategy::kAfterBackoff, now_ms);
  // Never popped early, whatever made it fail: the events since done() are not kept, so nothing
  // shows that another attempt would succeed now.
  if (!passes_gates(restored)) {
    put(restored, QueuePlace::kUnschedulable);
  } else {
    put(restored, backing_off(restored, now_ms) ? QueuePlace::kErrorBackoff : QueuePlace::kActive);
  }
}

void SchedulingQueue::forget(std::string_view uid) {
  const auto found = pods_.find(uid);
  if (found != pods_.end() && found->second->departed) pods_.erase(found);
}

// ---- views

SchedulingQueue::Sizes SchedulingQueue::sizes() const {
  return {active_.size() + further_.active,
          backoff_.size() + error_backoff_.size() + further_.backoff,
          unschedulable_.size() - gated_ + further_.unschedulable,
          gated_ + further_.gated,
          in_flight_,
          events_.size()};
}

std::vector<const QueuedPod*> SchedulingQueue::list(QueuePlace place) const {
  std::vector<const QueuedPod*> found;
  for (const auto& [uid, pod] : pods_) {
    if (pod->place == place && !pod->departed) found.push_back(pod.get());
  }
  std::sort(found.begin(), found.end(),
            [](const QueuedPod* a, const QueuedPod* b) { return a->sequence < b->sequence; });
  return found;
}

}  // namespace plimsoll

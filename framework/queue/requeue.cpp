// What requeues a pod: events, also those during its attempt, and the end of a backoff.

#include <algorithm>
#include <utility>

#include "framework/queue/scheduling_queue.hpp"

namespace plimsoll {
namespace {

constexpr int64_t kBackoffWindowMs = 1000;
constexpr int64_t kBackoffFlushMs = 1000;
constexpr int64_t kUnschedulableFlushMs = 30'000;
// Labels of queue_incoming_pods_total besides those of cluster events.
constexpr std::string_view kBackoffComplete = "BackoffComplete";
constexpr std::string_view kForceActivate = "ForceActivate";
// The most events that are kept for pods in flight. A pod that waits on Permit for minutes may miss
// older ones. It is then tried again after a backoff, as if one of them had helped.
constexpr size_t kMaxInFlightEvents = 10'000;

int64_t truncate_to_window(int64_t ms) {
  return ms - ms % kBackoffWindowMs;
}

}  // namespace

// ---- pods in flight, and the events meanwhile

// `since`: of now, or of a pod in flight.
void SchedulingQueue::begin_flight(QueuedPod& pod, uint64_t since) {
  pod.flight_since = since;
  ++in_flight_;
  if (flight_starts_.empty() || flight_starts_.back().first < since) {
    flight_starts_.emplace_back(since, 0);
  }
  ++flight_start(since)->second;
}

SchedulingQueue::FlightStarts::iterator SchedulingQueue::flight_start(uint64_t since) {
  return std::ranges::lower_bound(flight_starts_, since, {}, &FlightStarts::value_type::first);
}

uint64_t SchedulingQueue::end_flight(QueuedPod& pod) {
  if (!pod.flight_since) return next_event();
  const uint64_t since = *std::exchange(pod.flight_since, std::nullopt);
  --in_flight_;
  --flight_start(since)->second;
  while (!flight_starts_.empty() && flight_starts_.front().second == 0) flight_starts_.pop_front();
  return since;
}

// Drops the events that are older than every pod in flight.
void SchedulingQueue::prune_events() {
  const uint64_t needed = flight_starts_.empty() ? next_event() : flight_starts_.front().first;
  while (events_begin_ < needed) drop_oldest_event();
}

void SchedulingQueue::drop_oldest_event() {
  if (observer_ != nullptr) observer_->event_kept(events_.front().event.label, -1);
  events_.pop_front();
  ++events_begin_;
}

void SchedulingQueue::remember(SeenEvent seen) {
  if (observer_ != nullptr) observer_->event_kept(seen.event.label, +1);
  events_.push_back(std::move(seen));
  if (events_.size() > kMaxInFlightEvents) drop_oldest_event();
}

// ---- events and backoffs

bool SchedulingQueue::is_interested(const SeenEvent& seen, ProfileIndex profile,
                                    PluginIndex plugin) {
  return std::binary_search(seen.interested.begin(), seen.interested.end(),
                            plugin_key(profile, plugin));
}

// isPodWorthRequeuing.
SchedulingQueue::Strategy SchedulingQueue::worth_requeuing(const QueuedPod& pod,
                                                           const SeenEvent& seen) {
  if (is_entry(pod) && seen.event.wildcard && seen.event.new_pod) {
    const QueuedPod* activated = entry(view(seen.event.new_pod->meta.uid));
    const bool is_member = activated != nullptr && activated->group == pod.group;
    return is_member ? Strategy::kAfterBackoff : Strategy::kSkip;
  }
  if (!is_entry(pod) || pod.gated_by || pod.group->refusals.empty())
    return worth_requeuing(*pod.pod, pod.profile, pod.rejectors, pod.pending, seen);
  Strategy best = Strategy::kSkip;
  for (const GroupRefusal& refusal : pod.group->refusals) {
    if (best == Strategy::kImmediately) break;
    const auto is_asked = [&](PluginIndex plugin) {
      return is_interested(seen, pod.profile, plugin);
    };
    if (refusal.others && std::ranges::any_of(refusal.rejectors, is_asked))
      best = Strategy::kAfterBackoff;
    best = std::max(
        best, worth_requeuing(*refusal.pod, pod.profile, refusal.rejectors, refusal.pending, seen));
  }
  return best;
}

SchedulingQueue::Strategy SchedulingQueue::worth_requeuing(const plimsoll_pod& pod,
                                                           ProfileIndex profile,
                                                           const std::set<PluginIndex>& rejectors,
                                                           const std::set<PluginIndex>& pending,
                                                           const SeenEvent& seen) {
  const ClusterEvent& event = seen.event;
  if (rejectors.empty() && pending.empty()) return Strategy::kAfterBackoff;
  if (event.wildcard) {
    const bool others = event.new_pod && view(event.new_pod->meta.uid) != view(pod.meta.uid);
    return others ? Strategy::kSkip : Strategy::kAfterBackoff;
  }
  const auto says_queue = [&](PluginIndex plugin) {
    return is_interested(seen, profile, plugin) &&
           policy_.hint(pod, plugin_key(profile, plugin), event) == QueueHint::kQueue;
  };
  // A plugin that answered Pending waited for exactly this event, so the pod skips its backoff.
  if (std::any_of(pending.begin(), pending.end(), says_queue)) return Strategy::kImmediately;
  return std::any_of(rejectors.begin(), rejectors.end(), says_queue) ? Strategy::kAfterBackoff
                                                                     : Strategy::kSkip;
}

int64_t SchedulingQueue::backoff_expiry(QueuedPod& pod) const {
  if (pod.backoff_expiry_ms >= 0) return pod.backoff_expiry_ms;
  const uint32_t count =
      pod.consecutive_errors > 0 ? pod.consecutive_errors : pod.unschedulable_count;
  const int64_t least = is_entry(pod) ? pod.group->facts.least_backoff_ms : 0;
  if (count == 0 || (config_.max_backoff_ms == 0 && least == 0)) {
    pod.backoff_expiry_ms = 0;
  } else {
    int64_t delay = config_.initial_backoff_ms;
    const bool rest =
        is_entry(pod) && pod.group->facts.runs_in_part() && pod.consecutive_errors == 0;
    const uint32_t at_once = rest ? QueuedGroup::kMostRefusalsInFront : 1;
    const uint32_t doublings = count - std::min(count, at_once);
    for (uint32_t i = 0; i < doublings && delay < config_.max_backoff_ms; ++i) delay *= 2;
    delay = std::max(std::min(delay, config_.max_backoff_ms), least);
    pod.backoff_expiry_ms = truncate_to_window(pod.queued_ms + delay);
  }
  return pod.backoff_expiry_ms;
}

// Compares expiry and now in whole windows. The window of the expiry still counts as backing off.
bool SchedulingQueue::backing_off(QueuedPod& pod, int64_t now_ms) const {
  const int64_t expiry = backoff_expiry(pod);
  return expiry != 0 && expiry >= truncate_to_window(now_ms);
}

// requeuePodWithQueueingStrategy.
void SchedulingQueue::requeue(QueuedPod& pod, Strategy strategy, int64_t now_ms) {
  if (!is_entry(pod) && policy_.group_of(*pod.pod)) {
    if (pod.place != QueuePlace::kUnschedulable) return come_back(pod, strategy, now_ms);
    if (!stays_apart(pod)) return enter_afresh(pod, pod.pod, now_ms);
  }
  take_out(pod);
  if (strategy == Strategy::kSkip || !passes_gates(pod)) {
    pod.flushed = false;  // what wakes it later is no flush
    put(pod, QueuePlace::kUnschedulable);
  } else if (strategy == Strategy::kAfterBackoff && backing_off(pod, now_ms)) {
    const bool error = pod.rejectors.empty() && pod.pending.empty();
    // A group that is to be left alone for a time is, even if there is nothing else to do.
    const bool alone = is_entry(pod) && pod.group->facts.least_backoff_ms > 0;
    put(pod, error || alone ? QueuePlace::kErrorBackoff : QueuePlace::kBackoff);
  } else {
    put_active(pod, now_ms);
  }
}

void SchedulingQueue::move_all(const ClusterEvent& event, int64_t now_ms,
                               std::string_view except_uid) {
  SeenEvent seen{event, policy_.interested(event)};
  if (seen.interested.empty() && !event.wildcard) return;
  std::vector<QueuedPod*> pods;
  ++looks_;
  const auto collect = [&](const BySequence& some, const BySequence* among = nullptr) {
    for (const auto& [sequence, pod] : some) {
      if (among != nullptr && !among->contains(sequence)) continue;
      if (std::exchange(pod->looked_at, looks_) == looks_) continue;
      const bool is_group = is_entry(*pod) && !pod->group->priorities.empty();
      const int32_t priority =
          is_group ? pod->group->priorities.begin()->first : pod->pod->priority;
      if (priority > event.max_priority) continue;
      if (view(pod->pod->meta.uid) != except_uid) pods.push_back(pod);
    }
  };
  if (event.wildcard) {
    collect(unschedulable_);
  } else {
    for (const PluginKey plugin : seen.interested) {
      const auto waiting = waiting_for_.find(plugin);
      if (waiting == waiting_for_.end()) continue;
      if (!policy_.named_only(plugin, event)) {
        collect(waiting->second);
        continue;
      }
      for (const std::string& key : {object_key(event), std::string()}) {
        const auto naming = naming_.find(key);
        if (naming != naming_.end()) collect(naming->second, &waiting->second);
      }
    }
    // In the order in which they became unschedulable, regardless of the plugin.
    std::sort(pods.begin(), pods.end(),
              [](const QueuedPod* a, const QueuedPod* b) { return a->sequence < b->sequence; });
  }
  move(pods, std::move(seen), now_ms);
}

// movePodsToActiveOrBackoffQueue.
void SchedulingQueue::move(const std::vector<QueuedPod*>& pods, SeenEvent seen, int64_t now_ms) {
  const Cause cause(*this, seen.event.label);
  for (QueuedPod* pod : pods) {
    // Only an event that the gating plugin registered can ungate the pod; or the flush, since
    // Kubernetes 1.37.
    if (pod->gated_by && !seen.event.wildcard && !is_interested(seen, pod->profile, *pod->gated_by))
      continue;
    const Strategy strategy = worth_requeuing(*pod, seen);
    if (strategy != Strategy::kSkip) requeue(*pod, strategy, now_ms);
  }
  if (in_flight_ != 0) remember(std::move(seen));
}

void SchedulingQueue::activate(std::string_view uid, int64_t now_ms) {
  QueuedPod* pod = known(uid);
  if (pod == nullptr) return;
  const PodRef activated = pod->pod;
  if (pod->place == QueuePlace::kInGroup) pod = &pod->group->entry;
  ClusterEvent event = force_activate_event();
  const Cause cause(*this, kForceActivate);
  switch (pod->place) {
    case QueuePlace::kActive:
      return;
    case QueuePlace::kBackoff:
    case QueuePlace::kErrorBackoff:  // it passed PreEnqueue before it was put there
      take_out(*pod);
      put_active(*pod, now_ms);
      return;
    case QueuePlace::kUnschedulable:
      requeue(*pod, Strategy::kImmediately, now_ms);
      return;
    case QueuePlace::kInGroup:
      return;
    case QueuePlace::kInFlight:
      event.new_pod = activated;
      remember({std::move(event), {}});
      return;
  }
}

void SchedulingQueue::flush_backoff(int64_t now_ms) {
  const Cause cause(*this, kBackoffComplete);
  for (auto* heap : {&backoff_, &error_backoff_}) {
    while (!heap->empty() && !backing_off(*heap->top(), now_ms)) {
      QueuedPod& pod = *heap->top();
      take_out(pod);
      put_active(pod, now_ms);
    }
  }
}

// flushUnschedulablePodsLeftover. Pods in flight get this event too, like any other.
void SchedulingQueue::flush_unschedulable(int64_t now_ms) {
  std::vector<QueuedPod*> stale;
  bool any = false;
  for (const auto& [sequence, pod] : unschedulable_) {
    if (now_ms - pod->queued_ms <= config_.max_in_unschedulable_ms) continue;
    any = true;
    // A pod whose gate stayed closed is asked about again as long after.
    if (now_ms - pod->flushed_ms <= config_.max_in_unschedulable_ms) continue;
    pod->flushed = true;
    pod->flushed_ms = now_ms;
    stale.push_back(pod);
  }
  if (!any) return;
  ClusterEvent timeout = unschedulable_timeout_event();
  std::vector<PluginKey> interested = policy_.interested(timeout);
  move(stale, {std::move(timeout), std::move(interested)}, now_ms);
}

int64_t SchedulingQueue::flush(int64_t now_ms) {
  flush_backoff(now_ms);
  if (now_ms >= next_unschedulable_flush_ms_) {
    flush_unschedulable(now_ms);
    next_unschedulable_flush_ms_ = now_ms + kUnschedulableFlushMs;
  }
  return truncate_to_window(now_ms) + kBackoffFlushMs;
}

}  // namespace plimsoll

#include "framework/queue/scheduling_queue.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace plimsoll {
namespace {

constexpr int64_t kBackoffWindowMs = 1000;
constexpr int64_t kBackoffFlushMs = 1000;
// Labels of queue_incoming_pods_total besides those of cluster events.
constexpr std::string_view kPodAdd = "UnschedulablePodAdd";
constexpr std::string_view kScheduleAttemptFailure = "ScheduleAttemptFailure";
constexpr std::string_view kBackoffComplete = "BackoffComplete";
constexpr std::string_view kPopFromBackoffQ = "PopFromBackoffQ";
constexpr int64_t kUnschedulableFlushMs = 30'000;
// Events kept for pods in flight. A pod that waits on Permit for minutes may miss older ones; it is
// then tried again after a backoff, as if one of them had helped.
constexpr size_t kMaxInFlightEvents = 10'000;

int64_t truncate_to_window(int64_t ms) {
  return ms - ms % kBackoffWindowMs;
}

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
  const auto found = pods_.find(std::string(uid));
  return found == pods_.end() ? nullptr : found->second.get();
}

const QueuedPod* SchedulingQueue::entry(std::string_view uid) const {
  const auto found = pods_.find(std::string(uid));
  return found == pods_.end() ? nullptr : found->second.get();
}

PodRef SchedulingQueue::find(std::string_view uid) const {
  const QueuedPod* pod = entry(uid);
  return pod == nullptr ? nullptr : pod->pod;
}

void SchedulingQueue::take_out(QueuedPod& pod) {
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
      if (pod.counted_gated) --gated_;
      pod.counted_gated = false;
      break;
    case QueuePlace::kInFlight:
      break;
  }
}

void SchedulingQueue::put(QueuedPod& pod, QueuePlace place) {
  pod.place = place;
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
      pod.counted_gated = pod.gated_by.has_value();
      if (pod.counted_gated) ++gated_;
      break;
    case QueuePlace::kInFlight:
      break;
  }
}

// PreEnqueue guards both the active and the backoff queue.
bool SchedulingQueue::passes_gates(QueuedPod& pod) {
  const bool was_gated = pod.gated_by.has_value();
  count_holders(pod, -1);
  if (was_gated) pod.rejectors.erase(*pod.gated_by);
  pod.gated_by = policy_.gate(*pod.pod);
  if (pod.gated_by) pod.rejectors.insert(*pod.gated_by);
  count_holders(pod, +1);
  return !pod.gated_by.has_value();
}

void SchedulingQueue::count_holders(const QueuedPod& pod, int change) const {
  if (observer_ == nullptr) return;
  for (const PluginIndex plugin : pod.rejectors) observer_->held_by(*pod.pod, plugin, change);
  for (const PluginIndex plugin : pod.pending) {
    if (!pod.rejectors.contains(plugin)) observer_->held_by(*pod.pod, plugin, change);
  }
}

// ---- pods, as the informer tells of them

void SchedulingQueue::add(PodRef pod, int64_t now_ms) {
  const std::string uid(view(pod->meta.uid));
  if (known(uid) != nullptr) {
    update(std::move(pod), now_ms);
    return;
  }
  departed_.erase(uid);
  const Cause cause(*this, kPodAdd);
  auto entry = std::make_unique<QueuedPod>();
  entry->pod = std::move(pod);
  entry->queued_ms = now_ms;
  entry->key = policy_.sort_key(*entry->pod, now_ms);
  QueuedPod& added = *pods_.emplace(uid, std::move(entry)).first->second;
  put(added, passes_gates(added) ? QueuePlace::kActive : QueuePlace::kUnschedulable);
}

void SchedulingQueue::update(PodRef pod, int64_t now_ms) {
  const std::string uid(view(pod->meta.uid));
  QueuedPod* entry = known(uid);
  if (entry == nullptr) {
    add(std::move(pod), now_ms);
    return;
  }
  const PodRef before = std::exchange(entry->pod, std::move(pod));
  const std::vector<ClusterEvent> events =
      pod_updated(kResourceUnschedulablePod, before, entry->pod);
  if (entry->place == QueuePlace::kInFlight) {
    // Seen by the pod itself when its attempt ends.
    for (const ClusterEvent& event : events) remember(event);
    return;
  }
  const SortKey key = policy_.sort_key(*entry->pod, entry->queued_ms);
  if (entry->place != QueuePlace::kUnschedulable) {
    if (key != entry->key) {
      const QueuePlace place = entry->place;
      take_out(*entry);
      entry->key = key;
      put(*entry, place);
    }
    return;
  }
  entry->key = key;
  for (const ClusterEvent& event : events) {
    const Strategy strategy = worth_requeuing(*entry, event);
    if (strategy == Strategy::kSkip) continue;
    const Cause cause(*this, event.label);
    requeue(*entry, strategy, now_ms);
    break;
  }
}

void SchedulingQueue::remove(std::string_view uid) {
  QueuedPod* entry = known(uid);
  departed_.erase(std::string(uid));
  if (entry == nullptr) return;
  if (entry->place == QueuePlace::kInFlight) end_flight(uid);
  count_holders(*entry, -1);
  take_out(*entry);
  pods_.erase(std::string(uid));
}

// ---- the cycle

QueuedPod* SchedulingQueue::pop(int64_t now_ms) {
  QueuedPod* pod = nullptr;
  if (!active_.empty()) {
    pod = active_.pop();
  } else if (!backoff_.empty()) {
    pod = backoff_.pop();  // SchedulerPopFromBackoffQ
    if (observer_ != nullptr) observer_->entered(QueuePlace::kActive, kPopFromBackoffQ);
  } else {
    return nullptr;
  }
  pod->place = QueuePlace::kInFlight;
  ++pod->attempts;
  if (pod->initial_attempt_ms == 0) pod->initial_attempt_ms = now_ms;
  count_holders(*pod, -1);
  pod->rejectors.clear();
  pod->pending.clear();
  pod->gated_by.reset();
  const uint64_t since = events_begin_ + events_.size();
  in_flight_.insert_or_assign(std::string(view(pod->pod->meta.uid)), InFlight{since});
  flight_starts_.insert(since);
  return pod;
}

SchedulingQueue::InFlight SchedulingQueue::end_flight(std::string_view uid) {
  const auto found = in_flight_.find(std::string(uid));
  if (found == in_flight_.end()) return {events_begin_ + events_.size()};
  const InFlight flight = found->second;
  in_flight_.erase(found);
  flight_starts_.erase(flight_starts_.find(flight.since));
  return flight;
}

// Events that every pod in flight has seen the beginning after are not needed any more.
void SchedulingQueue::prune_events() {
  const uint64_t needed =
      flight_starts_.empty() ? events_begin_ + events_.size() : *flight_starts_.begin();
  while (events_begin_ < needed) drop_oldest_event();
}

void SchedulingQueue::drop_oldest_event() {
  if (observer_ != nullptr) observer_->event_kept(events_.front().label, -1);
  events_.pop_front();
  ++events_begin_;
}

void SchedulingQueue::remember(const ClusterEvent& event) {
  events_.push_back(event);
  if (observer_ != nullptr) observer_->event_kept(event.label, +1);
  if (events_.size() > kMaxInFlightEvents) drop_oldest_event();
}

void SchedulingQueue::reject(std::string_view uid, const std::set<PluginIndex>& rejectors,
                             const std::set<PluginIndex>& pending, int64_t now_ms) {
  QueuedPod* pod = known(uid);
  if (pod == nullptr || pod->place != QueuePlace::kInFlight) return;
  const InFlight flight = end_flight(uid);
  const Cause cause(*this, kScheduleAttemptFailure);
  count_failure(*pod, rejectors, pending, now_ms);
  requeue_after_attempt(*pod, flight, now_ms);
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
  pod.key = policy_.sort_key(*pod.pod, now_ms);
}

void SchedulingQueue::fail(std::string_view uid, int64_t now_ms) {
  reject(uid, {}, {}, now_ms);
}

void SchedulingQueue::requeue_after_attempt(QueuedPod& pod, const InFlight& flight,
                                            int64_t now_ms) {
  Strategy best =
      pod.rejectors.empty() && pod.pending.empty() ? Strategy::kAfterBackoff : Strategy::kSkip;
  if (flight.since < events_begin_) best = Strategy::kAfterBackoff;
  for (uint64_t at = std::max(flight.since, events_begin_); at < events_begin_ + events_.size();
       ++at) {
    if (best == Strategy::kImmediately) break;
    const ClusterEvent& event = events_[static_cast<size_t>(at - events_begin_)];
    // An update of an unscheduled pod concerns that pod only.
    if (event.resource == kResourceUnschedulablePod &&
        view(event.new_pod->meta.uid) != view(pod.pod->meta.uid)) {
      continue;
    }
    best = std::max(best, worth_requeuing(pod, event));
  }
  pod.place =
      QueuePlace::kInFlight;  // it is in no container, so take_out() in requeue() is a no-op
  requeue(pod, best, now_ms);
}

void SchedulingQueue::done(std::string_view uid) {
  end_flight(uid);
  prune_events();
  const auto found = pods_.find(std::string(uid));
  if (found == pods_.end() || found->second->place != QueuePlace::kInFlight) return;
  departed_[found->first] = std::move(found->second);
  pods_.erase(found);
}

void SchedulingQueue::restore(PodRef pod, const std::set<PluginIndex>& rejectors, int64_t now_ms) {
  const std::string uid(view(pod->meta.uid));
  if (known(uid) != nullptr) return;
  const auto found = departed_.find(uid);
  std::unique_ptr<QueuedPod> entry;
  if (found == departed_.end()) {
    entry = std::make_unique<QueuedPod>();
  } else {
    entry = std::move(found->second);
    departed_.erase(found);
  }
  entry->pod = std::move(pod);
  entry->place = QueuePlace::kInFlight;
  const Cause cause(*this, kScheduleAttemptFailure);
  count_failure(*entry, rejectors, {}, now_ms);
  QueuedPod& restored = *pods_.emplace(uid, std::move(entry)).first->second;
  // Never popped early, whoever failed it: what happened since done() is not known, so nothing says
  // that it will do better at once.
  if (!passes_gates(restored)) {
    put(restored, QueuePlace::kUnschedulable);
  } else {
    put(restored, backing_off(restored, now_ms) ? QueuePlace::kErrorBackoff : QueuePlace::kActive);
  }
}

void SchedulingQueue::forget(std::string_view uid) {
  departed_.erase(std::string(uid));
}

// ---- events

SchedulingQueue::Strategy SchedulingQueue::worth_requeuing(const QueuedPod& pod,
                                                           const ClusterEvent& event) {
  if (pod.rejectors.empty() && pod.pending.empty()) return Strategy::kAfterBackoff;
  if (event.wildcard) {
    const bool others = event.new_pod && view(event.new_pod->meta.uid) != view(pod.pod->meta.uid);
    return others ? Strategy::kSkip : Strategy::kAfterBackoff;
  }
  Strategy best = Strategy::kSkip;
  for (const PluginIndex plugin : pod.pending) {
    if (policy_.hint(*pod.pod, plugin, event) == QueueHint::kQueue) return Strategy::kImmediately;
  }
  for (const PluginIndex plugin : pod.rejectors) {
    if (policy_.hint(*pod.pod, plugin, event) == QueueHint::kQueue) {
      best = Strategy::kAfterBackoff;
      break;
    }
  }
  return best;
}

int64_t SchedulingQueue::backoff_expiry(QueuedPod& pod) const {
  if (pod.backoff_expiry_ms >= 0) return pod.backoff_expiry_ms;
  const uint32_t count =
      pod.consecutive_errors > 0 ? pod.consecutive_errors : pod.unschedulable_count;
  if (count == 0 || config_.max_backoff_ms == 0) {
    pod.backoff_expiry_ms = 0;
  } else {
    int64_t delay = config_.initial_backoff_ms;
    for (uint32_t i = 1; i < count && delay < config_.max_backoff_ms; ++i) delay *= 2;
    pod.backoff_expiry_ms =
        truncate_to_window(pod.queued_ms + std::min(delay, config_.max_backoff_ms));
  }
  return pod.backoff_expiry_ms;
}

// Expiry and now are compared in whole windows; the window of the expiry itself still counts as
// backing off.
bool SchedulingQueue::backing_off(QueuedPod& pod, int64_t now_ms) const {
  const int64_t expiry = backoff_expiry(pod);
  return expiry != 0 && expiry >= truncate_to_window(now_ms);
}

void SchedulingQueue::requeue(QueuedPod& pod, Strategy strategy, int64_t now_ms) {
  take_out(pod);
  if (strategy == Strategy::kSkip || !passes_gates(pod)) {
    put(pod, QueuePlace::kUnschedulable);
  } else if (strategy == Strategy::kAfterBackoff && backing_off(pod, now_ms)) {
    put(pod, pod.consecutive_errors > 0 ? QueuePlace::kErrorBackoff : QueuePlace::kBackoff);
  } else {
    put(pod, QueuePlace::kActive);
  }
}

void SchedulingQueue::move_all(const ClusterEvent& event, int64_t now_ms,
                               std::string_view except_uid) {
  if (!event.wildcard && !policy_.anyone_cares(event)) return;
  if (!in_flight_.empty()) remember(event);
  std::vector<std::pair<QueuedPod*, Strategy>> moves;
  for (const auto& [sequence, pod] : unschedulable_) {
    if (view(pod->pod->meta.uid) == except_uid) continue;
    // A gated pod is looked at only if its gate registered the event.
    if (pod->gated_by &&
        policy_.hint(*pod->pod, *pod->gated_by, event) == QueueHint::kNotRegistered) {
      continue;
    }
    const Strategy strategy = worth_requeuing(*pod, event);
    if (strategy != Strategy::kSkip) moves.emplace_back(pod, strategy);
  }
  const Cause cause(*this, event.label);
  for (const auto& [pod, strategy] : moves) requeue(*pod, strategy, now_ms);
}

void SchedulingQueue::activate(std::string_view uid, int64_t now_ms) {
  QueuedPod* pod = known(uid);
  if (pod == nullptr || pod->place == QueuePlace::kActive) return;
  if (pod->place == QueuePlace::kInFlight) {
    ClusterEvent event = force_activate_event();
    event.new_pod = pod->pod;
    remember(event);
    return;
  }
  const ClusterEvent event = force_activate_event();
  const Cause cause(*this, event.label);
  requeue(*pod, Strategy::kImmediately, now_ms);
}

void SchedulingQueue::flush_backoff(int64_t now_ms) {
  const Cause cause(*this, kBackoffComplete);
  for (auto* heap : {&backoff_, &error_backoff_}) {
    while (!heap->empty() && !backing_off(*heap->top(), now_ms)) {
      QueuedPod* pod = heap->pop();
      put(*pod, QueuePlace::kActive);
    }
  }
}

void SchedulingQueue::flush_unschedulable(int64_t now_ms) {
  std::vector<QueuedPod*> stale;
  for (const auto& [sequence, pod] : unschedulable_) {
    if (now_ms - pod->queued_ms > config_.max_in_unschedulable_ms) stale.push_back(pod);
  }
  const ClusterEvent timeout = unschedulable_timeout_event();
  const Cause cause(*this, timeout.label);
  for (QueuedPod* pod : stale) {
    if (pod->gated_by &&
        policy_.hint(*pod->pod, *pod->gated_by, timeout) == QueueHint::kNotRegistered) {
      continue;
    }
    pod->flushed = true;
    requeue(*pod, Strategy::kAfterBackoff, now_ms);
  }
}

int64_t SchedulingQueue::flush(int64_t now_ms) {
  flush_backoff(now_ms);
  if (now_ms >= next_unschedulable_flush_ms_) {
    flush_unschedulable(now_ms);
    next_unschedulable_flush_ms_ = now_ms + kUnschedulableFlushMs;
  }
  return truncate_to_window(now_ms) + kBackoffFlushMs;
}

// ---- views

SchedulingQueue::Sizes SchedulingQueue::sizes() const {
  return {active_.size(),
          backoff_.size() + error_backoff_.size(),
          unschedulable_.size() - gated_,
          gated_,
          in_flight_.size(),
          events_.size()};
}

std::vector<const QueuedPod*> SchedulingQueue::list(QueuePlace place) const {
  std::vector<const QueuedPod*> found;
  for (const auto& [uid, pod] : pods_) {
    if (pod->place == place) found.push_back(pod.get());
  }
  std::sort(found.begin(), found.end(),
            [](const QueuedPod* a, const QueuedPod* b) { return a->sequence < b->sequence; });
  return found;
}

}  // namespace plimsoll

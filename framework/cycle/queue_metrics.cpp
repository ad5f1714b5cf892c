#include "framework/cycle/queue_metrics.hpp"

#include <algorithm>
#include <utility>

#include "framework/queue/scheduling_queue.hpp"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 3> kQueues{"active", "backoff", "unschedulable"};

}  // namespace

QueueMetrics::QueueMetrics(metrics::SchedulerMetrics& metrics, ProfileOf profile_of)
    : metrics_(metrics), profile_of_(std::move(profile_of)) {}

QueueMetrics::ByEvent& QueueMetrics::of(std::string_view event) {
  if (last_ != nullptr && last_event_ == event) return *last_;
  last_event_ = event;
  last_ = &events_[last_event_];  // elements of an unordered_map do not move
  return *last_;
}

void QueueMetrics::entered(QueuePlace place, std::string_view event) {
  size_t queue = 0;
  switch (place) {
    case QueuePlace::kActive:
      break;
    case QueuePlace::kBackoff:
    case QueuePlace::kErrorBackoff:
      queue = 1;
      break;
    case QueuePlace::kUnschedulable:
      queue = 2;
      break;
    case QueuePlace::kInFlight:
    case QueuePlace::kInGroup:
      return;
  }
  ByEvent& by_event = of(event);
  metrics::Counter& pods = by_event.incoming[queue];
  metrics::Counter& entities = by_event.incoming_entities[queue];
  if (!pods) {
    pods = metrics_.queue_incoming_pods.with({kQueues[queue], event});
    entities = metrics_.queue_incoming_entities.with({kQueues[queue], event, metrics::kEntity});
  }
  pods.add();
  entities.add();
}

void QueueMetrics::held_by(const plimsoll_pod& pod, uint16_t plugin, int change) {
  if (metrics::ProfileMetrics* profile = profile_of_(pod)) {
    profile->unschedulable_pods(plugin, change);
  }
}

void QueueMetrics::event_kept(std::string_view event, int change) {
  metrics::Gauge& gauge = of(event).inflight;
  if (!gauge) gauge = metrics_.inflight_events.with({event});
  gauge.add(change);
}

void QueueMetrics::hint(std::string_view plugin, std::string_view event, bool queue,
                        double seconds) {
  std::string key(plugin);
  key.append(1, '\n').append(event);
  metrics::Histogram& time = hint_times_[key][queue ? 1 : 0];
  if (!time) {
    time = metrics_.queueing_hint_duration.with({plugin, event, queue ? "Queue" : "QueueSkip"});
  }
  time.observe(seconds);
}

void QueueMetrics::begin_message() {
  handled_.clear();
  message_start_ = metrics::Clock::now();
}

void QueueMetrics::happened(std::string_view event) {
  ByEvent* by_event = &of(event);
  if (!by_event->handling) by_event->handling = metrics_.event_handling_duration.with({event});
  if (std::find(handled_.begin(), handled_.end(), by_event) == handled_.end()) {
    handled_.push_back(by_event);
  }
}

void QueueMetrics::end_message() {
  if (handled_.empty()) return;
  const double seconds = metrics::seconds_since(message_start_);
  for (const ByEvent* event : handled_) event->handling.observe(seconds);
}

}  // namespace plimsoll

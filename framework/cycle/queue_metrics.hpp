#pragma once
// The queue's metrics, and those of hints and cluster events. Loop only.

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/metrics/scheduler_metrics.hpp"
#include "framework/queue/queue_observer.hpp"

namespace plimsoll {

class QueueMetrics final : public QueueObserver {
 public:
  // The metrics of the profile that a pod belongs to, or null.
  using ProfileOf = std::function<metrics::ProfileMetrics*(const plimsoll_pod&)>;
  QueueMetrics(metrics::SchedulerMetrics& metrics, ProfileOf profile_of);

  // ---- QueueObserver
  void entered(QueuePlace place, std::string_view event) override;
  void held_by(const plimsoll_pod& pod, uint16_t plugin, int change) override;
  void event_kept(std::string_view event, int change) override;

  // ---- hints. One in ten is timed: a cluster event may ask thousands of them.
  [[nodiscard]] bool sample_hint() { return ++hints_ % 10 == 0; }
  void hint(std::string_view plugin, std::string_view event, bool queue, double seconds);

  // ---- event_handling_duration_seconds: the events that handling one message turned out to be
  // share its time.
  void begin_message();
  void happened(std::string_view event);
  void end_message();

 private:
  struct ByEvent {
    std::array<metrics::Counter, 3> incoming;  // active, backoff, unschedulable
    std::array<metrics::Counter, 3> incoming_entities;
    metrics::Gauge inflight;
    metrics::Histogram handling;
  };
  ByEvent& of(std::string_view event);

  metrics::SchedulerMetrics& metrics_;
  ProfileOf profile_of_;
  std::unordered_map<std::string, ByEvent> events_;
  ByEvent* last_ = nullptr;  // the same event comes many times in a row
  std::string last_event_;
  std::unordered_map<std::string, std::array<metrics::Histogram, 2>> hint_times_;
  uint64_t hints_ = 0;
  metrics::Clock::time_point message_start_;
  std::vector<ByEvent*> handled_;
};

}  // namespace plimsoll

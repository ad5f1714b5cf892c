#pragma once
// kube-scheduler's metrics with its names, labels and buckets (pkg/scheduler/metrics/metrics.go),
// as far as they apply here; docs/operations.md lists them.

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/metrics/cached.hpp"
#include "framework/metrics/registry.hpp"

namespace plimsoll::metrics {

// The label extension_point.
enum class Point : uint8_t {
  kPreEnqueue,
  kPreFilter,
  kFilter,
  kAddPod,
  kRemovePod,
  kPostFilter,
  kPreScore,
  kScore,
  kNormalize,
  kReserve,
  kUnreserve,
  kPermit,
  kPreBindPreFlight,
  kPreBind,
  kBind,
  kPostBind,
};
inline constexpr size_t kPoints = 16;
inline constexpr size_t kCodes = 7;  // PLIMSOLL_SUCCESS .. PLIMSOLL_PENDING
inline constexpr std::array<const char*, kPoints> kPointNames{"PreEnqueue",
                                                              "PreFilter",
                                                              "Filter",
                                                              "PreFilterExtensionAddPod",
                                                              "PreFilterExtensionRemovePod",
                                                              "PostFilter",
                                                              "PreScore",
                                                              "Score",
                                                              "ScoreExtensionNormalize",
                                                              "Reserve",
                                                              "Unreserve",
                                                              "Permit",
                                                              "PreBindPreFlight",
                                                              "PreBind",
                                                              "Bind",
                                                              "PostBind"};
[[nodiscard]] constexpr const char* name(Point point) {
  return kPointNames[static_cast<size_t>(point)];
}

enum class AttemptResult : uint8_t { kScheduled, kUnschedulable, kError };

// The type of all that waits: the pods of a group are counted as pods.
inline constexpr std::string_view kEntity = "pod";

// Registers everything. Any thread.
struct SchedulerMetrics {
  explicit SchedulerMetrics(Registry& registry);
  SchedulerMetrics(const SchedulerMetrics&) = delete;
  SchedulerMetrics& operator=(const SchedulerMetrics&) = delete;

  Registry& registry;

  // ---- per profile: use ProfileMetrics
  Family<Counter> schedule_attempts;            // result, profile
  Family<Histogram> attempt_duration;           // result, profile
  Family<Histogram> extension_point_duration;   // extension_point, status, profile
  Family<Histogram> plugin_execution_duration;  // plugin, extension_point, status
  Family<Counter> plugin_evaluation;            // plugin, extension_point, profile
  Family<Gauge> unschedulable_pods;             // plugin, profile

  // ---- attempts
  Histogram algorithm_duration;
  Family<Histogram> sli_duration;  // attempts; see observe_scheduled()
  Histogram scheduling_attempts;
  Counter scheduled_after_flush;
  Family<Histogram> permit_wait_duration;  // result: a status code's name
  std::array<Cached<Histogram>, kCodes> permit_wait_by_code;

  // ---- queue
  Family<Gauge> pending_pods;                 // queue
  Family<Gauge> queued_entities;              // queue, type: kEntity
  Family<Counter> queue_incoming_pods;        // queue, event
  Family<Counter> queue_incoming_entities;    // queue, event, type: kEntity
  Family<Gauge> inflight_events;              // event
  Family<Histogram> queueing_hint_duration;   // plugin, event, hint
  Family<Histogram> event_handling_duration;  // event

  // ---- state
  Family<Gauge> cache_size;  // type
  Family<Gauge> goroutines;  // operation

  // ---- groups
  Family<Counter> group_attempts;            // result, profile
  Family<Histogram> group_attempt_duration;  // result, profile
  Histogram group_algorithm_duration;
  Family<Counter> generated_placements;             // profile
  Family<Counter> placement_evaluations;            // result, profile
  Family<Histogram> placement_evaluation_duration;  // result, profile
  Histogram group_slice_duration;

  // ---- Plimsoll's own
  Counter bind_errors;
  Gauge unbound_pods;
  Gauge unbound_limit;
  Counter pauses;
  Gauge waiting_pods;
  Gauge pods_waiting_for_kinds;
  Gauge inbox_depth;
  Gauge synced;
  Counter attempts_dropped;
  Family<Counter> class_decisions;  // result: hit, miss
  Counter class_checks;
  Counter class_differences;
  Counter class_drops;
  Gauge class_tables;
  Gauge class_table_bytes;

  // Records a bound pod: its number of attempts, and the time since its first attempt.
  void observe_scheduled(uint32_t attempts, double seconds_since_first_attempt, bool after_flush);
  void observe_permit_wait(int32_t code, double seconds);
  void group_attempt(std::string_view result, std::string_view profile, double seconds);
  // Of one domain of the network that a group was tried in.
  void placement_evaluated(bool feasible, std::string_view profile, double seconds);

 private:
  std::array<Cached<Histogram>, 15> sli_by_attempts_;  // 1 .. 14, "15+"
};

// The metrics of one profile, with cached handles. Any thread.
class ProfileMetrics {
 public:
  ProfileMetrics(SchedulerMetrics& metrics, std::string profile, std::vector<std::string> plugins);

  void attempt(AttemptResult result, double seconds);
  // `code`: a PLIMSOLL_* status code.
  void extension_point(Point point, int32_t code, double seconds);
  void plugin_execution(uint16_t plugin, Point point, int32_t code, double seconds);
  // How often a plugin was called: PreFilter and PreScore count once per pod, Filter and Score once
  // per node.
  void plugin_evaluation(uint16_t plugin, Point point, size_t times);
  void unschedulable_pods(uint16_t plugin, int change);
  // Loop only. Whether the plugins of this cycle are timed: one cycle in ten, like kube-scheduler's
  // pluginMetricsSamplePercent.
  [[nodiscard]] bool sample();

  [[nodiscard]] SchedulerMetrics& all() const { return all_; }
  [[nodiscard]] const std::string& plugin_name(uint16_t plugin) const { return plugins_[plugin]; }

 private:
  struct PerPlugin {
    std::array<std::array<Cached<Histogram>, kCodes>, kPoints> executions;
    std::array<Cached<Counter>, kPoints> evaluations;
    Cached<Gauge> unschedulable;
  };

  SchedulerMetrics& all_;
  const std::string profile_;
  const std::vector<std::string> plugins_;
  std::array<Cached<Counter>, 3> attempts_;
  std::array<Cached<Histogram>, 3> attempt_durations_;
  std::array<std::array<Cached<Histogram>, kCodes>, kPoints> points_;
  std::unique_ptr<PerPlugin[]> per_plugin_;
  uint64_t random_ = 0x9e3779b97f4a7c15;
};

// ---- timers. They read the clock only if there are metrics.

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Times one call of a plugin, if this cycle is sampled.
class PluginTimer {
 public:
  PluginTimer(ProfileMetrics* metrics, bool sampled, uint16_t plugin, Point point)
      : metrics_(sampled ? metrics : nullptr), plugin_(plugin), point_(point) {
    if (metrics_ != nullptr) start_ = Clock::now();
  }
  void end(int32_t code) const {
    if (metrics_ != nullptr) {
      metrics_->plugin_execution(plugin_, point_, code, seconds_since(start_));
    }
  }

 private:
  ProfileMetrics* metrics_;
  uint16_t plugin_;
  Point point_;
  Clock::time_point start_;
};

// Times one extension point of one attempt.
class PointTimer {
 public:
  PointTimer(ProfileMetrics* metrics, Point point) : metrics_(metrics), point_(point) {
    if (metrics_ != nullptr) start_ = Clock::now();
  }
  void end(int32_t code) const {
    if (metrics_ != nullptr) metrics_->extension_point(point_, code, seconds_since(start_));
  }

 private:
  ProfileMetrics* metrics_;
  Point point_;
  Clock::time_point start_;
};

}  // namespace plimsoll::metrics

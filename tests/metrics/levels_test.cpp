// The metrics that kube-scheduler has, too, are as stable as there, and have its labels.

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "framework/metrics/scheduler_metrics.hpp"

namespace plimsoll::metrics {
namespace {

// Kubernetes 1.37.2: pkg/scheduler/metrics/metrics.go, and the metrics of VolumeBinding.
constexpr std::string_view kOfKubernetes = R"(
cache_size [ALPHA] type
dra_bindingconditions_allocations_total [ALPHA] profile driver status
dra_bindingconditions_wait_duration_seconds [ALPHA] profile driver status
event_handling_duration_seconds [ALPHA] event
framework_extension_point_duration_seconds [STABLE] extension_point status profile
goroutines [BETA] operation
inflight_events [ALPHA] event
pending_pods [STABLE] queue
permit_wait_duration_seconds [BETA] result
plugin_evaluation_total [BETA] plugin extension_point profile
plugin_execution_duration_seconds [BETA] plugin extension_point status
pod_scheduled_after_flush_total [ALPHA]
pod_scheduling_attempts [STABLE]
pod_scheduling_sli_duration_seconds [BETA] attempts
podgroup_schedule_attempts_total [ALPHA] result profile
podgroup_scheduling_attempt_duration_seconds [ALPHA] result profile
preemption_attempts_total [STABLE]
preemption_goroutines_duration_seconds [ALPHA]!1.37.0 result
preemption_goroutines_execution_total [ALPHA] result
preemption_victims [STABLE]
queue_incoming_entities_total [ALPHA] queue event type
queue_incoming_pods_total [STABLE] queue event
queued_entities [ALPHA] queue type
queueing_hint_execution_duration_seconds [ALPHA] plugin event hint
schedule_attempts_total [STABLE] result profile
scheduling_algorithm_duration_seconds [BETA]
scheduling_attempt_duration_seconds [STABLE] result profile
unschedulable_pods [BETA] plugin profile
volume_scheduling_stage_error_total [ALPHA] operation
workload_preemption_attempts_total [ALPHA] result
workload_preemption_victims [ALPHA]
)";

// name -> "[LEVEL]", what is deprecated with "!version", and the labels.
std::map<std::string, std::string> expected() {
  std::map<std::string, std::string> metrics;
  std::istringstream lines{std::string(kOfKubernetes)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const size_t space = line.find(' ');
    metrics["scheduler_" + line.substr(0, space)] = line.substr(space + 1);
  }
  return metrics;
}

TEST(Levels, AreThoseOfKubernetes) {
  Registry registry;
  const SchedulerMetrics metrics(registry);
  std::map<std::string, std::string> registered;
  for (const Description& metric : registry.describe()) {
    if (!metric.name.starts_with("scheduler_")) continue;
    std::string& text = registered[metric.name];
    text = metric.help.substr(0, metric.help.find(' '));
    // As component-base writes it.
    const std::string deprecated = text + " (Deprecated since ";
    if (metric.help.starts_with(deprecated)) {
      const size_t from = deprecated.size();
      text += "!" + metric.help.substr(from, metric.help.find(')') - from);
    }
    for (const std::string& label : metric.labels) text += " " + label;
  }
  EXPECT_EQ(registered, expected());
}

}  // namespace
}  // namespace plimsoll::metrics

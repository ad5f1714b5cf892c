#include "framework/metrics/scheduler_metrics.hpp"

#include <algorithm>

namespace plimsoll::metrics {
namespace {

// fwk.Code.String(), by number.
constexpr std::array<std::string_view, kCodes> kCodeNames{
    "Success", "Error", "Unschedulable", "UnschedulableAndUnresolvable", "Wait", "Skip", "Pending"};

constexpr std::array<std::string_view, 3> kResults{"scheduled", "unschedulable", "error"};

// A plugin may return any number. The framework treats an unknown code as Error.
size_t code_index(int32_t code) {
  return code >= 0 && code < static_cast<int32_t>(kCodes) ? static_cast<size_t>(code) : 1;
}

}  // namespace

SchedulerMetrics::SchedulerMetrics(Registry& r)
    : registry(r),
      schedule_attempts(r.counters({"scheduler_schedule_attempts_total",
                                    "[STABLE] Attempts to schedule a pod, by result: scheduled, "
                                    "unschedulable (no node), error (a failure within the "
                                    "scheduler or of a write).",
                                    {"result", "profile"}})),
      attempt_duration(
          r.histograms({"scheduler_scheduling_attempt_duration_seconds",
                        "[STABLE] Time of an attempt, from the queue to the end of its binding.",
                        {"result", "profile"}},
                       exponential_buckets(0.001, 2, 15))),
      extension_point_duration(
          r.histograms({"scheduler_framework_extension_point_duration_seconds",
                        "[STABLE] Time of all plugins of an extension point together.",
                        {"extension_point", "status", "profile"}},
                       exponential_buckets(0.0001, 2, 12))),
      plugin_execution_duration(r.histograms({"scheduler_plugin_execution_duration_seconds",
                                              "[BETA] Time of one plugin at an extension point; "
                                              "Filter and Score: for all nodes of the "
                                              "pod at once. Measured in a tenth of the attempts.",
                                              {"plugin", "extension_point", "status"}},
                                             exponential_buckets(0.00001, 1.5, 20))),
      plugin_evaluation(r.counters({"scheduler_plugin_evaluation_total",
                                    "[BETA] How often a plugin was asked: in PreFilter and "
                                    "PreScore per pod, in Filter and Score per node.",
                                    {"plugin", "extension_point", "profile"}})),
      unschedulable_pods(r.gauges({"scheduler_unschedulable_pods",
                                   "[BETA] Waiting pods by a plugin that rejected them; a pod "
                                   "counts for each of its plugins.",
                                   {"plugin", "profile"}})),
      algorithm_duration(r.histograms({"scheduler_scheduling_algorithm_duration_seconds",
                                       "[BETA] Time from the queue to the choice of a node.",
                                       {}},
                                      exponential_buckets(0.001, 2, 15))
                             .with({})),
      sli_duration(r.histograms({"scheduler_pod_scheduling_sli_duration_seconds",
                                 "[BETA] Time from a pod's first attempt to its binding, by the "
                                 "number of attempts.",
                                 {"attempts"}},
                                exponential_buckets(0.01, 2, 20))),
      scheduling_attempts(r.histograms({"scheduler_pod_scheduling_attempts",
                                        "[STABLE] Attempts that a pod took until it was bound.",
                                        {}},
                                       exponential_buckets(1, 2, 5))
                              .with({})),
      scheduled_after_flush(
          r.counters({"scheduler_pod_scheduled_after_flush_total",
                      "[ALPHA] Pods bound in the attempt that followed a flush of pods which had "
                      "waited for too long: no event had woken them.",
                      {}})
              .with({})),
      permit_wait_duration(r.histograms({"scheduler_permit_wait_duration_seconds",
                                         "[BETA] Time that pods waited on Permit.",
                                         {"result"}},
                                        exponential_buckets(0.001, 2, 15))),
      pending_pods(r.gauges({"scheduler_pending_pods",
                             "[STABLE] Pods that wait, by queue: active, backoff, unschedulable, "
                             "gated.",
                             {"queue"}})),
      queued_entities(r.gauges({"scheduler_queued_entities",
                                "[ALPHA] What waits, by queue and type: pods, each by itself.",
                                {"queue", "type"}})),
      queue_incoming_pods(r.counters({"scheduler_queue_incoming_pods_total",
                                      "[STABLE] Pods put into a queue, by the event that did it.",
                                      {"queue", "event"}})),
      queue_incoming_entities(
          r.counters({"scheduler_queue_incoming_entities_total",
                      "[ALPHA] What was put into a queue, by the event that did it and by type: "
                      "pods, each by itself.",
                      {"queue", "event", "type"}})),
      inflight_events(r.gauges({"scheduler_inflight_events",
                                "[ALPHA] Events kept for pods in flight, by event; PodPopped: the "
                                "pods themselves.",
                                {"event"}})),
      queueing_hint_duration(
          r.histograms({"scheduler_queueing_hint_execution_duration_seconds",
                        "[ALPHA] Time of a plugin's queueing hint. Measured for a tenth of the "
                        "hints.",
                        {"plugin", "event", "hint"}},
                       exponential_buckets(0.00001, 1.5, 20))),
      event_handling_duration(r.histograms({"scheduler_event_handling_duration_seconds",
                                            "[ALPHA] Time to handle one event of the cluster.",
                                            {"event"}},
                                           exponential_buckets(0.0001, 2, 12))),
      cache_size(r.gauges({"scheduler_cache_size",
                           "[ALPHA] What the scheduler knows of the cluster: nodes, pods, "
                           "assumed_pods.",
                           {"type"}})),
      goroutines(r.gauges({"scheduler_goroutines",
                           "[BETA] Work under way besides the scheduling loop; binding: binds in "
                           "flight.",
                           {"operation"}})),
      group_attempts(r.counters({"scheduler_podgroup_schedule_attempts_total",
                                 "[ALPHA] Attempts to schedule a PodGroup, by result: scheduled "
                                 "(as many of its pods as it needs), unschedulable, "
                                 "waiting_on_preemption, error.",
                                 {"result", "profile"}})),
      group_attempt_duration(
          r.histograms({"scheduler_podgroup_scheduling_attempt_duration_seconds",
                        "[ALPHA] Time of an attempt on a PodGroup, without bindings.",
                        {"result", "profile"}},
                       exponential_buckets(0.001, 2, 15))),
      group_algorithm_duration(
          r.histograms({"scheduler_podgroup_scheduling_algorithm_duration_seconds",
                        "[ALPHA] Time to look for places for a PodGroup.",
                        {}},
                       exponential_buckets(0.001, 2, 15))
              .with({})),
      generated_placements(r.counters({"scheduler_generated_placements_total",
                                       "[ALPHA] Domains of the network that a PodGroup's wish "
                                       "allows.",
                                       {"profile"}})),
      placement_evaluations(r.counters({"scheduler_placement_evaluations_total",
                                        "[ALPHA] Domains that a PodGroup was tried in, by result: "
                                        "feasible, infeasible.",
                                        {"result", "profile"}})),
      placement_evaluation_duration(r.histograms({"scheduler_placement_evaluation_duration_seconds",
                                                  "[ALPHA] Time to try one domain, by result.",
                                                  {"result", "profile"}},
                                                 exponential_buckets(0.001, 2, 15))),
      group_slice_duration(r.histograms({"plimsoll_group_slice_seconds",
                                         "Time for which an attempt on a group kept the loop "
                                         "before it paused or ended.",
                                         {}},
                                        exponential_buckets(0.001, 2, 12))
                               .with({})),
      bind_errors(r.counters({"plimsoll_bind_errors_total",
                              "Bindings that failed after a node had been chosen.",
                              {}})
                      .with({})),
      unbound_pods(
          r.gauges(
               {"plimsoll_unbound_pods", "Pods past Permit whose bindings have not ended yet.", {}})
              .with({})),
      unbound_limit(r.gauges({"plimsoll_unbound_pods_limit",
                              "With so many of them no further pod is taken from the queue.",
                              {}})
                        .with({})),
      pauses(r.counters({"plimsoll_unbound_pauses_total",
                         "Times that pods had to wait in the queue because so many were not bound "
                         "yet.",
                         {}})
                 .with({})),
      waiting_pods(r.gauges({"plimsoll_waiting_pods", "Pods that wait on Permit.", {}}).with({})),
      pods_waiting_for_kinds(
          r.gauges(
               {"plimsoll_pods_waiting_for_kinds",
                "Pods that are not decided on because a kind that they rest on is not followed.",
                {}})
              .with({})),
      inbox_depth(r.gauges({"plimsoll_inbox_depth",
                            "Messages that the scheduling loop has not handled yet.",
                            {}})
                      .with({})),
      synced(
          r.gauges(
               {"plimsoll_initial_sync", "1 once the first lists of all kinds are complete.", {}})
              .with({})),
      attempts_dropped(r.counters({"plimsoll_attempts_dropped_total",
                                   "Attempts that ended because the pod was deleted or bound by "
                                   "somebody else meanwhile.",
                                   {}})
                           .with({})),
      class_decisions(r.counters({"plimsoll_class_attempts_total",
                                  "Attempts, by whether something was kept of the pod's class.",
                                  {"result"}})),
      class_checks(r.counters({"plimsoll_class_checks_total",
                               "Decisions made again without what is kept of classes.",
                               {}})
                       .with({})),
      class_differences(r.counters({"plimsoll_class_differences_total",
                                    "Decisions that came out otherwise when made again.",
                                    {}})
                            .with({})),
      class_drops(r.counters({"plimsoll_class_tables_dropped_total",
                              "Tables of classes that were dropped for want of room.",
                              {}})
                      .with({})),
      class_tables(
          r.gauges({"plimsoll_class_tables", "Classes of which a table is kept.", {}}).with({})),
      class_table_bytes(
          r.gauges({"plimsoll_class_table_bytes", "Memory of these tables.", {}}).with({})) {
  // DynamicResources counts these.
  (void)r.counters({"dynamic_resource_allocation_resourceclaim_creates_total",
                    "[ALPHA] Number of ResourceClaims creation requests, categorized by creation "
                    "status, admin access, and owning API group and kind",
                    {"status", "admin_access", "owner_api_group", "owner_api_kind"}});
  (void)r.counters({"scheduler_dra_bindingconditions_allocations_total",
                    "[ALPHA] Devices with binding conditions that a binding waited for.",
                    {"profile", "driver", "status"}});
  (void)r.histograms({"scheduler_dra_bindingconditions_wait_duration_seconds",
                      "[ALPHA] Time that a binding waited for such conditions.",
                      {"profile", "driver", "status"}},
                     exponential_buckets(0.1, 2, 14));
}

void SchedulerMetrics::group_attempt(std::string_view result, std::string_view profile,
                                     double seconds) {
  group_attempts.with({result, profile}).add();
  group_attempt_duration.with({result, profile}).observe(seconds);
}

void SchedulerMetrics::placement_evaluated(bool feasible, std::string_view profile,
                                           double seconds) {
  const std::string_view result = feasible ? "feasible" : "infeasible";
  placement_evaluations.with({result, profile}).add();
  placement_evaluation_duration.with({result, profile}).observe(seconds);
}

void SchedulerMetrics::observe_scheduled(uint32_t attempts, double seconds_since_first_attempt,
                                         bool after_flush) {
  scheduling_attempts.observe(attempts);
  const uint32_t label = std::clamp<uint32_t>(attempts, 1, 15);
  sli_by_attempts_[label - 1]
      .get([&] { return sli_duration.with({label == 15 ? "15+" : std::to_string(label)}); })
      .observe(seconds_since_first_attempt);
  if (after_flush) scheduled_after_flush.add();
}

void SchedulerMetrics::observe_permit_wait(int32_t code, double seconds) {
  const size_t index = code_index(code);
  permit_wait_by_code[index]
      .get([&] { return permit_wait_duration.with({kCodeNames[index]}); })
      .observe(seconds);
}

ProfileMetrics::ProfileMetrics(SchedulerMetrics& metrics, std::string profile,
                               std::vector<std::string> plugins)
    : all_(metrics),
      profile_(std::move(profile)),
      plugins_(std::move(plugins)),
      per_plugin_(std::make_unique<PerPlugin[]>(plugins_.size())) {}

void ProfileMetrics::attempt(AttemptResult result, double seconds) {
  const auto index = static_cast<size_t>(result);
  attempts_[index]
      .get([&] {
        return all_.schedule_attempts.with({kResults[index], profile_});
      })
      .add();
  attempt_durations_[index]
      .get([&] {
        return all_.attempt_duration.with({kResults[index], profile_});
      })
      .observe(seconds);
}

void ProfileMetrics::extension_point(Point point, int32_t code, double seconds) {
  const size_t index = code_index(code);
  points_[static_cast<size_t>(point)][index]
      .get([&] {
        return all_.extension_point_duration.with({name(point), kCodeNames[index], profile_});
      })
      .observe(seconds);
}

void ProfileMetrics::plugin_execution(uint16_t plugin, Point point, int32_t code, double seconds) {
  const size_t index = code_index(code);
  per_plugin_[plugin]
      .executions[static_cast<size_t>(point)][index]
      .get([&] {
        return all_.plugin_execution_duration.with(
            {plugins_[plugin], name(point), kCodeNames[index]});
      })
      .observe(seconds);
}

void ProfileMetrics::plugin_evaluation(uint16_t plugin, Point point, size_t times) {
  per_plugin_[plugin]
      .evaluations[static_cast<size_t>(point)]
      .get([&] {
        return all_.plugin_evaluation.with({plugins_[plugin], name(point), profile_});
      })
      .add(static_cast<double>(times));
}

void ProfileMetrics::unschedulable_pods(uint16_t plugin, int change) {
  per_plugin_[plugin]
      .unschedulable.get([&] {
                      return all_.unschedulable_pods.with({plugins_[plugin], profile_});
                    })
      .add(change);
}

bool ProfileMetrics::sample() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return random_ % 10 == 0;
}

}  // namespace plimsoll::metrics

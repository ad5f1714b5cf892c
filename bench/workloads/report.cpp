#include "bench/workloads/report.hpp"

#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace plimsoll::bench {
namespace {

using Json = nlohmann::json;

// Formats like printf.
__attribute__((format(printf, 1, 2))) std::string text(const char* format, ...) {
  char buffer[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  return buffer;
}

double per_second(const Outcome& outcome, double seconds) {
  return seconds > 0 ? static_cast<double>(outcome.pods) / seconds : 0;
}

double microseconds_a_pod(const Outcome& outcome) {
  return outcome.pods == 0 ? 0 : outcome.loop_seconds * 1e6 / static_cast<double>(outcome.pods);
}

}  // namespace

std::string table_head() {
  return "| workload | nodes | pods | published | pods/s, wall | pods/s of loop CPU | us a pod | "
         "to "
         "floor | decision p50 us | p99 us | max ms | attempts | pods deleted | churn |\n"
         "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
}

std::string table_row(const Reported& run) {
  const Outcome& outcome = run.outcome;
  std::string row = text(
      "| %s | %zu | %zu | %s | %.0f | %.0f | %.1f | %.2f | %.1f | %.1f | %.2f | %llu | %zu | "
      "%zu |\n",
      run.workload.name.c_str(), outcome.nodes, outcome.pods,
      run.workload.threshold > 0 ? text("%g", run.workload.threshold).c_str() : "-",
      per_second(outcome, outcome.wall_seconds), per_second(outcome, outcome.loop_seconds),
      microseconds_a_pod(outcome), microseconds_a_pod(outcome) / outcome.floor_us,
      outcome.decision_p50_us, outcome.decision_p99_us, outcome.decision_max_us / 1e3,
      static_cast<unsigned long long>(outcome.attempts), outcome.deleted_pods, outcome.churned);
  for (const std::string& failure : outcome.failures) row += "FAILED: " + failure + "\n";
  return row;
}

std::string remarks(const std::vector<Reported>& runs) {
  std::string all =
      "\nPublished: pods/s that kube-scheduler's scheduler_perf must exceed in its CI. These are "
      "floors, on shared machines, with\netcd and an API server in the same process; what stands "
      "beside them here has neither.\nFloor: every count of every node compared once, in the same "
      "run. Decisions: of all attempts, CPU time from PreFilter to Reserve\nor to the refusal.\n";
  for (const Reported& run : runs) {
    if (!run.workload.note.empty()) all += run.workload.name + ": " + run.workload.note + "\n";
  }
  return all;
}

std::string as_json(const std::vector<Reported>& runs) {
  Json root = {{"workloads", Json::array()}};
  for (const auto& [workload, outcome] : runs) {
    root["workloads"].push_back(
        {{"name", workload.name},
         {"note", workload.note},
         {"threshold", workload.threshold},
         {"nodes", outcome.nodes},
         {"pods", outcome.pods},
         {"wallSeconds", outcome.wall_seconds},
         {"loopCpuSeconds", outcome.loop_seconds},
         {"podsPerSecondWall", per_second(outcome, outcome.wall_seconds)},
         {"podsPerSecondLoopCpu", per_second(outcome, outcome.loop_seconds)},
         {"floorMicroseconds", outcome.floor_us},
         {"decisionMicroseconds",
          {{"p50", outcome.decision_p50_us},
           {"p99", outcome.decision_p99_us},
           {"max", outcome.decision_max_us}}},
         {"attempts", outcome.attempts},
         {"unschedulable", outcome.unschedulable},
         {"deletedPods", outcome.deleted_pods},
         {"churned", outcome.churned},
         {"stalledMilliseconds", outcome.stalled_ms},
         {"failures", outcome.failures}});
  }
  return root.dump(2) + "\n";
}

}  // namespace plimsoll::bench

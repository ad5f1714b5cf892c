#pragma once
// Runs one workload: the whole scheduler with kube-scheduler's default plugins on its own thread,
// and an API server in memory.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/workloads/workload_file.hpp"
#include "framework/base/result.hpp"
#include "framework/runtime/plugin/modules.hpp"

namespace plimsoll::bench {

struct RunOptions {
  bool small = false;  // with the workload's `small` parameters
  double scale = 1;    // so many times the nodes; below 1, of the pods and other objects too
  // The run fails if nothing is bound for this much CPU time of the loop, or for ten times as long
  // by the wall clock. CPU time is used so that other work on the machine does not look like a
  // stall.
  std::chrono::seconds patience{120};
  // After this long without a binding it is seen whether any can still come.
  std::chrono::milliseconds stall{50};
  uint32_t check_every = 1000;  // as `run --class-check`
  bool classes = true;          // false: as `run --no-classes`
};

// Figures from the creation of the measured pods to their last binding. They exclude earlier pods,
// and include objects that are created and deleted meanwhile.
struct Outcome {
  size_t nodes = 0;
  size_t pods = 0;          // measured
  double wall_seconds = 0;  // means little on a busy machine
  double loop_seconds = 0;  // CPU time of the scheduler loop's thread
  uint64_t attempts = 0;
  uint64_t unschedulable = 0;  // attempts that found no node
  size_t deleted_pods = 0;     // victims of preemptions, and those that the workload deletes
  size_t churned = 0;          // objects created or deleted by churn
  double decision_p50_us = 0;  // of all attempts: PreFilter to Reserve, or to the end of PostFilter
  double decision_p99_us = 0;
  double decision_max_us = 0;
  double floor_us = 0;     // every count of every node compared once (bench/support/timing.hpp)
  int64_t stalled_ms = 0;  // of the workload's clock, passed because nothing was bound
  std::vector<std::string> failures;  // empty: every pod was bound correctly
};

// The modules that workloads run with.
[[nodiscard]] Modules workload_modules();

// Fails for a workload that cannot be run. The outcome has the failures during the run.
[[nodiscard]] Result<Outcome> run_workload(const WorkloadFile& file, const Workload& workload,
                                           const Modules& modules, const RunOptions& options = {});

}  // namespace plimsoll::bench

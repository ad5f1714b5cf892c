#pragma once
// Carries out one workload: the whole scheduler with kube-scheduler's default plugins on a thread
// of its own, an API server in memory beside it.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/workloads/workload_file.hpp"
#include "framework/base/result.hpp"
#include "framework/runtime/modules.hpp"

namespace plimsoll::bench {

struct RunOptions {
  bool small = false;  // with the workload's `small` parameters
  // Without a binding, then the run has failed: CPU time of the loop, so that other work on the
  // machine is not taken for a standstill; and the ten times of it by the clock.
  std::chrono::seconds patience{120};
  uint32_t check_every = 1000;  // as `run --class-check`
};

// Of the measured pods, from the moment that they are created to the last binding; pods before them
// are not in it, what is created and deleted beside them is.
struct Outcome {
  size_t nodes = 0;
  size_t pods = 0;          // measured
  double wall_seconds = 0;  // says little on a busy machine
  double loop_seconds = 0;  // CPU time of the scheduler loop's thread
  uint64_t attempts = 0;
  uint64_t unschedulable = 0;  // of these
  size_t deleted_pods = 0;     // victims of preemptions, and those that the workload deletes
  size_t churned = 0;          // objects created or deleted by churn
  double decision_p50_us = 0;  // of all attempts: PreFilter to Reserve, or to the end of PostFilter
  double decision_p99_us = 0;
  double decision_max_us = 0;
  double floor_us = 0;     // every count of every node compared once (bench/support/timing.hpp)
  int64_t stalled_ms = 0;  // of the workload's clock, passed because nothing was bound
  std::vector<std::string> failures;  // empty: every pod was bound, and legally
};

// The modules that workloads run with.
[[nodiscard]] Modules workload_modules();

// Fails on workloads that cannot be carried out; what goes wrong on the way is in the outcome.
[[nodiscard]] Result<Outcome> run_workload(const WorkloadFile& file, const Workload& workload,
                                           const Modules& modules, const RunOptions& options = {});

}  // namespace plimsoll::bench

#pragma once
// The trace "openb": GPU nodes of a production cluster and the pods that were submitted to it, from
// the CSV files of cluster-trace-gpu-v2023 (see run). Also the load that FGD's experiments make of
// it: the pods in random order, with pods repeated or left out so that together they request 130 %
// of the cluster's GPUs. No pod leaves.

#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "plugins/nodedevice/fragmentation/gpu_mix.hpp"

namespace plimsoll::openb {

struct Machine {
  std::string name;
  int64_t cpu_milli = 0;
  int64_t memory_mib = 0;
  int gpus = 0;
  std::string model;
};

struct Job {
  int64_t cpu_milli = 0;
  int64_t memory_mib = 0;
  int gpus = 0;
  int gpu_milli = 0;                // of each
  std::vector<std::string> models;  // sorted; empty: any

  [[nodiscard]] int64_t gpu_total() const { return int64_t{gpus} * gpu_milli; }
};

// Which of kClasses a job is in.
enum Class { kNoGpu, kShare, kOne, kTwo, kFour, kEight, kClassCount };
inline constexpr const char* kClasses[kClassCount] = {"cpu", "share", "1", "2", "4", "8"};
[[nodiscard]] Class class_of(const Job& job);

struct Trace {
  std::vector<Machine> machines;
  std::vector<Job> jobs;

  [[nodiscard]] int64_t capacity() const;  // thousandths of a GPU
};

// Errors name the file and the line.
[[nodiscard]] Result<Trace> read_trace(const std::string& folder, const std::string& workload);
// Of openb_pod_list_WORKLOAD.csv in the folder, sorted, "default" first.
[[nodiscard]] std::vector<std::string> workloads_in(const std::string& folder);

// One seed gives the same load on every machine.
[[nodiscard]] std::vector<Job> make_load(const Trace& trace, uint64_t seed, int percent = 130);

// The most frequent kinds of jobs, which together are 95 % of all jobs.
[[nodiscard]] std::vector<devices::TypicalPod> typical_pods(const Trace& trace);

}  // namespace plimsoll::openb

#pragma once
// One load, scheduled in several ways, each in its own simulation, and the results.

#include <string>
#include <vector>

#include "bench/packing/load.hpp"
#include "lab/simulate/simulation.hpp"

namespace plimsoll::packing {

struct Way {
  std::string name;
  std::string profile;  // file
  bool oracle = false;  // use the oracle instead of the profile's plugin; reports are not late
  node::ReportKind reports = node::ReportKind::kFacts;
};

// Kubelet, Reference and, first of all, the oracle, which is the reference for the others.
[[nodiscard]] std::vector<Way> all_ways();

struct RunOptions {
  double speed = 1000;  // an upper limit: the clock waits for the scheduler
  std::chrono::milliseconds report_delay{10000};
  double report_jitter = 0.5;
  std::uint64_t seed = 1;
  std::vector<std::string> plugin_directories;
  cli::Progress progress;
};

// Amounts are averages over the time from the moment that the cluster is full to the last arrival.
struct Figures {
  double cpus = 0;    // CPUs that pods run on
  double pinned = 0;  // the part of these for pods that pin CPUs or devices
  double devices = 0;
  std::size_t bound = 0;
  std::size_t ran = 0;  // pods that a kubelet took
  std::uint64_t topology_errors = 0;
  std::uint64_t other_refusals = 0;
  std::size_t waiting = 0;    // pods that wait at the end
  std::size_t held_back = 0;  // waiting pods that some kubelet would admit
  double cross_zone = 0;      // share of the pods that got something for themselves
  double wait_seconds = 0;    // from arrival to admission, on average
  double predicted = 0;       // the share of correct annotations
  std::uint64_t attempts = 0;
  std::vector<std::string> refused;        // "pod on node: reason"
  std::vector<std::string> held_back_why;  // "pod (node would): what the scheduler said"
  double seconds = 0;                      // real time of the run
};

[[nodiscard]] Result<Figures> run(const Way& way, const Load& load, const RunOptions& options);

}  // namespace plimsoll::packing

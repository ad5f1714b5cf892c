#pragma once
// The rules for leader election settings from the profile file or the command line.

#include <string>
#include <vector>

#include "config/profile/scheduler_config.hpp"

namespace plimsoll::config {

// The name that pods have which name none, and kube-scheduler's own lease.
inline constexpr const char* kDefaultSchedulerName = "default-scheduler";
inline constexpr const char* kKubeSchedulerNamespace = "kube-system";
inline constexpr const char* kKubeSchedulerLease = "kube-scheduler";

// Whether a profile serves the pods that kube-scheduler serves.
[[nodiscard]] bool serves_default_scheduler(const SchedulerConfig& config);

struct LeaderElectionProblem {
  std::string field;  // "leaseDuration"
  std::string text;   // Kubernetes' field error, without the path
};

// Returns no problems if the election is switched off.
[[nodiscard]] std::vector<LeaderElectionProblem> leader_election_problems(
    const LeaderElection& election);

}  // namespace plimsoll::config

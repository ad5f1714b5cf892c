#pragma once
// The rules for leader election settings from the profile file or the command line.

#include <string>
#include <vector>

#include "config/scheduler_config.hpp"

namespace plimsoll::config {

// kube-scheduler's own lease.
inline constexpr const char* kKubeSchedulerLease = "kube-scheduler";

struct LeaderElectionProblem {
  std::string field;  // "leaseDuration"
  std::string text;   // Kubernetes' field error, without the path
};

// Returns no problems if the election is switched off.
[[nodiscard]] std::vector<LeaderElectionProblem> leader_election_problems(
    const LeaderElection& election);

}  // namespace plimsoll::config

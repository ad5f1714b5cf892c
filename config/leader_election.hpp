#pragma once
// The rules that a leader election's settings must keep, wherever they come from: the profile file
// or the command line.

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

// Nothing is asked of an election that is switched off.
[[nodiscard]] std::vector<LeaderElectionProblem> leader_election_problems(
    const LeaderElection& election);

}  // namespace plimsoll::config

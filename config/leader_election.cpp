#include "config/leader_election.hpp"

#include <plimsoll/duration.hpp>

#include <algorithm>

#include "config/text/fields.hpp"
#include "config/text/problem.hpp"

namespace plimsoll::config {

bool serves_default_scheduler(const SchedulerConfig& config) {
  return std::ranges::find(config.profiles, kDefaultSchedulerName, &Profile::scheduler_name) !=
         config.profiles.end();
}

// Kubernetes: ValidateLeaderElectionConfiguration, and the checks that NewLeaderElector adds.
std::vector<LeaderElectionProblem> leader_election_problems(const LeaderElection& election) {
  constexpr double kJitter = 1.2;
  std::vector<LeaderElectionProblem> problems;
  if (!election.leader_elect) return problems;
  const auto add = [&](const char* field, std::string_view value, std::string_view text) {
    problems.push_back({field, invalid_value(go_quoted(value), text)});
  };
  const auto check_positive = [&](const char* field, std::chrono::nanoseconds value) {
    if (value.count() <= 0) add(field, sdk::format_duration(value), "must be greater than zero");
  };
  check_positive("leaseDuration", election.lease_duration);
  check_positive("renewDeadline", election.renew_deadline);
  check_positive("retryPeriod", election.retry_period);
  const std::string deadline = sdk::format_duration(election.renew_deadline);
  if (election.lease_duration <= election.renew_deadline) {
    add("leaseDuration", deadline, "must be greater than `RenewDeadline`");
  }
  if (static_cast<double>(election.renew_deadline.count()) <=
      kJitter * static_cast<double>(election.retry_period.count())) {
    add("renewDeadline", deadline, "must be greater than 1.2 times `RetryPeriod`");
  }
  if (election.resource_lock != "leases") {
    add("resourceLock", election.resource_lock, "resourceLock value must be \"leases\"");
  }
  return problems;
}

}  // namespace plimsoll::config

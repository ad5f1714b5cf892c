// The flags of leader election: they win over the file, and keep its rules.

#include "cli/run/leadership.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

config::LeaderElection from_file() {
  config::LeaderElection file;
  file.resource_name = "plimsoll";
  file.retry_period = 3s;
  return file;
}

TEST(LeaderElectionSettings, AreTheFilesUnlessAFlagIsGiven) {
  const auto same = leader_election_settings(from_file(), {});
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->leader_elect);
  EXPECT_EQ(same->resource_name, "plimsoll");
  EXPECT_EQ(same->retry_period, 3s);

  LeaderElectionArguments flags;
  flags.leader_elect = false;
  flags.lease_duration = "1m";
  flags.renew_deadline = "40s";
  flags.retry_period = "500ms";
  flags.resource_name = "other";
  flags.resource_namespace = "team-a";
  const auto merged = leader_election_settings(from_file(), flags);
  ASSERT_TRUE(merged);
  EXPECT_FALSE(merged->leader_elect);
  EXPECT_EQ(merged->lease_duration, 1min);
  EXPECT_EQ(merged->renew_deadline, 40s);
  EXPECT_EQ(merged->retry_period, 500ms);
  EXPECT_EQ(merged->resource_name, "other");
  EXPECT_EQ(merged->resource_namespace, "team-a");
  flags.resource_name = "";
  EXPECT_EQ(leader_election_settings(from_file(), flags)->resource_name, "plimsoll");
}

TEST(LeaderElectionSettings, SayEverythingThatIsWrong) {
  LeaderElectionArguments flags;
  flags.lease_duration = "soon";
  flags.renew_deadline = "3s";
  flags.resource_lock = "endpoints";
  const auto refused = leader_election_settings(from_file(), flags);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(
      refused.error().message,
      AllOf(HasSubstr("--leader-elect-lease-duration: \"soon\" is not a duration"),
            HasSubstr("leaderElection.renewDeadline: Invalid value: \"3s\": must be greater "
                      "than 1.2 times `RetryPeriod`"),
            HasSubstr("resourceLock value must be \"leases\"")));
  flags.lease_duration.reset();
  flags.leader_elect = false;
  EXPECT_TRUE(leader_election_settings(from_file(), flags)) << "what is off has no rules";
}

// Two that serve one name's pods must share a lease.
TEST(BesideKubeScheduler, PodsOfDefaultSchedulerAreServedUnderItsLeaseOnly) {
  config::SchedulerConfig config;
  config.profiles.resize(2);
  config.profiles[0].scheduler_name = "topo";
  config.profiles[1].scheduler_name = "default-scheduler";
  config.leader_election.resource_name = "kube-scheduler";
  EXPECT_TRUE(check_beside_kube_scheduler(config, false));
  const auto refused = [&](const auto& change) {
    config::SchedulerConfig other = config;
    change(other);
    const auto checked = check_beside_kube_scheduler(other, false);
    EXPECT_TRUE(check_beside_kube_scheduler(other, true)) << "the operator insists";
    other.profiles[1].scheduler_name = "other";
    EXPECT_TRUE(check_beside_kube_scheduler(other, false)) << "of no concern to kube-scheduler";
    return checked ? "" : checked.error().message;
  };
  EXPECT_THAT(
      refused([](auto& c) { c.leader_election.resource_name = "plimsoll"; }),
      AllOf(HasSubstr("the lease here is kube-system/plimsoll"),
            HasSubstr("kube-system/kube-scheduler"), HasSubstr("--without-kube-scheduler")));
  EXPECT_THAT(refused([](auto& c) { c.leader_election.resource_namespace = "team-a"; }),
              HasSubstr("the lease here is team-a/kube-scheduler"));
  EXPECT_THAT(refused([](auto& c) { c.leader_election.leader_elect = false; }),
              HasSubstr("leader election is off here"));
}

}  // namespace
}  // namespace plimsoll::cli

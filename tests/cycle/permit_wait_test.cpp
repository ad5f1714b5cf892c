// Pods that wait on Permit. Kubernetes: TestWaitOnPermit of framework_test.go,
// waiting_pods_map_test.go.

#include <gmock/gmock.h>

#include <future>

#include "tests/cycle/binding_fixture.hpp"

namespace plimsoll::testing {
namespace {

using PermitWait = BindingCycle;

TEST_F(PermitWait, AllWhoWaitMustAllow) {
  p().permit = q().permit = waits();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("Q permit a"));
  host("P").allow_waiting("u-a");
  host("P").allow_waiting("u-a");
  host("P").allow_waiting("u-nobody");
  settle();
  EXPECT_EQ(journal_.count("bind a n"), 0);
  host("Q").allow_waiting("u-a");
  EXPECT_TRUE(journal_.await(kScheduled));
  host("Q").reject_waiting("u-a", "too late");
  settle();
  EXPECT_EQ(scheduler_->stats().scheduled, 1U);
}

// The Binding is for the newest version that is known then: somebody may have changed the pod while
// it waited.
TEST_F(PermitWait, TheBindingNamesThePodsNewestVersion) {
  std::promise<std::string> version;
  api_.on_bound = [&](const BindRequest& bound) { version.set_value(bound.resource_version); };
  p().permit = waits();
  start();
  add_node("n", "4");
  scheduler_->post(PodUpserted{pod("a", "", "1", R"("resourceVersion":"7",)")});
  ASSERT_TRUE(journal_.await("P permit a"));
  scheduler_->post(PodUpserted{pod("a", "", "1", R"("resourceVersion":"8",)")});
  host("P").allow_waiting("u-a");
  EXPECT_EQ(version.get_future().get(), "8");
}

TEST_F(PermitWait, OneRejectionIsEnough) {
  p().reserve = succeeds();
  p().permit = waits_once();
  q().permit = waits_once();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("Q permit a"));
  host("P").allow_waiting("u-a");
  host("Q").reject_waiting("u-a", "not today");
  ASSERT_TRUE(journal_.await("condition a Unschedulable: 0/1 nodes are available: 1 not today."));
  EXPECT_TRUE(journal_.in_order(
      "P unreserve a", "condition a Unschedulable: 0/1 nodes are available: 1 not today."));
  settle();
  EXPECT_EQ(scheduler_->stats().attempts, 1U) << "what it gave back does not wake the pod itself";
}

// Pod "a" waits on Permit, and "b" for the room that it takes.
class PermitWaitOfTwo : public PermitWait {
 protected:
  void wait_both() {
    p().permit = [](const Host&, Pod pod, int64_t& timeout_ms) {
      timeout_ms = 60'000;
      return pod.name() == "a" ? Status::wait() : Status();
    };
    one_node_one_pod();
    ASSERT_TRUE(journal_.await("P permit a"));
    add_pod("b");
    ASSERT_TRUE(
        journal_.await("condition b Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."));
  }
};

TEST_F(PermitWaitOfTwo, ARejectedPodWakesTheOthers) {
  ASSERT_NO_FATAL_FAILURE(wait_both());
  host("P").reject_waiting("u-a", "not today");
  EXPECT_TRUE(journal_.await("bind b n"));
}

// It was assumed as it was: what it no longer needs is free once the watch shows it bound.
TEST_F(PermitWaitOfTwo, APodThatShrankWhileItWaitedWakesTheOthers) {
  api_.on_bound = [this](const BindRequest& bound) {
    scheduler_->post(PodUpserted{pod(bound.name, "n", "0")});
  };
  ASSERT_NO_FATAL_FAILURE(wait_both());
  host("P").allow_waiting("u-a");
  EXPECT_TRUE(journal_.await("bind b n"));
}

TEST_F(PermitWaitOfTwo, APodThatAnotherSchedulerTookElsewhereWakesTheOthers) {
  ASSERT_NO_FATAL_FAILURE(wait_both());
  scheduler_->post(PodUpserted{pod("a", "m", "1")});
  EXPECT_TRUE(journal_.await("bind b n"));
}

TEST_F(PermitWait, EveryPluginHasItsOwnTimer) {
  p().permit = waits_once(60'000);
  q().permit = waits_once(30);
  one_node_one_pod();
  EXPECT_TRUE(journal_.await(
      "condition a Unschedulable: 0/1 nodes are available: 1 rejected due to timeout after waiting "
      "30ms at plugin Q."));
}

TEST_F(PermitWait, ATimerOfAPluginThatAllowedIsOff) {
  p().permit = waits(60'000);
  q().permit = waits(150);
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("Q permit a"));
  host("Q").allow_waiting("u-a");
  settle();
  const auto due = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (std::chrono::steady_clock::now() < due) settle();
  host("P").allow_waiting("u-a");
  EXPECT_TRUE(journal_.await("bind a n"));
}

TEST_F(PermitWait, DeletedWhileItWaits) {
  p().reserve = succeeds();
  p().permit = waits();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("P permit a"));
  add_pod("b");
  ASSERT_TRUE(
      journal_.await("condition b Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."));
  scheduler_->post(PodDeleted{pod("a", "", "1")});
  ASSERT_TRUE(journal_.await("P permit b")) << "the place is free";
  EXPECT_TRUE(journal_.in_order("P unreserve a", "P reserve b"));
  settle();
  for (const std::string& line : journal_.lines()) {
    EXPECT_FALSE(line.starts_with("event a") || line.starts_with("condition a")) << line;
  }
  EXPECT_EQ(scheduler_->stats().queue.in_flight, 1U) << "b";
}

TEST_F(PermitWait, TerminatingWhileItWaits) {
  p().permit = waits();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("P permit a"));
  const std::string dying = R"("deletionTimestamp":"2026-01-01T00:00:00Z",)";
  add_pod("a", "1", dying);
  ASSERT_TRUE(journal_.await("condition a Unschedulable: 0/1 nodes are available: 1 removed."));
  activate("u-a");
  EXPECT_TRUE(journal_.await(
      "event a Warning FailedScheduling Scheduling: skip schedule deleting pod: ns/a"));
  settle();
  EXPECT_EQ(scheduler_->stats().attempts, 1U);
}

TEST_F(PermitWait, DeletedInPreBind) {
  p().reserve = succeeds();
  hang_pre_bind();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("hangs"));
  scheduler_->post(PodDeleted{pod("a", "", "1")});
  settle();
  finish();
  ASSERT_TRUE(journal_.await("P unreserve a"));
  settle();
  EXPECT_EQ(journal_.count("bind a n"), 0);
  EXPECT_EQ(scheduler_->stats().assumed_pods, 0U);
  EXPECT_EQ(scheduler_->stats().queue.in_flight, 0U);
}

TEST_F(PermitWait, TerminatingInPreBindGivesItsPlaceBackAtOnce) {
  p().reserve = succeeds();
  hang_pre_bind();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("hangs"));
  add_pod("b");
  ASSERT_TRUE(
      journal_.await("condition b Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."));
  add_pod("a", "1", R"("deletionTimestamp":"2026-01-01T00:00:00Z",)");
  ASSERT_TRUE(journal_.await("bind b n")) << "its PreBind still hangs";
  EXPECT_EQ(journal_.count("P unreserve a"), 0);
  finish();
  ASSERT_TRUE(journal_.await("P unreserve a"));
  settle();
  EXPECT_EQ(journal_.count("bind a n"), 0);
  EXPECT_EQ(scheduler_->stats().pods, 1U) << "b";
}

TEST_F(PermitWait, BoundByAnotherMeanwhile) {
  p().reserve = succeeds();
  hang_pre_bind();
  one_node_one_pod();
  add_node("m", "1");
  ASSERT_TRUE(journal_.await("hangs"));
  scheduler_->post(PodUpserted{pod("a", "m", "1")});
  settle();
  finish(PLIMSOLL_ERROR, "somebody else has the disk");
  ASSERT_TRUE(journal_.await("P unreserve a"));
  settle();
  for (const std::string& line : journal_.lines()) {
    EXPECT_FALSE(line.starts_with("event a") || line.starts_with("condition a")) << line;
  }
  EXPECT_EQ(scheduler_->stats().pods, 1U) << "where the API server has it";
}

TEST_F(PermitWait, RecreatedUnderItsNameWhileItWaits) {
  p().reserve = succeeds();
  p().permit = waits_once();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("P permit a"));
  scheduler_->post(PodDeleted{pod("a", "", "1")});
  scheduler_->post(PodUpserted{pod("a", "", "1", "", "one", "", "u-again")});
  host("P").allow_waiting("u-a");  // of the pod that was
  ASSERT_TRUE(journal_.await("bind a n"));
  EXPECT_TRUE(journal_.in_order("P unreserve a", "bind a n"));
  EXPECT_EQ(journal_.count("P permit a"), 2);
}

TEST_F(PermitWait, AnUpdateOfAWaitingPodIsWhatIsTriedAgain) {
  p().permit = waits_once();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("P permit a"));
  add_pod("a", "3");
  host("P").reject_waiting("u-a", "not today");
  add_node("m", "1");
  EXPECT_TRUE(
      journal_.await("condition a Unschedulable: 0/2 nodes are available: 2 Insufficient cpu."));
}

TEST_F(PermitWait, NodeGoneWhileItWaits) {
  p().permit = waits_once();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("P permit a"));
  scheduler_->post(NodeDeleted{"n"});
  host("P").allow_waiting("u-a");
  EXPECT_TRUE(journal_.await("condition a SchedulerError: node n is gone"));
}

TEST_F(PermitWait, AStopGivesBackWhatWaitingPodsHold) {
  p().reserve = q().reserve = succeeds();
  p().permit = waits();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("nominate a n"));
  settle();
  stop();
  EXPECT_TRUE(journal_.in_order("Q unreserve a", "P unreserve a"));
  EXPECT_EQ(scheduler_->stats().assumed_pods, 0U);
  for (const std::string& line : journal_.lines()) {
    EXPECT_FALSE(line.starts_with("event a") || line.starts_with("condition a")) << line;
  }
}

}  // namespace
}  // namespace plimsoll::testing

// From a reserved node to the Binding, and what becomes of pods that do not get there. Kubernetes:
// TestSchedulerScheduleOne, TestSchedulerBinding of pkg/scheduler/schedule_one_test.go,
// pods_in_prebind_map_test.go.

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "tests/cycle/binding_fixture.hpp"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;

// ---- order

TEST_F(BindingCycle, RunsInOrderAndWritesOnce) {
  p().reserve = q().reserve = succeeds();
  p().permit = succeeds();
  p().pre_bind = q().pre_bind = succeeds();
  p().pre_flight = q().pre_flight = [](const Host&, Pod) { return Status::skip(); };
  one_node_one_pod();
  ASSERT_TRUE(journal_.await(kScheduled));
  EXPECT_THAT(journal_.lines(), ElementsAre("P reserve a", "Q reserve a", "P permit a", "bind a n",
                                            "P post_bind a", "Q post_bind a", kScheduled));
  EXPECT_TRUE(api_.patches().empty()) << "nothing takes long, so no nomination is written";
}

TEST_F(BindingCycle, OnlyPodsThatWaitedGetAnEventIfTheOperatorSaysSo) {
  options_.scheduled_events = ScheduledEvents::kWaited;
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("bind a n"));
  add_pod("b");
  settle();
  add_node("m", "1");
  EXPECT_TRUE(journal_.await("event b Normal Scheduled Binding: Successfully assigned ns/b to m"));
  EXPECT_EQ(journal_.count(kScheduled), 0);
}

TEST_F(BindingCycle, NoPodGetsAnEventIfTheOperatorSaysSo) {
  options_.scheduled_events = ScheduledEvents::kNever;
  one_node_one_pod();
  // The loop hears of the binding's end after the API has written it.
  for (int i = 0; i < 6000 && scheduler_->stats().scheduled == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(scheduler_->stats().scheduled, 1U);
  settle();
  EXPECT_EQ(journal_.count(kScheduled), 0);
}

TEST_F(BindingCycle, NominatesBeforeASlowPreBindAndGoesOn) {
  p().pre_bind = succeeds();
  api_.hold_nominations();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("bind a n")) << "the nomination is under way still";
  ASSERT_EQ(api_.patches().size(), 1U);
  EXPECT_EQ(api_.patches()[0].uid, "u-a");
  EXPECT_EQ(api_.patches()[0].reason, "") << "no condition";
  EXPECT_TRUE(journal_.in_order("nominate a n", "P pre_bind a"));
  EXPECT_TRUE(journal_.in_order("P pre_bind a", "bind a n"));
}

TEST_F(BindingCycle, ANominationThatCannotBeWrittenStopsNobody) {
  p().pre_bind = succeeds();
  api_.hold_nominations();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("nominate a n"));
  api_.answer_nominations(fail(ErrorCode::kUnavailable, "the server is on fire"));
  EXPECT_TRUE(journal_.await("bind a n"));
}

TEST_F(BindingCycle, NominatesBeforeAWaitAndWaitsForPermitOnly) {
  p().permit = waits();
  api_.hold_nominations();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("nominate a n"));
  settle();
  EXPECT_EQ(journal_.count("bind a n"), 0);
  host("P").allow_waiting("u-a");
  EXPECT_TRUE(journal_.await("bind a n")) << "the nomination is under way still";
}

TEST_F(BindingCycle, ANominationThatIsThereIsNotWrittenAgain) {
  p().pre_bind = succeeds();
  start();
  add_node("n", "1");
  scheduler_->post(PodUpserted{pod("a", "", "1", "", "one", R"("nominatedNodeName":"n")")});
  ASSERT_TRUE(journal_.await("bind a n"));
  EXPECT_EQ(journal_.count("nominate a n"), 0);
}

// ---- failures

TEST_F(BindingCycle, AFailureGivesEverythingBackInReverse) {
  p().reserve = q().reserve = succeeds();
  p().pre_bind = [failed = std::make_shared<std::atomic<bool>>(false)](const Host& host, Pod,
                                                                       Token) {
    return failed->exchange(true) ? Status() : host.failed(PLIMSOLL_ERROR, "disk is full");
  };
  one_node_one_pod();
  const std::string text = "running PreBind plugin \"P\": disk is full";
  ASSERT_TRUE(journal_.await(kScheduled));
  EXPECT_EQ(journal_.count("event a Warning FailedScheduling Scheduling: " + text), 1);
  EXPECT_TRUE(journal_.in_order("Q unreserve a", "P unreserve a"));
  EXPECT_TRUE(journal_.in_order("P unreserve a", "condition a SchedulerError: " + text));
  EXPECT_EQ(journal_.count("nominate a -"), 1) << "and takes the nomination back";
  settle();
  EXPECT_EQ(scheduler_->stats().bind_errors, 1U);
  EXPECT_EQ(scheduler_->stats().scheduled, 1U);
}

TEST_F(BindingCycle, ARejectionInPreBindIsToldAsItIsAndTriedAgain) {
  p().reserve = succeeds();
  p().pre_bind = [failed = std::make_shared<std::atomic<bool>>(false)](const Host& host, Pod,
                                                                       Token) {
    return failed->exchange(true) ? Status()
                                  : host.failed(PLIMSOLL_UNSCHEDULABLE, "volume is elsewhere");
  };
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("condition a Unschedulable: volume is elsewhere"));
  EXPECT_EQ(journal_.count("event a Warning FailedScheduling Scheduling: volume is elsewhere"), 1);
  EXPECT_TRUE(journal_.await("bind a n")) << "after a backoff, whatever events come";
}

TEST_F(BindingCycle, AFailedBindIsTriedAgain) {
  api_.fail_next_bind(Error{ErrorCode::kConflict, "409: already assigned"});
  one_node_one_pod();
  EXPECT_TRUE(journal_.await(
      "condition a SchedulerError: running Bind plugin \"Poster\": 409: already assigned"));
  EXPECT_TRUE(journal_.await("bind a n"));
}

TEST_F(BindingCycle, NoBindPluginTakesIt) {
  p().bind = q().bind = [](const Host&, Pod) { return Status::skip(); };
  one_node_one_pod();
  EXPECT_TRUE(journal_.await("condition a SchedulerError: all Bind plugins skipped the pod"));
  EXPECT_TRUE(journal_.in_order("P bind a", "Q bind a"));
}

TEST_F(BindingCycle, PreFlightFailureIsAnError) {
  p().reserve = succeeds();
  p().pre_bind = succeeds();
  p().pre_flight = [](const Host& host, Pod) { return host.unschedulable("no"); };
  one_node_one_pod();
  EXPECT_TRUE(journal_.await(
      "condition a SchedulerError: PreBindPreFlight P returned \"Unschedulable\", which is "
      "unsupported. It is supposed to return Success, Skip, or Error status"));
  EXPECT_EQ(journal_.count("P pre_bind a"), 0);
  EXPECT_TRUE(journal_.await("P unreserve a"));
}

TEST_F(BindingCycle, ReserveFailureTellsAllReservePlugins) {
  p().reserve = [](const Host& host, Pod) { return host.unschedulable("no seat left"); };
  q().reserve = succeeds();
  one_node_one_pod();
  ASSERT_TRUE(
      journal_.await("condition a Unschedulable: 0/1 nodes are available: 1 no seat left."));
  EXPECT_EQ(journal_.count("Q reserve a"), 0);
  EXPECT_TRUE(journal_.in_order("Q unreserve a", "P unreserve a"));
}

TEST_F(BindingCycle, AnErrorInPermitIsToldAsItIs) {
  p().permit = [](const Host& host, Pod, int64_t&) { return host.error("no quorum"); };
  one_node_one_pod();
  EXPECT_TRUE(journal_.await("condition a SchedulerError: running Permit plugin \"P\": no quorum"));
}

TEST_F(BindingCycle, ConditionsAreWrittenOnChangeAndKeepTheirTransition) {
  p().reserve = succeeds();
  start();
  add_node("n", "1");
  const std::string text = "0/1 nodes are available: 1 Insufficient cpu.";
  const auto big = [&](const std::string& message) {
    return pod("a", "", "4", "", "one",
               R"("conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",)"
               R"("message":")" +
                   message + R"("}])");
  };
  add_pod("a", "4");
  ASSERT_TRUE(journal_.await("condition a Unschedulable: " + text));
  EXPECT_FALSE(api_.patches().back().stays_false);
  scheduler_->post(PodUpserted{big(text)});
  add_node("m", "1");  // tried again, the text is another
  ASSERT_TRUE(
      journal_.await("condition a Unschedulable: 0/2 nodes are available: 2 Insufficient cpu."));
  EXPECT_TRUE(api_.patches().back().stays_false);
  scheduler_->post(PodUpserted{big("0/2 nodes are available: 2 Insufficient cpu.")});
  scheduler_->post(NodeDeleted{"m"});
  scheduler_->post(PodUpserted{big(text)});
  add_pod("b", "4");
  ASSERT_TRUE(journal_.await("condition b Unschedulable: " + text));
  activate("u-a");
  ASSERT_TRUE(journal_.await("event a Warning FailedScheduling Scheduling: " + text, 2));
  settle();
  EXPECT_EQ(journal_.count("condition a Unschedulable: " + text), 1) << "it says so already";
}

TEST_F(BindingCycle, AStopIsOverWhenItsTimeIsWhateverTheClockSays) {
  options_.clock = [] { return int64_t{1'800'000'000'000}; };
  options_.stop_grace = std::chrono::milliseconds(20);
  hang_pre_bind();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("hangs"));
  stop();
  EXPECT_EQ(journal_.count(kScheduled), 0);
}

// ---- cancel_binding

TEST_F(BindingCycle, CancelledInPreBind) {
  p().reserve = succeeds();
  hang_pre_bind();
  q().pre_bind = succeeds();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("hangs"));
  EXPECT_EQ(cancel("u-a", "preempted by P"), 1U);
  EXPECT_EQ(cancel("u-x", "preempted by P"), 0U);
  finish();
  ASSERT_TRUE(journal_.await("condition a SchedulerError: preempted by P"));
  EXPECT_TRUE(journal_.in_order("P unreserve a", "condition a SchedulerError: preempted by P"));
  ASSERT_TRUE(journal_.await("bind a n")) << "tried again later";
  EXPECT_EQ(journal_.count("Q pre_bind a"), 1) << "no further step was begun the first time";
}

// A preemptor must not wait for the PreBind of a victim that will not be bound.
TEST_F(BindingCycle, CancelledInPreBindItGivesItsPlaceBackAtOnce) {
  p().reserve = succeeds();
  hang_pre_bind();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("hangs"));
  add_pod("b");
  ASSERT_TRUE(
      journal_.await("condition b Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."));
  EXPECT_EQ(cancel("u-a", "preempted by P"), 1U);
  ASSERT_TRUE(journal_.await("bind b n")) << "its PreBind still hangs";
  EXPECT_EQ(journal_.count("P unreserve a"), 0);
  finish();
  ASSERT_TRUE(
      journal_.await("condition a Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."));
  EXPECT_EQ(journal_.count("bind a n"), 0);
}

TEST_F(BindingCycle, CancelledWhileItWaits) {
  p().reserve = succeeds();
  p().permit = waits_once();
  one_node_one_pod();
  ASSERT_TRUE(journal_.await("P permit a"));
  std::promise<int> unreserved;
  scheduler_->post(Task{[&] {
    const plimsoll_host& table = host("P").table();
    EXPECT_EQ(table.cancel_binding(table.ctx, sdk::str("u-a"), sdk::str("preempted")), 1U);
    unreserved.set_value(journal_.count("P unreserve a"));
  }});
  EXPECT_EQ(unreserved.get_future().get(), 0) << "not from within the caller's call";
  EXPECT_TRUE(journal_.await("condition a SchedulerError: waiting on permit for pod: preempted"));
  EXPECT_TRUE(journal_.await("bind a n"));
}

TEST_F(BindingCycle, TooLateToCancel) {
  std::promise<void> at_bind, go_on;
  auto may_go_on = go_on.get_future().share();
  p().bind = [&, may_go_on](const Host&, Pod) {
    at_bind.set_value();
    may_go_on.wait();
    return Status();
  };
  one_node_one_pod();
  at_bind.get_future().wait();
  EXPECT_EQ(cancel("u-a", "preempted"), 0U);
  go_on.set_value();
  EXPECT_TRUE(journal_.await(kScheduled));
}

// ---- PodsToActivate

TEST_F(BindingCycle, ActivatesOnceTheCycleHasSucceeded) {
  // Only "b" is rejected by P, and only P knows when it may be tried again.
  auto open = std::make_shared<std::atomic<bool>>(false);
  p().pre_filter = [open](const Host& host, Pod pod) {
    return pod.name() == "b" && !*open ? host.unschedulable("its gang is not there") : Status();
  };
  p().permit = [open](const Host& host, Pod pod, int64_t&) {
    if (pod.name() == "b") return Status();
    *open = pod.name() == "a";
    host.table().activate(host.table().ctx, sdk::str("u-b"));
    return pod.name() == "a" ? Status() : host.unschedulable("not this one");
  };
  start();
  add_node("n", "4");
  add_pod("b");
  ASSERT_TRUE(
      journal_.await("condition b Unschedulable: 0/1 nodes are available: its gang is not there."));
  add_pod("c");
  ASSERT_TRUE(
      journal_.await("condition c Unschedulable: 0/1 nodes are available: 1 not this one."));
  settle();
  EXPECT_EQ(journal_.count("P pre_filter b"), 1) << "c has failed";
  add_pod("a");
  EXPECT_TRUE(journal_.await("bind b n"));
}

// ---- several profiles, and pods that are left alone

TEST_F(BindingCycle, ProfilesShareTheQueueAndTheNodes) {
  p().reserve = succeeds();
  start();
  add_node("n", "2");
  add_pod("a");
  scheduler_->post(PodUpserted{pod("b", "", "1", "", "two")});
  scheduler_->post(PodUpserted{pod("c", "", "1", "", "three")});
  ASSERT_TRUE(journal_.await("bind a n"));
  ASSERT_TRUE(journal_.await("bind b n"));
  scheduler_->post(PodUpserted{pod("d", "", "1", "", "two")});
  EXPECT_TRUE(
      journal_.await("condition d Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."));
  settle();
  EXPECT_EQ(journal_.count("P reserve c"), 0);
}

TEST_F(BindingCycle, TerminatingPodsAreNotScheduled) {
  start();
  add_node("n", "1");
  add_pod("a", "1", R"("deletionTimestamp":"2026-01-01T00:00:00Z",)");
  EXPECT_TRUE(journal_.await(
      "event a Warning FailedScheduling Scheduling: skip schedule deleting pod: ns/a"));
  settle();
  EXPECT_EQ(scheduler_->stats().attempts, 0U);
  EXPECT_EQ(scheduler_->stats().queue.in_flight, 0U);
}

// It is in no queue any more, but its room is kept until it is gone; then others hear of it.
TEST_F(BindingCycle, ATerminatingNominatedPodLeavesItsRoomWhenItIsGone) {
  start();
  add_node("n", "1");
  const PodRef dying = pod("a", "", "1", R"("deletionTimestamp":"2026-01-01T00:00:00Z",)", "one",
                           R"("nominatedNodeName":"n")");
  scheduler_->post(PodUpserted{dying});
  ASSERT_TRUE(journal_.await(
      "event a Warning FailedScheduling Scheduling: skip schedule deleting pod: ns/a"));
  add_pod("b");
  ASSERT_TRUE(
      journal_.await("condition b Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."));
  scheduler_->post(PodDeleted{dying});
  EXPECT_TRUE(journal_.await("bind b n"));
}

// ---- the end

// What waits in the inbox of a loop that has ended may hold a plugin's objects, whose end may post.
TEST_F(BindingCycle, WhatIsNeverHeardMayPostAsItGoes) {
  struct LastWord {
    Scheduler& scheduler;
    std::atomic<bool>& said;
    ~LastWord() {
      scheduler.post(Task{[] {}});
      said = true;
    }
  };
  std::atomic<bool> said{false};
  start();
  // A task that posts itself again as long as it is heard: the last one never is.
  std::function<void(std::shared_ptr<LastWord>)> again = [&](std::shared_ptr<LastWord> word) {
    scheduler_->post(Task{[&again, word = std::move(word)] { again(word); }});
  };
  again(std::shared_ptr<LastWord>(new LastWord{*scheduler_, said}));
  settle();
  stop();
  EXPECT_TRUE(said);
}

}  // namespace
}  // namespace plimsoll::testing

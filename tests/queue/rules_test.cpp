// Rule by rule what kube-scheduler's queue does, as short scripts on a clock.

#include <gtest/gtest.h>

#include "tests/queue/queue_fixture.hpp"

namespace plimsoll {
namespace {

using Rules = QueueTest;

// ---- backoff

struct Attempt {
  bool error;
  int64_t seconds;  // that it then waits
};

void expect_delays(const QueueConfig& config, std::initializer_list<Attempt> attempts) {
  SymbolTable symbols;
  FakePolicy policy(symbols);
  SchedulingQueue queue(policy, config);
  const PodRef pod = *decode_pod(R"({"metadata":{"name":"a","uid":"u"},"spec":{}})", symbols);
  int64_t now = kStart;
  queue.add(pod, now);
  for (const Attempt& attempt : attempts) {
    QueuedPod* popped = queue.pop();
    ASSERT_NE(popped, nullptr);
    queue.reject("u", attempt.error ? std::set<PluginIndex>{} : std::set{kFit}, {}, now);
    const int64_t expiry = queue.backoff_expiry(*popped);
    EXPECT_EQ(expiry == 0 ? 0 : (expiry - now) / 1000, attempt.seconds)
        << "attempt " << popped->attempts;
    now += 100'000;
    queue.flush_backoff(now);
    queue.activate("u", now);
  }
}

TEST(Backoff, DoublesWithEachRejection) {
  expect_delays({}, {{false, 1}, {false, 2}, {false, 4}, {false, 8}, {false, 10}, {false, 10}});
  QueueConfig config;
  config.initial_backoff_ms = 2000;
  config.max_backoff_ms = 52'000;
  expect_delays(config,
                {{false, 2}, {false, 4}, {false, 8}, {false, 16}, {false, 32}, {false, 52}});
}

TEST(Backoff, ErrorsCountByThemselvesAndUntilARejection) {
  expect_delays({}, {{false, 1},
                     {false, 2},
                     {true, 1},
                     {true, 2},
                     {true, 4},
                     {false, 4},  // the third rejection
                     {true, 1},
                     {false, 8}});
}

TEST(Backoff, NoneIfTheMaximumIsZero) {
  QueueConfig config;
  config.max_backoff_ms = 0;
  expect_delays(config, {{false, 0}, {true, 0}, {false, 0}});
}

TEST(Backoff, TheMaximumHoldsFromTheFirstAttempt) {
  QueueConfig config;
  config.initial_backoff_ms = 30'000;
  expect_delays(config, {{false, 10}, {true, 10}});
}

TEST_F(Rules, WithinAWindowPodsLeaveBackoffInTheirSortOrder) {
  rejected("first", {kFit});  // all three end in the window of second 1
  now_ += 200;
  queue_.add(pod("important", 5), now_);
  ASSERT_EQ(pop(), "important");
  reject("important", {kFit});
  now_ += 700;
  rejected("late", {kFit});
  now_ += 200;  // the next window
  queue_.add(pod("next window", 9), now_);
  ASSERT_EQ(pop(), "next window");
  reject("next window", {kFit});
  add_node();
  for (const char* name : {"important", "first", "late", "next window", ""}) EXPECT_EQ(pop(), name);
}

TEST_F(Rules, AnErrorIsWaitedOutAloneAndByItsExpiry) {
  queue_.add(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  fail("a");
  now_ += 1000;
  queue_.add(pod("b", 9), now_);
  ASSERT_EQ(pop(), "b");
  fail("b");
  EXPECT_EQ(place("a"), "error-backoff");
  EXPECT_EQ(pop(), "") << "never popped early";
  add_node();
  EXPECT_EQ(place("a"), "error-backoff") << "no event helps";
  now_ = kStart + 2000;
  queue_.flush_backoff(now_);
  EXPECT_EQ(place("a"), "active");
  EXPECT_EQ(place("b"), "error-backoff");
}

// ---- wake-ups

TEST_F(Rules, AWakeUpAfterTheBackoffGoesStraightToActive) {
  rejected("a", {kFit});
  now_ += 2000;
  add_node();
  EXPECT_EQ(place("a"), "active");
}

TEST_F(Rules, AnyOfSeveralRejectorsWakesThePod) {
  policy_.says[kFit] = QueueHint::kSkip;
  rejected("a", {kFit, kPorts});
  add_node();
  EXPECT_EQ(place("a"), "unschedulable");
  delete_pod();
  EXPECT_EQ(place("a"), "backoff");
}

TEST_F(Rules, WhatAPendingPluginWaitedForComesWithoutPenalty) {
  rejected("pending", {}, {kFit});
  rejected("both", {kPorts}, {kFit});
  add_node();
  EXPECT_EQ(place("pending"), "active");
  EXPECT_EQ(place("both"), "active");
  for (const char* name : {"pending", "both"}) queue_.remove(std::string("uid-") + name);
  rejected("other", {kPorts}, {kFit});
  delete_pod();
  EXPECT_EQ(place("other"), "backoff") << "only the plugin that is pending spares it the backoff";
}

TEST_F(Rules, TheCauseOfAnEventIsNotWokenByIt) {
  rejected("a", {kPorts});
  rejected("b", {kPorts});
  queue_.move_all(assigned_pod_deleted(pod("a")), now_, "uid-a");
  EXPECT_EQ(place("a"), "unschedulable");
  EXPECT_EQ(place("b"), "backoff");
}

// getLEPriorityPreCheck: what a nominated pod leaves.
TEST_F(Rules, AnEventMayBeForPodsOfLowPriorityOnly) {
  ClusterEvent event = assigned_pod_deleted(pod("nominated", 5));
  event.max_priority = 5;
  for (const int priority : {4, 5, 6}) {
    const std::string name = "p" + std::to_string(priority);
    queue_.add(pod(name, priority), now_);
    ASSERT_EQ(pop(), name);
    reject(name, {kPorts});
  }
  queue_.move_all(event, now_);
  EXPECT_EQ(place("p4"), "backoff");
  EXPECT_EQ(place("p5"), "backoff");
  EXPECT_EQ(place("p6"), "unschedulable");
}

TEST_F(Rules, OwnUpdateWakesIfARejectorRegisteredIt) {
  policy_.registered.push_back(
      {plugin_key(0, kPorts),
       {symbols_.intern(kResourcePod), PLIMSOLL_ACTION_UPDATE_POD_TOLERATION, 0}});
  std::sort(policy_.registered.begin(), policy_.registered.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  constexpr const char* kTolerant = R"(,"tolerations":[{"operator":"Exists"}])";
  rejected("fit", {kFit});
  queue_.update(pod("fit", 0, kTolerant), now_);
  EXPECT_EQ(place("fit"), "unschedulable");
  rejected("ports", {kPorts});
  queue_.update(pod("ports", 3), now_);
  EXPECT_EQ(place("ports"), "unschedulable") << "its tolerations are the same";
  queue_.update(pod("ports", 3, kTolerant), now_);
  EXPECT_EQ(place("ports"), "backoff");
  EXPECT_EQ(queue_.find("uid-ports")->tolerations.count, 1U) << "the newest version is kept";
}

TEST_F(Rules, UpdatedPriorityCountsAtOnceWhereverThePodWaits) {
  queue_.add(pod("a"), now_);
  queue_.add(pod("b", 1), now_);
  queue_.update(pod("a", 2), now_ + 5);
  EXPECT_EQ(pop(), "a");
  EXPECT_EQ(pop(), "b");
  for (const char* name : {"a", "b"}) reject(name, {kFit});
  add_node();
  queue_.update(pod("b", 7), now_);
  EXPECT_EQ(pop(), "b");
}

// ---- pods in flight

TEST_F(Rules, EachPodInFlightSeesWhatHappenedSinceItWasPopped) {
  queue_.add(pod("a"), now_);
  queue_.add(pod("b"), now_ + 1);
  ASSERT_EQ(pop(), "a");
  add_node();
  ASSERT_EQ(pop(), "b");
  delete_pod();
  EXPECT_EQ(queue_.sizes().in_flight_events, 2U);
  reject("b", {kFit});
  EXPECT_EQ(place("b"), "unschedulable") << "the node came before";
  EXPECT_EQ(queue_.sizes().in_flight_events, 2U) << "a needs both";
  reject("a", {kFit});
  EXPECT_EQ(place("a"), "backoff");
  EXPECT_EQ(queue_.sizes().in_flight_events, 0U);
}

TEST_F(Rules, HintsOfPodsInFlightAreAskedWhenTheAttemptEnds) {
  queue_.add(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  policy_.says[kPorts] = QueueHint::kSkip;
  add_node();
  delete_pod();
  EXPECT_TRUE(policy_.asked.empty());
  reject("a", {kPorts});
  EXPECT_EQ(policy_.asked, (std::vector{std::pair{std::string("a"), kPorts}}))
      << "and of the rejector that registered the event only";
  EXPECT_EQ(place("a"), "unschedulable");
}

TEST_F(Rules, PendingPluginsAreAskedAboutEventsInFlightToo) {
  queue_.add(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  delete_pod();
  add_node();
  reject("a", {kPorts}, {kFit});
  EXPECT_EQ(place("a"), "active");
}

TEST_F(Rules, EventsOfNoInterestAreNotKept) {
  queue_.add(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  queue_.move_all(assigned_pod_added(pod("x")), now_);
  EXPECT_EQ(queue_.sizes().in_flight_events, 0U);
}

TEST_F(Rules, AnUpdateInFlightIsSeenAndKept) {
  queue_.add(pod("a", 0, kGated), now_);
  queue_.update(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  queue_.update(pod("a", 4, kGated), now_);
  EXPECT_EQ(place("a"), "in-flight");
  reject("a", {kFit});
  add_node();
  EXPECT_EQ(place("a"), "gated") << "the gate came back before the pod did";
}

TEST_F(Rules, ActivationInFlightTriesAgainAfterTheBackoff) {
  queue_.add(pod("a"), now_);
  queue_.add(pod("b"), now_ + 1);
  ASSERT_EQ(pop(), "a");
  ASSERT_EQ(pop(), "b");
  queue_.activate("uid-a", now_);
  reject("a", {kFit});
  reject("b", {kFit});
  EXPECT_EQ(place("a"), "backoff");
  EXPECT_EQ(place("b"), "unschedulable") << "it was not b that was activated";
}

TEST_F(Rules, LeftoversThatAreFlushedWakePodsInFlight) {
  rejected("old", {kFit});
  now_ += 5 * 60'000 + 1;
  queue_.add(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  queue_.flush_unschedulable(now_);
  reject("a", {kFit});
  EXPECT_EQ(place("old"), "active");
  EXPECT_EQ(place("a"), "backoff");
}

TEST_F(Rules, EventsDoNotPileUpForAPodThatIsForgottenInFlight) {
  queue_.add(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  add_node();
  queue_.remove("uid-a");
  EXPECT_EQ(queue_.sizes().in_flight_events, 0U);
  EXPECT_EQ(queue_.sizes().in_flight, 0U);
}

TEST_F(Rules, OfTooManyEventsThePodThatMissedSomeIsTriedAgain) {
  queue_.add(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  for (int i = 0; i < 10'001; ++i) delete_pod();
  EXPECT_EQ(queue_.sizes().in_flight_events, 10'000U);
  reject("a", {kFit});
  EXPECT_EQ(place("a"), "backoff");
}

// ---- gates

TEST_F(Rules, OnlyEventsOfTheGateConcernAGatedPod) {
  queue_.add(pod("a", 0, kGated), now_);
  queue_.add(pod("b"), now_);
  policy_.gates_run = 0;
  add_node();
  delete_pod();
  EXPECT_EQ(policy_.gates_run, 0);
  EXPECT_EQ(place("a"), "gated");
  EXPECT_EQ(queue_.sizes().gated, 1U);
  EXPECT_EQ(queue_.sizes().unschedulable, 0U);
}

TEST_F(Rules, GatesAreRunAgainWhenTheirEventComes) {
  policy_.closed_for = {"a"};
  queue_.add(pod("a"), now_);
  delete_node();
  EXPECT_EQ(place("a"), "gated") << "still closed";
  EXPECT_FALSE(queue_.entry("uid-a")->flushed) << "what opens the gate wakes it, not the flush";
  policy_.closed_for.clear();
  policy_.says[kClosed] = QueueHint::kSkip;
  delete_node();
  EXPECT_EQ(place("a"), "gated") << "the hint of the gate counts";
  policy_.says.clear();
  delete_node();
  EXPECT_EQ(place("a"), "active") << "a pod that was never tried has no backoff";
}

TEST_F(Rules, OneGateMayFollowAnother) {
  policy_.closed_for = {"a"};
  queue_.add(pod("a", 0, kGated), now_);
  EXPECT_EQ(queue_.entry("uid-a")->gated_by, kGates);
  queue_.update(pod("a"), now_);
  EXPECT_EQ(queue_.entry("uid-a")->gated_by, kClosed);
  EXPECT_EQ(queue_.sizes().gated, 1U);
  policy_.closed_for.clear();
  delete_node();
  EXPECT_EQ(place("a"), "active");
}

TEST_F(Rules, ARejectedPodMayBeGatedWhenItIsWoken) {
  rejected("a", {kFit});
  policy_.closed_for = {"a"};
  add_node();
  EXPECT_EQ(place("a"), "gated");
  add_node();
  policy_.closed_for.clear();
  add_node();
  EXPECT_EQ(place("a"), "gated") << "now only its gate's events concern it";
  delete_node();
  EXPECT_EQ(place("a"), "backoff") << "the attempt before is not forgotten";
}

TEST_F(Rules, NoEventLooksAtAPodWhoseGateWakesIt) {
  policy_.wakes = plugin_key(0, kClosed);
  policy_.closed_for = {"a"};
  queue_.add(pod("a"), now_);
  policy_.closed_for.clear();
  policy_.gates_run = 0;
  delete_node();
  EXPECT_EQ(place("a"), "gated");
  EXPECT_EQ(policy_.gates_run, 0);
  queue_.activate("uid-a", now_);
  EXPECT_EQ(place("a"), "active");
}

TEST_F(Rules, AFailedPodThatIsGatedComesBackToTheOrdinaryBackoff) {
  queue_.add(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  policy_.closed_for = {"a"};
  fail("a");
  EXPECT_EQ(place("a"), "gated");
  policy_.closed_for.clear();
  delete_node();
  EXPECT_EQ(place("a"), "backoff") << "its gate is among its rejectors";
}

TEST_F(Rules, BackoffOnceEnteredIsLeftWithoutAskingTheGatesAgain) {
  rejected("a", {kFit});
  rejected("b", {kFit});
  add_node();
  policy_.closed_for = {"a", "b"};
  queue_.activate("uid-a", now_);
  EXPECT_EQ(place("a"), "active");
  queue_.flush_backoff(now_ + 5000);
  EXPECT_EQ(place("b"), "active");
}

// ---- activation and leftovers

TEST_F(Rules, ActivationSparesTheBackoffButNotTheGate) {
  rejected("a", {kFit});
  queue_.activate("uid-a", now_);
  EXPECT_EQ(place("a"), "active");
  queue_.activate("uid-a", now_);
  EXPECT_EQ(place("a"), "active");
  queue_.add(pod("gated", 0, kGated), now_);
  queue_.activate("uid-gated", now_);
  EXPECT_EQ(place("gated"), "gated");
  ASSERT_EQ(pop(), "a");
  fail("a");
  queue_.activate("uid-a", now_);
  EXPECT_EQ(place("a"), "active") << "also out of the error backoff";
  queue_.activate("uid-nobody", now_);
}

TEST_F(Rules, LeftoversAreFlushedWhenTheyWaitedLongerThanFiveMinutes) {
  rejected("a", {kFit});
  queue_.add(pod("gated", 0, kGated), now_);
  now_ += 5 * 60'000;
  queue_.flush_unschedulable(now_);
  EXPECT_EQ(place("a"), "unschedulable") << "not yet longer";
  now_ += 1;
  queue_.flush_unschedulable(now_);
  EXPECT_EQ(place("a"), "active");
  EXPECT_EQ(place("gated"), "gated");
  EXPECT_TRUE(queue_.entry("uid-a")->flushed);
  ASSERT_EQ(pop(), "a");
  reject("a", {kFit});
  EXPECT_FALSE(queue_.entry("uid-a")->flushed);
}

// Kubernetes 1.37: a gate that opened without an event, or whose plugin missed it, is found open.
TEST_F(Rules, AGatedPodIsLookedAtAgainWithTheLeftovers) {
  policy_.closed_for = {"a"};
  queue_.add(pod("a"), now_);
  now_ += 5 * 60'000 + 1;
  policy_.gates_run = 0;
  queue_.flush_unschedulable(now_);
  EXPECT_GT(policy_.gates_run, 0);
  EXPECT_EQ(place("a"), "gated") << "still closed";
  policy_.closed_for.clear();
  policy_.gates_run = 0;
  now_ += 5 * 60'000;
  queue_.flush_unschedulable(now_);
  EXPECT_EQ(policy_.gates_run, 0) << "the next time is as long after";
  now_ += 1;
  queue_.flush_unschedulable(now_);
  EXPECT_EQ(place("a"), "active");
}

TEST(Leftovers, StillWaitOutTheirBackoff) {
  SymbolTable symbols;
  FakePolicy policy(symbols);
  QueueConfig config;
  config.initial_backoff_ms = config.max_backoff_ms = 600'000;
  SchedulingQueue queue(policy, config);
  queue.add(*decode_pod(R"({"metadata":{"name":"a","uid":"u"},"spec":{}})", symbols), kStart);
  ASSERT_NE(queue.pop(), nullptr);
  queue.reject("u", {kFit}, {}, kStart);
  queue.flush_unschedulable(kStart + 300'001);
  EXPECT_EQ(queue.entry("u")->place, QueuePlace::kBackoff);
}

TEST_F(Rules, FlushesAreAlignedWithTheWindows) {
  EXPECT_EQ(queue_.flush(kStart + 1), kStart + 1000);
  EXPECT_EQ(queue_.flush(kStart + 1999), kStart + 2000);
}

// ---- pods that come and go

TEST_F(Rules, TheFirstReadinessIsRemembered) {
  queue_.add(pod("a", 0, kGated), now_);
  EXPECT_EQ(queue_.entry("uid-a")->initial_attempt_ms, 0) << "a gate is not the scheduler's delay";
  now_ += 500;
  queue_.update(pod("a"), now_);
  now_ += 500;
  ASSERT_EQ(pop(), "a");
  reject("a", {kFit});
  now_ += 5000;
  add_node();
  EXPECT_EQ(queue_.entry("uid-a")->initial_attempt_ms, kStart + 500);
}

TEST_F(Rules, APodRecreatedWithAnotherUidIsAnotherPod) {
  queue_.add(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  queue_.remove("uid-a");
  queue_.add(pod("a", 0, "", "second"), now_);
  reject("a", {kFit});  // the attempt of the first one ends
  EXPECT_EQ(place("a"), "gone");
  EXPECT_EQ(queue_.entry("second")->attempts, 0U);
  EXPECT_EQ(pop(), "a");
  queue_.done("second");
  queue_.restore(pod("a", 0, "", "second"), {}, now_);
  EXPECT_EQ(queue_.entry("second")->place, QueuePlace::kErrorBackoff);
}

TEST_F(Rules, APodBoundBySomeoneElseLeavesFromAnywhere) {
  rejected("unschedulable", {kFit});
  rejected("backoff", {kPorts});
  delete_pod();
  queue_.add(pod("gated", 0, kGated), now_);
  queue_.add(pod("active"), now_);
  queue_.add(pod("error", 9), now_);
  ASSERT_EQ(pop(), "error");
  fail("error");
  for (const char* name : {"unschedulable", "backoff", "gated", "active", "error"}) {
    EXPECT_EQ(place(name) == "error-backoff" ? "error" : place(name), name);
    queue_.remove(std::string("uid-") + name);
    EXPECT_EQ(place(name), "gone");
  }
  add_node();
  delete_node();
  queue_.flush(now_ + 3'600'000);
  EXPECT_EQ(pop(), "");
  const auto sizes = queue_.sizes();
  EXPECT_EQ(sizes.active + sizes.backoff + sizes.unschedulable + sizes.gated + sizes.in_flight, 0U);
}

TEST_F(Rules, APodThatWasDoneAndComesBackStartsAnew) {
  queue_.add(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  queue_.done("uid-a");
  queue_.add(pod("a"), now_);
  EXPECT_EQ(queue_.entry("uid-a")->attempts, 0U);
  EXPECT_EQ(place("a"), "active");
}

// Who holds which pods back, as the metric unschedulable_pods has it.
class Holders : public QueueObserver {
 public:
  void entered(QueuePlace, std::string_view) override {}
  void held_by(const plimsoll_pod&, uint16_t plugin, int change) override {
    pods[plugin] += change;
  }
  void event_kept(std::string_view, int) override {}
  std::map<uint16_t, int> pods;
};

// In kube-scheduler up to 1.36 only from where they are unschedulable.
TEST_F(Rules, NobodyHoldsAPodBackThatIsDeletedFromAnyQueue) {
  Holders holders;
  queue_.observe(&holders);
  for (const char* name : {"a", "b", "c"}) rejected(name, {kFit});
  EXPECT_EQ(holders.pods[kFit], 3);
  queue_.remove("uid-a");
  EXPECT_EQ(holders.pods[kFit], 2);
  add_node();
  ASSERT_EQ(place("b"), "backoff");
  queue_.remove("uid-b");
  EXPECT_EQ(holders.pods[kFit], 1);
  queue_.activate("uid-c", now_);
  ASSERT_EQ(place("c"), "active");
  queue_.remove("uid-c");
  EXPECT_EQ(holders.pods[kFit], 0);
  queue_.observe(nullptr);
}

}  // namespace
}  // namespace plimsoll

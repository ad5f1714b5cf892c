// The life of pods in the queue, after kube-scheduler's pkg/scheduler/backend/queue tests.

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "tests/queue/queue_fixture.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll {
namespace {

TEST_F(QueueTest, PopsByPriorityThenByTime) {
  queue_.add(pod("late"), now_ + 5);
  queue_.add(pod("early"), now_);
  queue_.add(pod("high", 10), now_ + 9);
  queue_.add(pod("low", -10), now_);
  EXPECT_EQ(pop(), "high");
  EXPECT_EQ(pop(), "early");
  EXPECT_EQ(pop(), "late");
  EXPECT_EQ(pop(), "low");
  EXPECT_EQ(pop(), "");
}

TEST_F(QueueTest, EqualKeysKeepTheirOrder) {
  for (const char* name : {"a", "b", "c", "d"}) queue_.add(pod(name), now_);
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_EQ(pop(), name);
}

TEST_F(QueueTest, RejectedPodWaitsForAnEventOfARejector) {
  queue_.add(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  reject("a", {kFit});
  EXPECT_EQ(place("a"), "unschedulable");
  queue_.move_all(assigned_pod_deleted(pod("other")), now_);
  EXPECT_EQ(place("a"), "unschedulable") << "Fit did not register deleted pods";
  policy_.says[kFit] = QueueHint::kSkip;
  queue_.move_all(node_added(node()), now_);
  EXPECT_EQ(place("a"), "unschedulable") << "the hint said skip";
  policy_.says.clear();
  queue_.move_all(node_added(node()), now_);
  EXPECT_EQ(place("a"), "backoff");
}

TEST_F(QueueTest, BackoffDoublesFromOneToTenSecondsInWholeWindows) {
  queue_.add(pod("a"), now_);
  const int64_t expected[] = {1, 2, 4, 8, 10, 10};
  for (const int64_t seconds : expected) {
    queue_.flush_backoff(now_);
    ASSERT_EQ(pop(), "a");
    now_ += 300;  // within a window
    const int64_t rejected_at = now_;
    reject("a", {kFit});
    queue_.move_all(node_added(node()), now_);
    ASSERT_EQ(place("a"), "backoff");
    const int64_t expiry = (rejected_at + seconds * 1000) / 1000 * 1000;
    now_ = expiry + 999;  // the window of the expiry still counts
    queue_.flush_backoff(now_);
    EXPECT_EQ(place("a"), "backoff") << seconds;
    now_ = expiry + 1000;
    queue_.flush_backoff(now_);
    EXPECT_EQ(place("a"), "active") << seconds;
  }
}

TEST_F(QueueTest, PopsFromBackoffOnlyWhenActiveIsEmptyAndNeverAfterAnError) {
  queue_.add(pod("rejected"), now_);
  queue_.add(pod("failed"), now_ + 1);
  ASSERT_EQ(pop(), "rejected");
  ASSERT_EQ(pop(), "failed");
  reject("rejected", {kFit});
  queue_.move_all(node_added(node()), now_);
  queue_.fail("uid-failed", now_);
  queue_.add(pod("fresh"), now_ + 2);
  EXPECT_EQ(place("rejected"), "backoff");
  EXPECT_EQ(place("failed"), "error-backoff");
  EXPECT_EQ(pop(), "fresh");
  EXPECT_EQ(pop(), "rejected");
  EXPECT_EQ(pop(), "");
}

TEST_F(QueueTest, EventDuringTheAttemptIsNotLost) {
  queue_.add(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  queue_.move_all(node_added(node()), now_);
  reject("a", {kFit});
  EXPECT_EQ(place("a"), "backoff");
  ASSERT_EQ(pop(), "a");
  reject("a", {kFit});
  EXPECT_EQ(place("a"), "unschedulable") << "an event before the pop does not count";
  EXPECT_EQ(queue_.sizes().in_flight_events, 0U);
}

TEST_F(QueueTest, GatedPodEntersWhenItsGateIsGone) {
  queue_.add(pod("a", 0, R"(,"schedulingGates":[{"name":"wait"}])"), now_);
  EXPECT_EQ(place("a"), "gated");
  EXPECT_EQ(pop(), "");
  queue_.move_all(node_added(node()), now_);
  queue_.flush_unschedulable(now_ + 3'600'000);
  EXPECT_EQ(place("a"), "gated");
  queue_.update(pod("a"), now_);
  EXPECT_EQ(place("a"), "active");
  EXPECT_EQ(pop(), "a");
}

TEST_F(QueueTest, LeftoversAreFlushedAfterFiveMinutes) {
  queue_.add(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  reject("a", {kFit});
  queue_.flush(now_ + 5 * 60'000);
  EXPECT_EQ(place("a"), "unschedulable");
  queue_.flush(now_ + 5 * 60'000 + 30'001);
  EXPECT_EQ(place("a"), "active");
}

TEST_F(QueueTest, DeletedAtAnyPlace) {
  for (const char* name : {"active", "flying", "waiting"}) queue_.add(pod(name), now_);
  queue_.activate("uid-waiting", now_);
  ASSERT_EQ(pop(), "active");
  reject("active", {kFit});
  ASSERT_EQ(pop(), "flying");
  for (const char* name : {"active", "flying", "waiting"})
    queue_.remove(std::string("uid-") + name);
  queue_.remove("uid-unknown");
  const auto sizes = queue_.sizes();
  EXPECT_EQ(sizes.active + sizes.backoff + sizes.unschedulable + sizes.in_flight, 0U);
  reject("flying", {kFit});  // its attempt ends after its deletion
  EXPECT_EQ(place("flying"), "gone");
}

TEST_F(QueueTest, FailedBindingKeepsItsCounters) {
  queue_.add(pod("a"), now_);
  ASSERT_EQ(pop(), "a");
  queue_.done("uid-a");
  EXPECT_EQ(place("a"), "gone");
  queue_.restore(pod("a"), {}, now_);
  EXPECT_EQ(place("a"), "error-backoff");
  EXPECT_EQ(queue_.entry("uid-a")->attempts, 1U);
  now_ += 2000;
  queue_.flush_backoff(now_);
  ASSERT_EQ(pop(), "a");
  EXPECT_EQ(queue_.entry("uid-a")->attempts, 2U);
}

// Whatever happens, a pod is in exactly one place, and every pod that was added and not removed is
// somewhere.
TEST_F(QueueTest, RandomScriptsLoseNoPod) {
  std::mt19937 random(test::test_seed());
  std::set<std::string> expected;
  std::vector<std::string> flying;
  for (int step = 0; step < 20'000; ++step) {
    now_ += static_cast<int64_t>(random() % 700);
    const std::string name = "p" + std::to_string(random() % 40);
    switch (random() % 9) {
      case 0:
      case 1:
        queue_.add(pod(name, static_cast<int>(random() % 3)), now_);
        expected.insert(name);
        break;
      case 2:
        queue_.remove("uid-" + name);
        expected.erase(name);
        break;
      case 3:
      case 4:
        if (const std::string popped = pop(); !popped.empty()) flying.push_back(popped);
        break;
      case 5:
        if (!flying.empty()) {
          reject(flying.back(),
                 random() % 4 == 0 ? std::set<PluginIndex>{} : std::set<PluginIndex>{kFit});
          flying.pop_back();
        }
        break;
      case 6:
        queue_.move_all(node_added(node()), now_);
        break;
      case 7:
        queue_.flush(now_);
        break;
      case 8:
        if (expected.contains(name)) queue_.update(pod(name, static_cast<int>(random() % 3)), now_);
        break;
    }
    const auto sizes = queue_.sizes();
    ASSERT_EQ(sizes.active + sizes.backoff + sizes.unschedulable + sizes.gated + sizes.in_flight,
              expected.size())
        << "step " << step;
  }
}

}  // namespace
}  // namespace plimsoll

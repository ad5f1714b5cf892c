// What is not known is not promised: pods whose verdict rests on a kind that is not followed wait,
// all others go on.

#include <future>

#include "framework/cycle/inspect/explain.hpp"
#include "tests/cycle/loop_harness.hpp"

namespace plimsoll::testing {
namespace {

using namespace std::chrono_literals;

constexpr char kThings[] = "things.v1.g.io";
constexpr char kWaits[] =
    "0/1 nodes are available: waiting for things.v1.g.io, which is not followed: connection "
    "refused.";

class LostKindsTest : public LoopTest {
 protected:
  LostKindsTest() {
    // Whoever had to wait for a backoff would wait until the test gives up.
    options_.queue.initial_backoff_ms = options_.queue.max_backoff_ms = 3'600'000;
  }

  void lose(const std::string& kind) {
    scheduler_->post(KindFollowed{kind, false, "connection refused"});
  }
  void find(const std::string& kind) { scheduler_->post(KindFollowed{kind, true, ""}); }

  // P rests on things for pods of which the name begins with "gpu".
  void rest_on_things() {
    p().reserve = [](const sdk::Host&, sdk::Pod) { return sdk::Status(); };
    p().rests_on = [](sdk::Pod pod, std::string_view resource) {
      return resource == kThings && pod.name().starts_with("gpu");
    };
  }

  Explanation explain(const std::string& name) {
    std::promise<Explanation> answer;
    scheduler_->post(Task{[&] { answer.set_value(scheduler_->explain({"ns", name})); }});
    return answer.get_future().get();
  }
};

TEST_F(LostKindsTest, PodsThatRestOnALostKindWaitAndAllOthersGoOn) {
  rest_on_things();
  start();
  add_node("n", "8");
  lose(kThings);
  add_pod("gpu-a");
  add_pod("plain");
  ASSERT_TRUE(journal_.await("bind plain n"));
  ASSERT_TRUE(journal_.await(std::string("condition gpu-a Unschedulable: ") + kWaits));
  ASSERT_TRUE(
      journal_.await(std::string("event gpu-a Warning FailedScheduling Scheduling: ") + kWaits));
  const Explanation waiting = explain("gpu-a");
  ASSERT_EQ(waiting.losses.size(), 1U);
  EXPECT_EQ(waiting.losses[0].kind, kThings);
  EXPECT_EQ(waiting.losses[0].plugin, "P");
  EXPECT_EQ(waiting.losses[0].why, "connection refused");
  EXPECT_TRUE(explain("plain").losses.empty());
  add_node("m", "8");  // an event that P registered: it is tried, and sent back again
  settle();
  EXPECT_EQ(journal_.count("P reserve gpu-a"), 0);

  find(kThings);  // at once, whatever its backoff
  ASSERT_TRUE(journal_.await("P post_bind gpu-a"));
}

TEST_F(LostKindsTest, APluginThatDoesNotSayRestsOnAllThatItWatches) {
  watched_ = "things";
  start();
  add_node("n", "8");
  lose("others.v1.g.io");
  add_pod("a");
  ASSERT_TRUE(journal_.await("bind a n"));
  lose(kThings);
  add_pod("b");
  ASSERT_TRUE(journal_.await(std::string("condition b Unschedulable: ") + kWaits));
  EXPECT_EQ(journal_.count("bind b n"), 0);
  find(kThings);
  ASSERT_TRUE(journal_.await("bind b n"));
}

TEST_F(LostKindsTest, APodMayWaitForSeveral) {
  watched_ = "things";
  rest_on_things();
  p().rests_on = [](sdk::Pod, std::string_view resource) { return resource == "others.v1.g.io"; };
  start();
  add_node("n", "8");
  lose(kThings);
  lose("others.v1.g.io");
  add_pod("a");
  ASSERT_TRUE(
      journal_.await("condition a Unschedulable: 0/1 nodes are available: waiting for "
                     "others.v1.g.io, which is not followed: connection refused; and for "
                     "things.v1.g.io, which is not followed: connection refused."));
  find("others.v1.g.io");
  ASSERT_TRUE(journal_.await(std::string("condition a Unschedulable: ") + kWaits));
  find(kThings);
  ASSERT_TRUE(journal_.await("bind a n"));
}

TEST_F(LostKindsTest, EveryPodRestsOnPodsAndNodes) {
  start();
  add_node("n", "8");
  for (const char* kind : {"nodes", "pods"}) {
    lose(kind);
    add_pod(std::string("while-no-") + kind);
    settle();
    EXPECT_TRUE(scheduler_->stats().blind);
    EXPECT_EQ(journal_.count(std::string("bind while-no-") + kind + " n"), 0);
    EXPECT_EQ(explain(std::string("while-no-") + kind).losses.at(0).kind, kind);
    find(kind);
    ASSERT_TRUE(journal_.await(std::string("bind while-no-") + kind + " n"));
  }
  settle();
  EXPECT_FALSE(scheduler_->stats().blind);
}

// Its place was chosen before; by the time that Permit allows it, nobody knows whether it is still
// good.
TEST_F(LostKindsTest, APodThatPermitAllowsMeanwhileIsDecidedOnAgain) {
  rest_on_things();
  p().permit = [](const sdk::Host&, sdk::Pod, int64_t& timeout_ms) {
    timeout_ms = 600'000;
    return sdk::Status::wait();
  };
  start();
  add_node("n", "8");
  add_pod("gpu-a");
  ASSERT_TRUE(journal_.await("P permit gpu-a"));
  lose(kThings);
  settle();
  host("P").allow_waiting("u-gpu-a");
  ASSERT_TRUE(journal_.await(std::string("condition gpu-a Unschedulable: ") + kWaits));
  find(kThings);
  ASSERT_TRUE(journal_.await("P permit gpu-a", 2));
  host("P").allow_waiting("u-gpu-a");
  ASSERT_TRUE(journal_.await("bind gpu-a n"));
}

// Asked for late, its first list is as incomplete as any other.
TEST_F(LostKindsTest, AKindThatIsAskedForLateIsWaitedFor) {
  rest_on_things();
  start();
  add_node("n", "8");
  settle();
  scheduler_->post(Task{[this] { host("P").watch("g.io", "v1", "things"); }});
  add_pod("gpu-a");
  add_pod("plain");
  ASSERT_TRUE(journal_.await("bind plain n"));
  EXPECT_EQ(journal_.count("bind gpu-a n"), 0);
  scheduler_->post(KindSynced{kThings, false});
  ASSERT_TRUE(journal_.await("bind gpu-a n"));
}

TEST_F(LostKindsTest, ADeletedPodIsNotWaitedFor) {
  rest_on_things();
  start();
  add_node("n", "8");
  lose(kThings);
  add_pod("gpu-a");
  ASSERT_TRUE(journal_.await(std::string("condition gpu-a Unschedulable: ") + kWaits));
  settle();
  EXPECT_EQ(scheduler_->stats().waiting_for_kinds, 1U);
  scheduler_->post(PodDeleted{pod("gpu-a", "", "1")});
  settle();
  EXPECT_EQ(scheduler_->stats().waiting_for_kinds, 0U);
  find(kThings);
  add_pod("plain");
  ASSERT_TRUE(journal_.await("bind plain n"));
  EXPECT_EQ(journal_.count("bind gpu-a n"), 0);
}

// What the lease and /livez go by.
TEST_F(LostKindsTest, ALoopThatHangsInAPluginIsSeen) {
  std::promise<void> hung, go_on;
  p().pre_filter = [&](const sdk::Host&, sdk::Pod) {
    hung.set_value();
    go_on.get_future().wait();
    return sdk::Status();
  };
  start();
  add_node("n", "8");
  settle();
  add_pod("a");
  hung.get_future().wait();
  auto busy = scheduler_->busy_for();
  EXPECT_GT(busy, 0ns);
  for (int i = 0; i < 3; ++i) {
    const auto before = busy;
    while ((busy = scheduler_->busy_for()) < before + 1ms) std::this_thread::yield();
  }
  go_on.set_value();
  ASSERT_TRUE(journal_.await("bind a n"));
  settle();
  while (scheduler_->busy_for() != 0ns) std::this_thread::yield();  // it waits for work
}

}  // namespace
}  // namespace plimsoll::testing

// The loop does not run ahead of what can be bound.

#include <gmock/gmock.h>

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "tests/cycle/loop_harness.hpp"

namespace plimsoll::testing {
namespace {

using sdk::Host;
using sdk::Pod;
using sdk::Status;
using sdk::Token;

class UnboundLimit : public LoopTest {
 protected:
  // Bindings wait in PreBind for finish_one().
  void hold_bindings() {
    p().pre_bind = [this](const Host&, Pod, Token token) {
      const std::lock_guard lock(mutex_);
      held_.push_back(token);
      return Status::wait();
    };
  }
  void finish_one() {
    Token token;
    {
      const std::lock_guard lock(mutex_);
      ASSERT_FALSE(held_.empty());
      token = held_.back();
      held_.pop_back();
    }
    host("P").complete(token, PLIMSOLL_SUCCESS, "");
  }
  [[nodiscard]] size_t held() {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  bool await_held(size_t count) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (held() != count && std::chrono::steady_clock::now() < until) settle();
    return held() == count;
  }

  std::mutex mutex_;
  std::vector<Token> held_;
};

TEST_F(UnboundLimit, NoFurtherPodIsTakenUntilABindingEnds) {
  hold_bindings();
  options_.max_unbound = 3;
  start();
  add_node("n", "100");
  for (int i = 0; i < 10; ++i) add_pod("p" + std::to_string(i));
  ASSERT_TRUE(await_held(3));
  settle();
  SchedulerStats stats = scheduler_->stats();
  EXPECT_EQ(stats.attempts, 3U);
  EXPECT_EQ(stats.binding, 3U);
  EXPECT_EQ(stats.queue.active, 7U);
  EXPECT_EQ(stats.assumed_pods, 3U);
  EXPECT_EQ(stats.pauses, 1U) << "one pause, however often the loop turns in it";
  for (int bound = 0; bound < 10; ++bound) {
    ASSERT_TRUE(await_held(std::min<size_t>(3, static_cast<size_t>(10 - bound))));
    EXPECT_LE(scheduler_->stats().binding, 3U);
    finish_one();
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(journal_.await("bind p" + std::to_string(i) + " n")) << "none is lost";
  }
}

TEST_F(UnboundLimit, WhoWaitsOnPermitTakesNoRoom) {
  p().permit = [](const Host&, Pod, int64_t& timeout_ms) {
    timeout_ms = 60'000;
    return Status::wait();
  };
  options_.max_unbound = 2;
  start();
  add_node("n", "100");
  for (int i = 0; i < 6; ++i) add_pod("p" + std::to_string(i));
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(journal_.await("P permit p" + std::to_string(i)));
  settle();
  EXPECT_EQ(scheduler_->stats().waiting_on_permit, 6U) << "a group larger than the limit";
  for (int i = 0; i < 6; ++i) host("P").allow_waiting("u-p" + std::to_string(i));
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(journal_.await("bind p" + std::to_string(i) + " n"));
  }
}

}  // namespace
}  // namespace plimsoll::testing

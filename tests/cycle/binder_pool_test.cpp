#include "framework/cycle/binder_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <vector>

namespace plimsoll {
namespace {

constexpr int kThreads = 8;

std::vector<BinderPool::Job> jobs(int count, const BinderPool::Job& job) {
  return std::vector<BinderPool::Job>(static_cast<size_t>(count), job);
}

TEST(BinderPool, EveryJobRunsOnce) {
  std::atomic<int> runs{0};
  std::latch done(10'000);
  BinderPool pool(kThreads);
  for (int batch = 0; batch < 100; ++batch) {
    std::vector<BinderPool::Job> some = jobs(99, [&] {
      ++runs;
      done.count_down();
    });
    pool.submit_all(some);
    EXPECT_TRUE(some.empty());
    pool.submit([&] {
      ++runs;
      done.count_down();
    });
  }
  done.wait();
  pool.stop();
  EXPECT_EQ(runs, 10'000);
}

// None of these ends before all have begun: every thread has to be woken, whether jobs come one by
// one or all at once.
TEST(BinderPool, JobsThatBlockGetAThreadEach) {
  BinderPool pool(kThreads);
  for (int round = 0; round < 200; ++round) {
    const auto all = std::make_shared<std::latch>(kThreads);
    const BinderPool::Job meet = [all] { all->arrive_and_wait(); };
    if (round % 2 == 0) {
      std::vector<BinderPool::Job> batch = jobs(kThreads - 1, meet);
      pool.submit_all(batch);
    } else {
      for (int i = 1; i < kThreads; ++i) pool.submit(meet);
    }
    all->arrive_and_wait();
  }
}

TEST(BinderPool, NoJobWaitsBehindOneThatBlocks) {
  BinderPool pool(2);
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::vector<BinderPool::Job> blocking = jobs(1, [released] { released.wait(); });
  pool.submit_all(blocking);
  for (int i = 0; i < 1000; ++i) {
    const auto ran = std::make_shared<std::promise<void>>();
    pool.submit([ran] { ran->set_value(); });
    ran->get_future().wait();
  }
  release.set_value();
}

TEST(BinderPool, StopRunsWhatWasSubmittedAndNothingAfter) {
  std::atomic<int> runs{0};
  BinderPool pool(1);
  std::vector<BinderPool::Job> all = jobs(100, [&] { ++runs; });
  pool.submit_all(all);
  pool.stop();
  EXPECT_EQ(runs, 100);
  pool.submit([&] { ++runs; });
  all = jobs(1, [&] { ++runs; });
  pool.submit_all(all);
  EXPECT_TRUE(all.empty());
  pool.stop();
  EXPECT_EQ(runs, 100);
}

}  // namespace
}  // namespace plimsoll

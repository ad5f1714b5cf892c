#include "framework/cycle/binder_pool.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/base/signal_stack.hpp"

namespace plimsoll {

BinderPool::BinderPool(unsigned threads) {
  for (unsigned i = 0; i < std::max(threads, 1U); ++i) threads_.emplace_back([this] { work(); });
}

BinderPool::~BinderPool() {
  stop();
}

bool BinderPool::wakes_one() {
  if (jobs_.empty() || idle_ == 0 || woken_) return false;
  woken_ = true;
  return true;
}

void BinderPool::submit(Job job) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    jobs_.push_back(std::move(job));
    wake = wakes_one();
  }
  if (wake) wake_.notify_one();
}

void BinderPool::submit_all(std::vector<Job>& jobs) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      for (Job& job : jobs) jobs_.push_back(std::move(job));
      wake = wakes_one();
    }
  }
  if (wake) wake_.notify_one();
  jobs.clear();
}

void BinderPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void BinderPool::work() {
  add_signal_stack();  // plugins run here
  for (;;) {
    Job job;
    bool wake = false;
    {
      std::unique_lock lock(mutex_);
      while (jobs_.empty() && !stopping_) {
        ++idle_;
        wake_.wait(lock);
        --idle_;
        woken_ = false;
      }
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
      wake = wakes_one();
    }
    if (wake) wake_.notify_one();
    try {
      job();
    } catch (const std::exception& error) {
      log_error("a binder job ended with an exception", {{"error", error.what()}});
    }
  }
}

}  // namespace plimsoll

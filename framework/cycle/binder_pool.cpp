#include "framework/cycle/binder_pool.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "framework/base/log.hpp"

namespace plimsoll {

BinderPool::BinderPool(unsigned threads) {
  for (unsigned i = 0; i < std::max(threads, 1U); ++i) threads_.emplace_back([this] { work(); });
}

BinderPool::~BinderPool() {
  stop();
}

void BinderPool::submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
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
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    try {
      job();
    } catch (const std::exception& error) {
      log_error("a binder job ended with an exception", {{"error", error.what()}});
    }
  }
}

}  // namespace plimsoll

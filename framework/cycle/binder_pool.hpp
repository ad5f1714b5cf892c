#pragma once
// Threads on which PreBind, Bind and PostBind run. They may block; the loop never does.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace plimsoll {

class BinderPool {
 public:
  explicit BinderPool(unsigned threads);
  ~BinderPool();  // stop()
  BinderPool(const BinderPool&) = delete;
  BinderPool& operator=(const BinderPool&) = delete;

  void submit(std::function<void()> job);  // any thread; dropped after stop()
  void stop();                             // runs what was submitted, then joins; idempotent

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;  // guarded by mutex_
  bool stopping_ = false;                   // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace plimsoll

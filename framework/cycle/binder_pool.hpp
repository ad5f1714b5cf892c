#pragma once
// Threads on which PreBind, Bind and PostBind run. They may block; the loop never does.
//
// Waking a thread costs more than most jobs take, so threads are woken one after the other: whoever
// takes a job wakes the next if there are more, unless one is on its way already. Short jobs are so
// done by few threads, and no job waits behind one that blocks.

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

  using Job = std::function<void()>;
  void submit(Job job);                     // any thread; dropped after stop()
  void submit_all(std::vector<Job>& jobs);  // the same of many at once; `jobs` is empty then
  void stop();                              // runs what was submitted, then joins; idempotent

 private:
  void work();
  [[nodiscard]] bool wakes_one();  // with mutex_ held: whether a thread is to be woken now

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;  // guarded by mutex_, as the next three
  size_t idle_ = 0;       // threads that wait
  bool woken_ = false;    // one of these was woken and has not come yet
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace plimsoll

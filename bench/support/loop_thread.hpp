#pragma once
// A scheduler on a thread of its own, and what that thread costs.

#include <functional>
#include <memory>
#include <thread>

#include "framework/cycle/scheduler.hpp"

namespace plimsoll::bench {

class LoopThread {
 public:
  // Starts the loop.
  explicit LoopThread(std::unique_ptr<Scheduler> scheduler);
  ~LoopThread();  // stop()
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  [[nodiscard]] Scheduler& operator*() const { return *scheduler_; }
  [[nodiscard]] Scheduler* operator->() const { return scheduler_.get(); }

  // Ends the loop; binds in flight are waited for. The scheduler is there until the destructor, for
  // whoever still posts. Idempotent.
  void stop();

  // Runs `task` on the loop, after everything that was posted before, and waits for it. Not from
  // the loop itself.
  void on_loop(const std::function<void()>& task);
  // All kinds were listed: the scheduler begins.
  void all_synced();
  // CPU time of the loop's thread so far; other work on the machine is not in it.
  [[nodiscard]] double cpu_seconds();

 private:
  std::unique_ptr<Scheduler> scheduler_;
  std::thread loop_;
};

}  // namespace plimsoll::bench

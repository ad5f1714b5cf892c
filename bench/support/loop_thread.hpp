#pragma once
// A scheduler on its own thread, and the CPU time of that thread.

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

  // Ends the loop and waits for binds in flight. The scheduler exists until the destructor, so
  // others may still post. Idempotent.
  void stop();

  // Runs `task` on the loop, after everything that was posted before, and waits for it. Must not be
  // called on the loop.
  void on_loop(const std::function<void()>& task);
  // Reports that all kinds are listed; the scheduler then starts.
  void all_synced();
  // CPU time of the loop's thread so far; other work on the machine is not in it.
  [[nodiscard]] double cpu_seconds();

 private:
  std::unique_ptr<Scheduler> scheduler_;
  std::thread loop_;
};

}  // namespace plimsoll::bench

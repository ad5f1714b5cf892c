#pragma once
// Who may use what is kept without a lock: the thread that asks first, for ever. Others do without.

#include <atomic>
#include <thread>

namespace plimsoll::topology {

class FirstThread {
 public:
  // This thread is the one. Any thread; never waits.
  [[nodiscard]] bool is_here() {
    const std::thread::id me = std::this_thread::get_id();
    std::thread::id nobody;
    if (owner_.load(std::memory_order_relaxed) == me) return true;
    return owner_.compare_exchange_strong(nobody, me, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::thread::id> owner_{};
};

}  // namespace plimsoll::topology

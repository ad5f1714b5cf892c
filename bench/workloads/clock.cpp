#include "bench/workloads/clock.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace plimsoll::bench {

PodClock::PodClock(int64_t pods_per_second)
    : step_us_(1'000'000 / std::max<int64_t>(pods_per_second, 1)),
      now_us_(std::chrono::duration_cast<std::chrono::microseconds>(
                  std::chrono::system_clock::now().time_since_epoch())
                  .count()) {}

void PodClock::pass(int64_t microseconds) {
  const int64_t now = now_us_.load(std::memory_order_relaxed) + microseconds;
  now_us_.store(now, std::memory_order_relaxed);
  for (Ticker& ticker : tickers_) {
    for (; ticker.due_us <= now; ticker.due_us += ticker.interval_us) ticker.action();
  }
}

void PodClock::every(int64_t microseconds, std::function<void()> action) {
  const int64_t now = now_us_.load(std::memory_order_relaxed);
  tickers_.push_back({microseconds, now + microseconds, std::move(action)});
}

void PodClock::stop_all() {
  tickers_.clear();
}

}  // namespace plimsoll::bench

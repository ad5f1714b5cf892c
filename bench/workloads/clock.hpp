#pragma once
// A virtual clock that advances with each bound pod, as if the scheduler bound a fixed number of
// pods per second. Timed work beside the measured pods (churn, backoff) then happens as often per
// pod as with a scheduler of that speed, however fast the real one is.

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace plimsoll::bench {

class PodClock {
 public:
  explicit PodClock(int64_t pods_per_second);

  // Milliseconds since the epoch; any thread.
  [[nodiscard]] int64_t now_ms() const { return now_us_.load(std::memory_order_relaxed) / 1000; }

  // ---- one thread: the API's
  void pod_bound() { pass(step_us_); }
  void pass(int64_t microseconds);  // runs what is due
  // Runs `action` every `microseconds` from now on. Must not be called within `action`.
  void every(int64_t microseconds, std::function<void()> action);
  void stop_all();

 private:
  struct Ticker {
    int64_t interval_us;
    int64_t due_us;
    std::function<void()> action;
  };
  int64_t step_us_;
  std::atomic<int64_t> now_us_;
  std::vector<Ticker> tickers_;
};

}  // namespace plimsoll::bench

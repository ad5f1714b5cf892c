#pragma once
// A clock that moves only by advance(), and the timestamps of objects, which may follow it.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace plimsoll::sandbox {

// Any thread. One thread moves it.
class SimulatedClock {
 public:
  SimulatedClock() = default;
  SimulatedClock(const SimulatedClock&) = delete;
  SimulatedClock& operator=(const SimulatedClock&) = delete;

  [[nodiscard]] double seconds() const { return seconds_.load(); }  // since it was created
  // Milliseconds since the epoch: the machine's time when the clock was created, in whole seconds
  // (so that timestamps, which are of seconds, change at the same moments in each run), plus
  // seconds().
  [[nodiscard]] std::int64_t epoch_ms() const {
    return begin_ms_ + static_cast<std::int64_t>(seconds() * 1000);
  }
  // Never moves backwards.
  void advance(double seconds) { seconds_.store(seconds_.load() + (seconds > 0 ? seconds : 0)); }

 private:
  const std::int64_t begin_ms_ = 1000 * std::chrono::duration_cast<std::chrono::seconds>(
                                            std::chrono::system_clock::now().time_since_epoch())
                                            .count();
  std::atomic<double> seconds_{0};
};

// While it exists, objects of this process get timestamps from this clock instead of the machine's;
// at most one exists at a time.
class TimestampScope {
 public:
  explicit TimestampScope(std::shared_ptr<const SimulatedClock> clock);
  ~TimestampScope();
  TimestampScope(const TimestampScope&) = delete;
  TimestampScope& operator=(const TimestampScope&) = delete;
};

// The current time, or so long ago, in the format of metav1.Time (seconds).
[[nodiscard]] std::string timestamp_now(
    std::chrono::milliseconds ago = std::chrono::milliseconds(0));

}  // namespace plimsoll::sandbox

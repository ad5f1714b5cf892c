#pragma once
// A clock that goes on only when it is told to.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace plimsoll::sandbox {

// Any thread. One thread moves it.
class SimulatedClock {
 public:
  SimulatedClock() = default;
  SimulatedClock(const SimulatedClock&) = delete;
  SimulatedClock& operator=(const SimulatedClock&) = delete;

  [[nodiscard]] double seconds() const { return seconds_.load(); }  // since it was made
  // Milliseconds since the epoch: the machine's when the clock was made, and on from there.
  [[nodiscard]] std::int64_t epoch_ms() const {
    return begin_ms_ + static_cast<std::int64_t>(seconds() * 1000);
  }
  // Never back.
  void advance(double seconds) { seconds_.store(seconds_.load() + (seconds > 0 ? seconds : 0)); }

 private:
  const std::int64_t begin_ms_ = std::chrono::duration_cast<std::chrono::milliseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count();
  std::atomic<double> seconds_{0};
};

}  // namespace plimsoll::sandbox

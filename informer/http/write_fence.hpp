#pragma once
// Limits until when this process may write: the fence of a leader in front of its own writes.
//
// A standby takes over once the lease was not renewed for its whole duration. So a leader must have
// stopped before that by its own clock, even if it was suspended or its threads did not run. The
// clock is therefore checked for each single write, not by a timer that may fire late.

#include <atomic>
#include <chrono>

namespace plimsoll::informer {

// Time since the machine was booted, including suspended time (CLOCK_BOOTTIME).
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
  [[nodiscard]] static time_point now() noexcept;
};

// One per process; any thread. It starts closed.
class WriteFence {
 public:
  // `grace`: how long after the fence closes a write that was sent in time may still be under way.
  explicit WriteFence(BootClock::duration grace) : grace_(grace) {}

  // Opens the fence until that time. Has no effect after close().
  void extend(BootClock::time_point until);
  void close();  // permanently

  // How long a write that is sent at `now` may be under way; zero: it must not be sent.
  [[nodiscard]] BootClock::duration allowance(BootClock::time_point now = BootClock::now()) const;

 private:
  const BootClock::duration grace_;
  std::atomic<BootClock::rep> until_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace plimsoll::informer

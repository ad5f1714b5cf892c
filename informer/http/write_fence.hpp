#pragma once
// Until when this process may write: the bar that a leader puts in front of its own writes.
//
// Whoever stands by takes over once the lease was not renewed for its whole duration. So a leader
// must have stopped before that by its own clock, also if it was suspended or its threads did not
// run: the clock is looked at for each single write, not by a timer that may come late.

#include <atomic>
#include <chrono>

namespace plimsoll::informer {

// Time since the machine was booted, the time it slept included (CLOCK_BOOTTIME).
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
  [[nodiscard]] static time_point now() noexcept;
};

// One per process; any thread. It begins closed.
class WriteFence {
 public:
  // `grace`: how much longer than the bar is open a write that was sent in time may be under way.
  explicit WriteFence(BootClock::duration grace) : grace_(grace) {}

  // Open until then. Without effect after close().
  void extend(BootClock::time_point until);
  void close();  // for good

  // How long a write that is sent at `now` may be under way; zero: it must not be sent.
  [[nodiscard]] BootClock::duration allowance(BootClock::time_point now = BootClock::now()) const;

 private:
  const BootClock::duration grace_;
  std::atomic<BootClock::rep> until_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace plimsoll::informer

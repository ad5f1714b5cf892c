#pragma once
// How long to wait before the next try. The delay doubles up to a maximum, has jitter, and resets
// after a healthy period.

#include <algorithm>
#include <chrono>
#include <random>

namespace plimsoll::informer {

struct BackoffPolicy {
  std::chrono::milliseconds initial{100};
  std::chrono::milliseconds maximum{30'000};
  double factor = 2.0;
  double jitter =
      0.5;  // up to this share of the delay is added, so that clients do not retry in step
  std::chrono::milliseconds reset_after{10'000};  // this long without a call to next() resets it
};

// A value owned by one thread.
class Backoff {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Backoff(BackoffPolicy policy) : policy_(policy), delay_(policy.initial) {}

  // Returns the delay before the next try, counted from `now`. `most` bounds the delay this time,
  // jitter aside.
  [[nodiscard]] std::chrono::milliseconds next(Clock::time_point now,
                                               std::chrono::milliseconds most) {
    if (started_ && now - last_ > policy_.reset_after + last_delay_) delay_ = policy_.initial;
    delay_ = std::min({delay_, most, policy_.maximum});
    const double base = static_cast<double>(delay_.count());
    const double spread = std::uniform_real_distribution<double>(0.0, policy_.jitter)(random_);
    last_delay_ =
        std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(base * (1 + spread)));
    last_ = now;
    started_ = true;
    delay_ = std::chrono::milliseconds(
        static_cast<std::chrono::milliseconds::rep>(base * policy_.factor));
    return last_delay_;
  }

  void reset() { delay_ = policy_.initial; }

 private:
  BackoffPolicy policy_;
  std::chrono::milliseconds delay_;
  std::chrono::milliseconds last_delay_{0};
  Clock::time_point last_{};
  bool started_ = false;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace plimsoll::informer

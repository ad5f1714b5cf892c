#include "informer/write/write_window.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::informer {
namespace {

constexpr std::size_t kLeastAnswers = 32;  // minimum of a round, together with twice its window
constexpr std::chrono::milliseconds kLeastTime{50};
constexpr int kHoldRounds = 8;
constexpr double kGrow = 1.5;
constexpr double kShrink = 1 / kGrow;
constexpr double kWorthwhile = 0.2;  // of the growth: the minimum gain in writes per second
constexpr double kAsMuch = 0.97;
constexpr double kSlow = 4;
constexpr double kNeverSlow = 0.02;  // seconds: shorter latencies are never slow

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

WriteWindow::WriteWindow(WindowLimits limits) : limits_(limits) {
  limits_.most = std::max<std::size_t>(1, limits_.most);
  limits_.least = std::clamp<std::size_t>(limits_.least, 1, limits_.most);
  size_ = held_size_ = std::clamp(limits_.first, limits_.least, limits_.most);
}

void WriteWindow::set_size(double size) {
  size_ = std::clamp(static_cast<std::size_t>(std::lround(size)), limits_.least, limits_.most);
  // Avoid steps too small to be distinguished from noise.
  if (static_cast<double>(size_) * 1.2 > static_cast<double>(limits_.most) && size_ > held_size_) {
    size_ = limits_.most;
  }
}

void WriteWindow::begin_round(Time now) {
  begin_ = now;
  from_ = {};
  answers_ = hungry_ = failures_ = slow_ = 0;
  latency_sum_ = 0;
}

// Keeps a size, an old or a new one, for some rounds.
void WriteWindow::hold(std::size_t size) {
  phase_ = Phase::kHold;
  size_ = held_size_ = size;
  rounds_held_ = 0;
}

void WriteWindow::halve() {
  set_size(static_cast<double>(size_) / 2);
  hold(size_);
  held_rate_ = held_latency_ = 0;
  started_ = true;
  grow_next_ = true;
}

void WriteWindow::ended(TryEnd how, Time sent, Time now, bool more_wait) {
  if (begin_ == Time{}) begin_ = sent;
  if (from_ == Time{}) {
    if (sent < begin_) return;
    from_ = now;
    if (how == TryEnd::kAnswered) return;
  }
  const double latency = seconds(now - sent);
  if (how == TryEnd::kAnswered) {
    ++answers_;
    latency_sum_ += latency;
    if (!more_wait) ++hungry_;
    if (latency > std::max(kNeverSlow, kSlow * held_latency_) && held_latency_ > 0) ++slow_;
  } else {
    ++failures_;
  }
  const std::size_t ends = answers_ + failures_;
  const bool failing = failures_ >= std::max<std::size_t>(2, size_ / 8);
  const bool slower = slow_ >= std::max<std::size_t>(4, size_ / 2) && slow_ * 2 > answers_;
  if (how == TryEnd::kThrottled || failing || slower) {
    halve();
    begin_round(now);
    return;
  }
  if (ends < std::max(kLeastAnswers, 2 * size_) || now - from_ < kLeastTime) return;
  if (hungry_ * 10 <= answers_ && answers_ > 0) {
    const auto count = static_cast<double>(answers_);
    judge(count / seconds(now - from_), latency_sum_ / count);
  }
  begin_round(now);
}

// Ends a round in which the window was the limit.
void WriteWindow::judge(double rate, double latency) {
  const auto keep = [&] {
    held_rate_ = rate;
    held_latency_ = latency;
  };
  const auto size = static_cast<double>(size_);
  switch (phase_) {
    case Phase::kHold:
      if (held_rate_ == 0) {
        keep();
      } else {
        held_rate_ += (rate - held_rate_) / 4;
        held_latency_ += (latency - held_latency_) / 4;
      }
      if (started_ && ++rounds_held_ < kHoldRounds) return;
      phase_ = grow_next_ ? Phase::kGrowing : Phase::kShrinking;
      set_size(size * (grow_next_ ? kGrow : kShrink));
      if (started_) grow_next_ = !grow_next_;
      if (size_ == held_size_) {  // at its limit
        started_ = true;
        hold(size_);
      }
      return;
    case Phase::kGrowing: {
      const double growth = size / static_cast<double>(held_size_) - 1;
      if (rate < held_rate_ * (1 + kWorthwhile * growth)) {
        started_ = true;
        return hold(held_size_);
      }
      keep();
      held_size_ = size_;
      set_size(size * kGrow);
      if (size_ == held_size_) {
        started_ = true;
        hold(size_);
      }
      return;
    }
    case Phase::kShrinking:
      if (rate < held_rate_ * kAsMuch) return hold(held_size_);
      keep();
      hold(size_);
      return;
  }
}

}  // namespace plimsoll::informer

#pragma once
// Finds by trial how many writes of a class should be under way at a time.
//
// More writes in flight help only if the server then carries out more. An API server whose etcd
// batches writes does. One whose CPU is saturated does not; it only answers later. So the window is
// judged in rounds, by the number of writes carried out per second while writes were waiting:
//
//   it grows by half        while at least a fifth of that half is gained (at the start, and
//                           now and then)
//   it shrinks by a third   if less in flight carries out as much (tried now and then)
//   it is halved            on a 429; when an eighth of it fails or is not answered; when
//                           answers take four times as long as they did
//
// After each change that did not help, and after each halving, the size is kept for some rounds.
// Rounds without waiting writes are not judged: the window is not the limit then.
//
// No thread and no clock of its own; the caller serialises calls.

#include <chrono>
#include <cstddef>

namespace plimsoll::informer {

struct WindowLimits {
  std::size_t least = 4;
  std::size_t first = 16;
  std::size_t most = 64;
};

// How a try ended.
enum class TryEnd {
  kAnswered,   // carried out or refused
  kThrottled,  // 429
  kFailed,     // a server error, or no answer
};

class WriteWindow {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit WriteWindow(WindowLimits limits = {});

  [[nodiscard]] std::size_t size() const { return size_; }

  // A try that was sent at `sent` has ended. `more_wait`: another write would be sent at once if
  // the window were larger.
  void ended(TryEnd how, Time sent, Time now, bool more_wait);

 private:
  enum class Phase { kHold, kGrowing, kShrinking };

  void begin_round(Time now);
  void judge(double rate, double latency);
  void hold(std::size_t size);
  void halve();
  void set_size(double size);

  WindowLimits limits_;
  std::size_t size_;
  Phase phase_ = Phase::kHold;
  // Measurements at the size before a trial: answers per second, seconds per answer; 0: not known.
  std::size_t held_size_;
  double held_rate_ = 0;
  double held_latency_ = 0;
  int rounds_held_ = 0;
  bool grow_next_ = true;  // otherwise shrink
  bool started_ = false;   // the first trials follow one another

  // ---- the current round
  Time begin_{};  // answers to earlier tries belong to another window
  Time from_{};   // the first answer of this round; answers are counted from here on
  std::size_t answers_ = 0;
  std::size_t hungry_ = 0;  // how many of them arrived when nothing waited
  std::size_t failures_ = 0;
  std::size_t slow_ = 0;
  double latency_sum_ = 0;
};

}  // namespace plimsoll::informer

#pragma once
// How many writes of a class may be under way at a time, found by trying.
//
// More in flight is worth it only while the server carries out more for it: an API server whose
// etcd gathers writes does, one whose CPU is used up does not, it only answers later. So the window
// is judged in rounds, by what was carried out in a second while writes were waiting:
//
//   it grows by half    while at least a fifth of that half is gained (a start, and now and then)
//   it shrinks by a third  if less in flight carries out as much (now and then, to find out)
//   it is halved        on a 429; when an eighth of it fails or is not answered; when answers take
//                       four times as long as they did
//
// After each change that did not help, and after each halving, it stays for some rounds. Without
// anything waiting nothing is judged: then the window is not what limits.
//
// No thread, no clock of its own; the caller serialises.

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

  // A try that was sent at `sent` has ended. `more_wait`: a further write would be sent at once if
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
  // What the size before a trial brought: answers a second, seconds an answer; 0: not known.
  std::size_t held_size_;
  double held_rate_ = 0;
  double held_latency_ = 0;
  int rounds_held_ = 0;
  bool grow_next_ = true;  // else shrink
  bool started_ = false;   // the first trials follow one another

  // ---- the round
  Time begin_{};  // what was sent before tells of another window
  Time from_{};   // the first answer of this one: from here on they are counted
  std::size_t answers_ = 0;
  std::size_t hungry_ = 0;  // of these: when they came, nothing waited
  std::size_t failures_ = 0;
  std::size_t slow_ = 0;
  double latency_sum_ = 0;
};

}  // namespace plimsoll::informer

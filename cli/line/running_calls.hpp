#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace plimsoll::cli {

// What plugins are doing just now on all threads of this process: `plugin "X" in Filter of pod
// default/a`, joined by "; "; empty: nothing. Plugins pay nothing for it: each thread is
// interrupted by a signal and says it itself. For whoever has found that something hangs. Any
// thread.
[[nodiscard]] std::string running_calls();

// The same as the end of a sentence: ": plugin ..."; empty: nothing.
[[nodiscard]] std::string running_calls_after_colon();

// When to say that something hangs: once when it is known, and then each time that it has lasted
// twice as long.
class HangReminder {
 public:
  explicit HangReminder(std::chrono::nanoseconds after) : after_(after), next_(after) {}
  // `busy`: how long it has been busy with one thing.
  [[nodiscard]] bool due(std::chrono::nanoseconds busy) {
    if (busy < after_) next_ = after_;
    if (busy < next_) return false;
    next_ = 2 * busy;
    return true;
  }

 private:
  const std::chrono::nanoseconds after_;
  std::chrono::nanoseconds next_;
};

}  // namespace plimsoll::cli

#pragma once
// Measures how long decisions take: the plugin "Stopwatch" starts a watch in PreFilter and stops it
// in Reserve. For an attempt that fails, the code that handles the failure on the loop calls
// stop(). The watch measures CPU time of the loop's thread. Reading that clock takes about a
// microsecond, so only some decisions are timed if a decision takes only a few microseconds.

#include <cstddef>
#include <vector>

#include "framework/runtime/plugin/modules.hpp"

namespace plimsoll::bench {

// There is one for each thread that is a loop. Loop only.
class Stopwatch {
 public:
  // Of the calling thread.
  [[nodiscard]] static Stopwatch& here();

  // Times the first of every `decisions` decisions; 1: all.
  void time_one_in(size_t decisions) { one_in_ = decisions; }
  void start();
  void stop();   // does nothing without a start
  void reset();  // clears all measurements

  [[nodiscard]] std::vector<double> microseconds() const { return microseconds_; }

 private:
  size_t one_in_ = 1;
  size_t until_next_ = 0;
  double started_ms_ = -1;
  std::vector<double> microseconds_;
};

// The plugin; put it first in a profile.
[[nodiscard]] StaticModule stopwatch_module();

// The value that this share of the values does not exceed; 0 if there are no values.
[[nodiscard]] double quantile(std::vector<double> values, double share);

}  // namespace plimsoll::bench

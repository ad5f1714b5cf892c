#pragma once
// How long decisions take: a plugin, "Stopwatch", that starts a watch in PreFilter and stops it in
// Reserve. Attempts that fail are stopped by whoever hears of them on the loop. CPU time of the
// loop's thread. Reading that clock takes about a microsecond, so where decisions take a few of
// them only some are timed.

#include <cstddef>
#include <vector>

#include "framework/runtime/modules.hpp"

namespace plimsoll::bench {

// One for each thread that is a loop; loop only.
class Stopwatch {
 public:
  // Of the calling thread.
  [[nodiscard]] static Stopwatch& here();

  void time_one_in(size_t decisions) { one_in_ = decisions; }  // the first of so many; 1: all
  void start();
  void stop();   // nothing without a start
  void reset();  // forgets all

  [[nodiscard]] std::vector<double> microseconds() const { return microseconds_; }

 private:
  size_t one_in_ = 1;
  size_t until_next_ = 0;
  double started_ms_ = -1;
  std::vector<double> microseconds_;
};

// The plugin; put it first in a profile.
[[nodiscard]] StaticModule stopwatch_module();

// The value that a share of them does not exceed; 0 of none.
[[nodiscard]] double quantile(std::vector<double> values, double share);

}  // namespace plimsoll::bench

#pragma once
// One run: the pods of a load arrive one after the other. The real scheduler (built-in plugins,
// NodeDevice from its .so) binds or rejects each pod before the next one arrives.

#include <array>
#include <string>
#include <vector>

#include "bench/openb/trace.hpp"

namespace plimsoll::openb {

struct RunOptions {
  std::string profile;  // file
  std::vector<std::string> plugin_directories;
};

// The state after a part of the load.
struct Point {
  int64_t arrived = 0;  // thousandths of a GPU requested so far
  int64_t allocated = 0;
};

struct Outcome {
  int64_t capacity = 0;
  std::vector<Point> points;  // after each pod
  std::array<size_t, kClassCount> came{};
  std::array<size_t, kClassCount> refused{};
  double seconds = 0;  // in all

  // The allocated percentage of the capacity at the time when `percent` of it have been requested.
  [[nodiscard]] double allocated_at(double percent) const;
};

// Blocks; starts threads. Fails if a profile or plugin cannot be used, or if the scheduler does not
// answer.
[[nodiscard]] Result<Outcome> run(const Trace& trace, const std::vector<Job>& load,
                                  const RunOptions& options);

}  // namespace plimsoll::openb

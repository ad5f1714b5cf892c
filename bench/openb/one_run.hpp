#pragma once
// One run: the pods of a load come one after the other, each is bound or refused by the real
// scheduler (built-in plugins, NodeDevice from its .so) before the next one comes.

#include <array>
#include <string>
#include <vector>

#include "bench/openb/trace.hpp"

namespace plimsoll::openb {

struct RunOptions {
  std::string profile;  // file
  std::vector<std::string> plugin_directories;
};

// After some part of the load.
struct Point {
  int64_t arrived = 0;  // thousandths of a GPU that were asked for
  int64_t allocated = 0;
};

struct Outcome {
  int64_t capacity = 0;
  std::vector<Point> points;  // after each pod
  std::array<size_t, kClassCount> came{};
  std::array<size_t, kClassCount> refused{};
  double seconds = 0;  // in all

  // What is allocated, in percent of the capacity, when so many percent of it have been asked for.
  [[nodiscard]] double allocated_at(double percent) const;
};

// Blocks; starts threads. Errors: a profile or plugin that cannot be used, a scheduler that does
// not answer.
[[nodiscard]] Result<Outcome> run(const Trace& trace, const std::vector<Job>& load,
                                  const RunOptions& options);

}  // namespace plimsoll::openb

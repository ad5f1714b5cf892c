#pragma once
// CPU time of this thread, as the minimum of many rounds. Other work on the machine affects it only
// by emptying caches.

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace plimsoll::bench {

[[nodiscard]] inline double cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// The cost of a call for each of several pods, in milliseconds.
struct Cost {
  double mean = 0;
  double worst = 0;
};

// Calls the measured function for each of `pods` in turn, `rounds` times. Stops after kLongestMs,
// but not before three calls for each pod. The minimum of each pod counts. `before` is not
// measured.
inline constexpr double kLongestMs = 1500;
template <typename Before, typename Ask>
[[nodiscard]] Cost least_of(int rounds, size_t pods, const Before& before, const Ask& ask) {
  std::vector<double> least(pods, 1e300);
  double spent = 0;
  for (int round = 0; round < rounds && (round < 3 || spent < kLongestMs); ++round) {
    for (size_t pod = 0; pod < pods; ++pod) {
      before(pod);
      const double began = cpu_ms();
      ask(pod);
      const double took = cpu_ms() - began;
      least[pod] = std::min(least[pod], took);
      spent += took;
    }
  }
  Cost cost;
  for (const double each : least) {
    cost.mean += each / static_cast<double>(pods);
    cost.worst = std::max(cost.worst, each);
  }
  return cost;
}

// Keeps the compiler from removing the computation of the value.
template <typename Value>
inline void keep(const Value& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

// The least time, in milliseconds, that any check of every node takes: each count of each node is
// compared once, in one block of memory. All other figures are relative to it.
[[nodiscard]] inline double floor_ms(size_t nodes, size_t counts) {
  std::vector<int64_t> table(nodes * counts);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int64_t>(i * 7919 % 100);
  const auto scan = [&](size_t) {
    for (size_t node = 0; node < nodes; ++node) {
      uint64_t enough = 0;
      for (size_t i = 0; i < counts; ++i) {
        enough |= uint64_t{table[node * counts + i] >= 50} << (i % 64);
      }
      keep(enough);
    }
  };
  return least_of(
             200, 1, [](size_t) {}, scan)
      .mean;
}

}  // namespace plimsoll::bench

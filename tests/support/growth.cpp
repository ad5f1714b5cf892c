#include "tests/support/growth.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "tests/support/allocation_count.hpp"
#include "tests/support/sanitized.hpp"

namespace plimsoll::test {
namespace {

constexpr size_t kRounds = 3;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Measured {
  double cpu = 1e9;
  double held = 0;  // bytes while the object was there
  double left = 0;  // bytes afterwards
};

// What `drop` gives back may be on its way: the last holder may be another thread's hand.
double left_since(int64_t before, double enough) {
  const auto left = [before] { return static_cast<double>(live_bytes() - before); };
  for (int i = 0; i < 100 && left() > enough; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return left();
}

Measured measure(const MakeGrowing& make, size_t entries, size_t round, double enough) {
  Measured measured;
  const Growing object = make(entries, round);
  const int64_t before = live_bytes();
  const double begun = cpu_seconds();
  object.take();
  measured.cpu = cpu_seconds() - begun;
  measured.held = static_cast<double>(live_bytes() - before);
  object.drop();
  measured.left = left_since(before, enough);
  return measured;
}

}  // namespace

void expect_linear(const std::string& what, const MakeGrowing& make, GrowthLimits limits) {
  // A wrong access shows with few entries too; growth itself is judged by the optimised build.
  if (kSanitized) limits.many = std::min(limits.many, 3 * limits.few);
  size_t round = 0;
  const double enough = limits.left_floor / (2 * kRounds);
  // Rooms that are kept for the next object get their size.
  measure(make, limits.many, round++, enough);
  Measured few;
  Measured many;
  for (size_t i = 0; i < kRounds; ++i) {
    for (const bool large : {false, true}) {
      const Measured now = measure(make, large ? limits.many : limits.few, round++, enough);
      Measured& all = large ? many : few;
      all.cpu = std::min(all.cpu, now.cpu);
      all.held = std::max(all.held, now.held);
      all.left += now.left;
    }
  }
  EXPECT_LE(many.cpu, limits.cpu_ratio * few.cpu + limits.cpu_floor_seconds)
      << what << ": CPU seconds at " << limits.many << " entries, against " << few.cpu << " at "
      << limits.few;
  EXPECT_LE(many.held, limits.bytes_ratio * few.held + limits.bytes_floor)
      << what << ": bytes at " << limits.many << " entries, against " << few.held << " at "
      << limits.few;
  EXPECT_LE(few.left + many.left, limits.left_floor)
      << what << ": bytes that " << 2 * kRounds << " objects left behind, each of which held up to "
      << many.held;
}

}  // namespace plimsoll::test

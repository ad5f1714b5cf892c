#pragma once
// How long a thread has worked. What is cut off by it does not depend on how busy the machine is.

#include <time.h>

#include <cstdint>

namespace plimsoll {

// Of the calling thread, in milliseconds of CPU time.
inline int64_t thread_time_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace plimsoll

#include "informer/http/write_fence.hpp"

#include <ctime>

namespace plimsoll::informer {

BootClock::time_point BootClock::now() noexcept {
  std::timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

void WriteFence::extend(BootClock::time_point until) {
  until_.store(until.time_since_epoch().count());
}

void WriteFence::close() {
  closed_.store(true);
}

BootClock::duration WriteFence::allowance(BootClock::time_point now) const {
  const BootClock::time_point until{BootClock::duration(until_.load())};
  if (closed_.load() || now >= until) return BootClock::duration::zero();
  return until + grace_ - now;
}

}  // namespace plimsoll::informer

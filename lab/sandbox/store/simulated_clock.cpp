#include "lab/sandbox/store/simulated_clock.hpp"

#include <plimsoll/time_text.hpp>

#include <mutex>

namespace plimsoll::sandbox {
namespace {

// The clock of the timestamps.
struct Stamping {
  std::mutex mutex;
  std::shared_ptr<const SimulatedClock> clock;

  std::chrono::system_clock::time_point now() {
    const std::lock_guard lock(mutex);
    if (!clock) return std::chrono::system_clock::now();
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(clock->epoch_ms()));
  }
};

Stamping& stamping() {
  static Stamping instance;
  return instance;
}

}  // namespace

TimestampScope::TimestampScope(std::shared_ptr<const SimulatedClock> clock) {
  const std::lock_guard lock(stamping().mutex);
  stamping().clock = std::move(clock);
}

TimestampScope::~TimestampScope() {
  const std::lock_guard lock(stamping().mutex);
  stamping().clock = nullptr;
}

std::string timestamp_now(std::chrono::milliseconds ago) {
  return sdk::time_text(stamping().now() - ago, false);
}

}  // namespace plimsoll::sandbox

#pragma once
// When the objects of a simulation's pods file come: at once, or after the seconds that the
// annotation `sandbox.plimsoll.io/arrive-seconds` says, counted from when the scheduler is ready.

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::cli {

inline constexpr const char* kArriveSecondsAnnotation = "sandbox.plimsoll.io/arrive-seconds";

class Arrivals {
 public:
  // Objects as JSON texts, in the order of their file; those that come at the same time keep it. A
  // time that is no number of seconds is noted, and the object comes at once.
  Arrivals(const std::vector<std::string>& texts, std::vector<std::string>& notes);

  // What has come by now, in order; each object once.
  [[nodiscard]] std::vector<std::string> take(double seconds);
  // When the next one comes; null: all have.
  [[nodiscard]] std::optional<double> next() const;

 private:
  struct Arrival {
    double seconds = 0;
    std::string text;
  };
  std::deque<Arrival> coming_;
};

}  // namespace plimsoll::cli

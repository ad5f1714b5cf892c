#pragma once
// When the objects of a simulation's pods file arrive: at once, or after the seconds in the
// annotation `sandbox.plimsoll.io/arrive-seconds`, counted from when the scheduler is ready.

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::cli {

inline constexpr const char* kArriveSecondsAnnotation = "sandbox.plimsoll.io/arrive-seconds";

class Arrivals {
 public:
  // Objects as JSON texts, in the order of their file; objects with the same time keep that order.
  // An invalid time is noted, and the object arrives at once.
  Arrivals(const std::vector<std::string>& texts, std::vector<std::string>& notes);

  // The objects that have arrived by `seconds`, in order; each is returned once.
  [[nodiscard]] std::vector<std::string> take(double seconds);
  // When the next object arrives; null: all have arrived.
  [[nodiscard]] std::optional<double> next() const;
  // Of those that have not arrived yet: NAMESPACE/NAME, in order.
  [[nodiscard]] std::vector<std::string> coming() const;

 private:
  struct Arrival {
    double seconds = 0;
    std::string text;
  };
  std::deque<Arrival> coming_;
};

}  // namespace plimsoll::cli

#include "framework/cycle/go_duration.hpp"

namespace plimsoll {

std::string go_duration(int64_t milliseconds) {
  if (milliseconds == 0) return "0s";
  if (milliseconds < 0) return "-" + go_duration(-milliseconds);
  if (milliseconds < 1000) return std::to_string(milliseconds) + "ms";
  const int64_t hours = milliseconds / 3'600'000;
  const int64_t minutes = milliseconds / 60'000 % 60;
  std::string seconds = std::to_string(milliseconds / 1000 % 60);
  if (const int64_t rest = milliseconds % 1000; rest != 0) {
    std::string fraction = std::to_string(1000 + rest).substr(1);
    while (fraction.back() == '0') fraction.pop_back();
    seconds += "." + fraction;
  }
  std::string text;
  if (hours != 0) text += std::to_string(hours) + "h";
  if (hours != 0 || minutes != 0) text += std::to_string(minutes) + "m";
  return text + seconds + "s";
}

}  // namespace plimsoll

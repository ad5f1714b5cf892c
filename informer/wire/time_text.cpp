#include "informer/wire/time_text.hpp"

#include <cstdio>
#include <ctime>

namespace plimsoll::informer {

std::string time_text(std::chrono::system_clock::time_point when, bool micro) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(when));
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[40];
  std::size_t used = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::string out(text, used);
  if (micro) {
    const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(
        when.time_since_epoch() % std::chrono::seconds(1));
    char fraction[16];
    std::snprintf(fraction, sizeof fraction, ".%06lld", static_cast<long long>(rest.count()));
    out += fraction;
  }
  return out + "Z";
}

}  // namespace plimsoll::informer

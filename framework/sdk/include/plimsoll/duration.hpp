// Plimsoll plugin SDK: durations as Go writes them, and so Kubernetes: "1m30s", "1.5h", "100ms".
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace plimsoll::sdk {

// time.ParseDuration; nothing if the text is not a duration.
[[nodiscard]] inline std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, long double>, 8> kUnits{{{"ns", 1},
                                                                            {"us", 1e3},
                                                                            {"\u00b5s", 1e3},
                                                                            {"\u03bcs", 1e3},
                                                                            {"ms", 1e6},
                                                                            {"s", 1e9},
                                                                            {"m", 60e9},
                                                                            {"h", 3600e9}}};
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text == "0") return std::chrono::nanoseconds(0);
  if (text.empty()) return std::nullopt;
  long double total = 0;
  while (!text.empty()) {
    long double number = 0, scale = 1;
    bool point = false, digits = false;
    for (; !text.empty() && (text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
         text.remove_prefix(1)) {
      if (text[0] == '.') {
        if (point) return std::nullopt;
        point = true;
        continue;
      }
      digits = true;
      number = number * 10 + (text[0] - '0');
      if (point) scale *= 10;
    }
    if (!digits) return std::nullopt;
    const std::string_view unit = text.substr(0, text.find_first_of(".0123456789"));
    const auto* known = std::find_if(kUnits.begin(), kUnits.end(),
                                     [&](const auto& each) { return each.first == unit; });
    if (known == kUnits.end()) return std::nullopt;
    total += number / scale * known->second;
    text.remove_prefix(unit.size());
  }
  constexpr long double kMost = 9.2e18L;
  if (!(total <= kMost)) return std::nullopt;
  const auto nanoseconds = static_cast<int64_t>(total);
  return std::chrono::nanoseconds(negative ? -nanoseconds : nanoseconds);
}

namespace detail {

// A count of `unit` nanoseconds with up to nine digits after the point and no zeros at the end.
inline std::string decimal(int64_t nanoseconds, int64_t unit) {
  std::string out = std::to_string(nanoseconds / unit);
  int64_t rest = nanoseconds % unit;
  if (rest == 0) return out;
  out += '.';
  for (int64_t digit = unit / 10; digit > 0 && rest > 0; digit /= 10) {
    out += static_cast<char>('0' + rest / digit);
    rest %= digit;
  }
  return out;
}

}  // namespace detail

// Duration.String.
[[nodiscard]] inline std::string format_duration(std::chrono::nanoseconds duration) {
  constexpr int64_t kSecond = 1'000'000'000;
  int64_t left = duration.count();
  if (left == 0) return "0s";
  if (left < 0) return "-" + format_duration(-duration);
  if (left < 1'000) return detail::decimal(left, 1) + "ns";
  if (left < 1'000'000) return detail::decimal(left, 1'000) + "\u00b5s";
  if (left < kSecond) return detail::decimal(left, 1'000'000) + "ms";
  const int64_t hours = left / (3600 * kSecond);
  const int64_t minutes = left / (60 * kSecond) % 60;
  std::string out;
  if (hours > 0) out += std::to_string(hours) + "h";
  if (hours > 0 || minutes > 0) out += std::to_string(minutes) + "m";
  return out + detail::decimal(left % (60 * kSecond), kSecond) + "s";
}

}  // namespace plimsoll::sdk

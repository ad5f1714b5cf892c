// Plimsoll plugin SDK: times in Kubernetes' text format, RFC 3339.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::sdk {

// In UTC; with microseconds where Kubernetes has a MicroTime.
[[nodiscard]] inline std::string time_text(std::chrono::system_clock::time_point when, bool micro) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(when);
  const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[40];
  std::string out(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts));
  if (micro) {
    const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(when - whole).count();
    out += "." + std::to_string(1'000'000 + rest).substr(1);
  }
  return out + "Z";
}

// Milliseconds since the epoch; nothing if the text is not a time. Fractions and offsets are
// allowed.
[[nodiscard]] inline std::optional<int64_t> parse_time(std::string_view text) {
  // The number of `count` digits at `at`; -1 if they are not digits.
  const auto digits = [text](size_t at, size_t count) {
    int number = 0;
    for (size_t i = at; i < at + count; ++i) {
      if (i >= text.size() || text[i] < '0' || text[i] > '9') return -1;
      number = number * 10 + (text[i] - '0');
    }
    return number;
  };
  const int year = digits(0, 4), month = digits(5, 2), day = digits(8, 2);
  const int hour = digits(11, 2), minute = digits(14, 2), second = digits(17, 2);
  if (year < 0 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 ||
      minute < 0 || minute > 59 || second < 0 || second > 60 || text[4] != '-' || text[7] != '-' ||
      (text[10] != 'T' && text[10] != 't') || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  size_t at = 19;
  int64_t ms = 0;
  if (at < text.size() && text[at] == '.') {
    int64_t unit = 100;
    for (++at; digits(at, 1) >= 0; ++at, unit /= 10) ms += unit * digits(at, 1);
  }
  int64_t offset_minutes = 0;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
    const int hours = digits(at + 1, 2), minutes = digits(at + 4, 2);
    if (hours < 0 || minutes < 0 || text[at + 3] != ':') return std::nullopt;
    offset_minutes = (text[at] == '-' ? -1 : 1) * (hours * 60 + minutes);
    at += 5;
  } else if (at >= text.size() || (text[at] != 'Z' && text[at] != 'z')) {
    return std::nullopt;
  }
  if (at + 1 != text.size()) return std::nullopt;
  const std::chrono::sys_days date =
      std::chrono::year(year) / static_cast<unsigned>(month) / static_cast<unsigned>(day);
  const int64_t days = date.time_since_epoch().count();
  return (((days * 24 + hour) * 60 + minute - offset_minutes) * 60 + second) * 1000 + ms;
}

}  // namespace plimsoll::sdk

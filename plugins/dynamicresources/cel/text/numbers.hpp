#pragma once
// Numbers from text and to text, as Go reads and writes them.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::dra::cel {

// All of the text must be digits, for signed types with perhaps a sign in front.
template <typename T>
std::optional<T> int_of(std::string_view text, int base = 10) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// As literals are written: decimal, or hexadecimal with 0x.
template <typename T>
std::optional<T> literal_int(std::string text) {
  const size_t sign = text.starts_with('-') ? 1 : 0;
  if (!std::string_view(text).substr(sign).starts_with("0x")) return int_of<T>(text);
  return int_of<T>(text.erase(sign, 2), 16);
}

// strconv.ParseFloat.
[[nodiscard]] std::optional<double> double_of(std::string_view text);
// fmt's %g.
[[nodiscard]] std::string text_of(double value);

}  // namespace plimsoll::dra::cel

#include "plugins/dynamicresources/cel/text/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plimsoll::dra::cel {
namespace {

bool is_decimal_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lowered;
}

std::optional<double> special_of(std::string_view text) {
  if (text == "inf" || text == "infinity") return std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

// Underscores may stand between digits, or behind 0x.
bool take_out_underscores(std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') continue;
    const auto is_in_number = [&](size_t at) {
      return at < text.size() &&
             std::string_view("0123456789abcdefx").find(text[at]) != std::string_view::npos;
    };
    if (i == 0 || !is_in_number(i - 1) || !is_in_number(i + 1)) return false;
  }
  std::erase(text, '_');
  return true;
}

// `text` has no sign.
std::optional<double> finite_of(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex && text.find('p') == std::string_view::npos) return std::nullopt;
  if (hex) text.remove_prefix(2);
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value,
                      hex ? std::chars_format::hex : std::chars_format::general);
  if (text.empty() || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc()) return std::isfinite(value) ? std::optional(value) : std::nullopt;
  // Too small is zero, too large is an error.
  const bool small = text.find("e-") != std::string_view::npos || text.starts_with("0.");
  return error == std::errc::result_out_of_range && small ? std::optional(0.0) : std::nullopt;
}

struct Digits {
  std::string digits;
  int exponent = 0;  // of the first digit
};

// The fewest digits that read back as this value; finite and not negative.
Digits shortest(double value) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  const std::string_view written(text, static_cast<size_t>(end.ptr - text));
  const size_t e = written.find('e');
  Digits result;
  for (char c : written.substr(0, e))
    if (is_decimal_digit(c)) result.digits += c;
  result.exponent = int_of<int>(written.substr(e + (written[e + 1] == '+' ? 2 : 1))).value_or(0);
  return result;
}

std::string scientific(const Digits& number) {
  const int size = std::abs(number.exponent);
  std::string text = number.digits.substr(0, 1);
  if (number.digits.size() > 1) text += "." + number.digits.substr(1);
  text += number.exponent < 0 ? "e-" : "e+";
  return text + (size < 10 ? "0" : "") + std::to_string(size);
}

std::string plain(const Digits& number) {
  if (number.exponent < 0)
    return "0." + std::string(static_cast<size_t>(-number.exponent - 1), '0') + number.digits;
  std::string text = number.digits;
  const auto whole = static_cast<size_t>(number.exponent) + 1;
  if (text.size() <= whole) return text.append(whole - text.size(), '0');
  return text.insert(whole, ".");
}

}  // namespace

std::optional<double> double_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::string lowered = lower(text);
  if (lowered.starts_with('-') || lowered.starts_with('+')) return std::nullopt;
  auto value = special_of(lowered);
  if (!value && take_out_underscores(lowered)) value = finite_of(lowered);
  if (value && negative) value = -*value;
  return value;
}

std::string text_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  const std::string sign = std::signbit(value) ? "-" : "";
  const Digits number = shortest(std::abs(value));
  // Of large and of small numbers the exponent is written.
  const bool far = number.exponent < -4 || number.exponent >= 6;
  return sign + (far ? scientific(number) : plain(number));
}

}  // namespace plimsoll::dra::cel

#include "plugins/nodedevice/quantity_text.hpp"

#include <algorithm>
#include <limits>
#include <span>

namespace plimsoll::devices {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// A suffix: a power of ten or of two.
struct Scale {
  int tens = 0;
  int twos = 0;
};

std::optional<Scale> parse_exponent(std::string_view digits) {
  bool negative = false;
  if (!digits.empty() && (digits[0] == '+' || digits[0] == '-')) {
    negative = digits[0] == '-';
    digits.remove_prefix(1);
  }
  if (digits.empty()) return std::nullopt;
  int exponent = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    exponent = std::min(exponent * 10 + (c - '0'), 10'000);
  }
  return Scale{negative ? -exponent : exponent, 0};
}

std::optional<Scale> parse_suffix(std::string_view suffix) {
  if (suffix.empty()) return Scale{};
  if (suffix.size() == 2 && suffix[1] == 'i') {
    const size_t power = std::string_view("KMGTPE").find(suffix[0]);
    if (power == std::string_view::npos) return std::nullopt;
    return Scale{0, 10 * (static_cast<int>(power) + 1)};
  }
  if (suffix.size() == 1) {
    const size_t small = std::string_view("mun").find(suffix[0]);
    if (small != std::string_view::npos) return Scale{-3 * (static_cast<int>(small) + 1), 0};
    const size_t large = std::string_view("kMGTPE").find(suffix[0]);
    if (large != std::string_view::npos) return Scale{3 * (static_cast<int>(large) + 1), 0};
    return std::nullopt;
  }
  if (suffix[0] == 'e' || suffix[0] == 'E') return parse_exponent(suffix.substr(1));
  return std::nullopt;
}

// The magnitude of digits (with the decimal point after `point` of them) times two to the `twos`,
// rounded to an integer: up, or towards zero.
int64_t magnitude(const std::string& digits, int point, int twos, bool round_up) {
  unsigned __int128 whole = 0;
  const int size = static_cast<int>(digits.size());
  for (int i = 0; i < point; ++i) {
    whole = whole * 10 + (i < size ? static_cast<unsigned>(digits[static_cast<size_t>(i)] - '0') : 0);
    if (whole > static_cast<unsigned __int128>(kMax)) return kMax;
  }
  unsigned __int128 fraction = 0;
  unsigned __int128 unit = 1;  // the fraction counts in 1 / unit
  bool sticky = false;         // digits beyond what is computed exactly
  for (int i = std::min(point, 0); i < size; ++i) {
    if (i < point) continue;
    const unsigned digit = i < 0 ? 0 : static_cast<unsigned>(digits[static_cast<size_t>(i)] - '0');
    if (unit < static_cast<unsigned __int128>(kMax / 10)) {
      fraction = fraction * 10 + digit;
      unit *= 10;
    } else {
      sticky = sticky || digit != 0;
    }
  }
  const unsigned __int128 factor = static_cast<unsigned __int128>(1) << twos;
  const unsigned __int128 product = fraction * factor;
  unsigned __int128 value = whole * factor + product / unit;
  if (round_up && (product % unit != 0 || sticky)) ++value;
  return value > static_cast<unsigned __int128>(kMax) ? kMax : static_cast<int64_t>(value);
}

std::string with_suffix(int64_t value, int64_t base, std::span<const std::string_view> suffixes) {
  size_t power = 0;
  while (value != 0 && value % base == 0 && power + 1 < suffixes.size()) {
    value /= base;
    ++power;
  }
  return std::to_string(value) + std::string(suffixes[power]);
}

}  // namespace

std::optional<int64_t> parse_quantity(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  std::string digits;
  int point = -1;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '.' && point < 0)
      point = static_cast<int>(digits.size());
    else if (text[at] >= '0' && text[at] <= '9')
      digits += text[at];
    else
      break;
  }
  const auto scale = parse_suffix(text.substr(at));
  if (digits.empty() || !scale) return std::nullopt;
  if (point < 0) point = static_cast<int>(digits.size());
  const size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  if (zeros == digits.size()) return 0;
  digits.erase(0, zeros);
  point += scale->tens - static_cast<int>(zeros);
  const int64_t value = magnitude(digits, point, scale->twos, !negative);
  return negative ? -value : value;
}

std::string decimal_text(int64_t value) {
  constexpr std::string_view kSuffixes[] = {"", "k", "M", "G", "T", "P", "E"};
  return with_suffix(value, 1000, kSuffixes);
}

std::string binary_text(int64_t value) {
  constexpr std::string_view kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  return with_suffix(value, 1024, kSuffixes);
}

}  // namespace plimsoll::devices

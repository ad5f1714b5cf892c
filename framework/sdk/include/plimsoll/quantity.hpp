// Plimsoll plugin SDK: Kubernetes quantities in base units.
//
//   parse_quantity("1500m", QuantityUnit::kMilli)  == 1500
//   parse_quantity("0.5Gi", QuantityUnit::kWhole)  == 536870912
//
// For plugins that read the raw JSON of a kind; the amounts of pods and nodes are already parsed.
// The grammar is that of resource.Quantity: a sign, decimal digits with at most one point, then a
// binary suffix (Ki ... Ei), a decimal suffix (n u m, k M G T P E) or an exponent (e3, E-3).
// Parsing is exact. Fractions of the unit are rounded away from zero, as Quantity.Value and
// MilliValue do. Values that do not fit int64 saturate. Pure functions; no allocation, no
// exception; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace plimsoll::sdk {

enum class QuantityUnit { kWhole, kMilli };

// The unit in which objects.h counts a resource: milli for "cpu", whole for everything else.
[[nodiscard]] constexpr QuantityUnit unit_of(std::string_view resource) {
  return resource == "cpu" ? QuantityUnit::kMilli : QuantityUnit::kWhole;
}

namespace detail {

// An unsigned number wide enough for 64 decimal digits times 2^60.
class WideNumber {
 public:
  void multiply_add(uint32_t factor, uint32_t add) {
    uint64_t carry = add;
    for (uint32_t& limb : limbs_) {
      carry += uint64_t{limb} * factor;
      limb = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    overflow_ = overflow_ || carry != 0;
  }
  // Divides, and remembers for ceil() whether there was a remainder.
  void divide(uint32_t divisor) {
    uint64_t rest = 0;
    for (size_t i = limbs_.size(); i-- > 0;) {
      rest = (rest << 32) | limbs_[i];
      limbs_[i] = static_cast<uint32_t>(rest / divisor);
      rest %= divisor;
    }
    inexact_ = inexact_ || rest != 0;
  }
  void mark_inexact() { inexact_ = true; }
  [[nodiscard]] bool zero() const {
    for (uint32_t limb : limbs_) {
      if (limb != 0) return false;
    }
    return true;
  }
  // Rounded up; saturates.
  [[nodiscard]] int64_t ceil() const {
    constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
    for (size_t i = 2; i < limbs_.size(); ++i) {
      if (limbs_[i] != 0) return static_cast<int64_t>(kMax);
    }
    const uint64_t low = (uint64_t{limbs_[1]} << 32) | limbs_[0];
    if (overflow_ || low > kMax) return static_cast<int64_t>(kMax);
    return static_cast<int64_t>(low + (inexact_ && low < kMax ? 1 : 0));
  }

 private:
  std::array<uint32_t, 10> limbs_{};
  bool overflow_ = false;
  bool inexact_ = false;
};

struct QuantitySuffix {
  int decimal = 0;  // power of ten
  int binary = 0;   // power of two
};

// Parses a suffix; nothing if the text is not a suffix.
constexpr std::optional<QuantitySuffix> quantity_suffix(std::string_view text) {
  if (text.empty()) return QuantitySuffix{};
  constexpr std::string_view kBinary = "KMGTPE";
  if (text.size() == 2 && text[1] == 'i') {
    const size_t at = kBinary.find(text[0]);
    if (at == std::string_view::npos) return std::nullopt;
    return QuantitySuffix{0, 10 * (static_cast<int>(at) + 1)};
  }
  constexpr std::string_view kDecimal = "num kMGTPE";
  if (text.size() == 1 && text[0] != ' ') {
    const size_t at = kDecimal.find(text[0]);
    if (at == std::string_view::npos) return std::nullopt;
    return QuantitySuffix{3 * (static_cast<int>(at) - 3), 0};
  }
  if (text[0] != 'e' && text[0] != 'E') return std::nullopt;
  text.remove_prefix(1);
  const bool negative = text[0] == '-';
  if (text[0] == '-' || text[0] == '+') text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  // An exponent that does not fit int64 is not a suffix. Larger exponents than any amount can have
  // need not be distinguished.
  constexpr uint64_t kMost = uint64_t{1} << 63;
  constexpr uint64_t kFar = 100000;
  uint64_t exponent = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<uint64_t>(c - '0');
    if (exponent > (kMost - digit) / 10) return std::nullopt;
    exponent = exponent * 10 + digit;
  }
  if (exponent == kMost && !negative) return std::nullopt;
  const int bounded = static_cast<int>(exponent < kFar ? exponent : kFar);
  return QuantitySuffix{negative ? -bounded : bounded, 0};
}

}  // namespace detail

// The amount in `unit`s, or nothing if the text is not a quantity.
[[nodiscard]] constexpr std::optional<int64_t> parse_quantity(std::string_view text,
                                                              QuantityUnit unit) {
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  constexpr int kDigits = 64;  // further digits only affect rounding
  detail::WideNumber number;
  int digits = 0;
  int scale = 0;
  bool point = false;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.') {
      if (point) return std::nullopt;
      point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    if (digits < kDigits) {
      number.multiply_add(10, static_cast<uint32_t>(c - '0'));
      if (digits > 0 || c != '0') ++digits;
      if (point) --scale;
    } else {
      if (c != '0') number.mark_inexact();
      if (!point) ++scale;
    }
  }
  if (text.empty()) return std::nullopt;
  const auto suffix = detail::quantity_suffix(text.substr(at));
  if (!suffix) return std::nullopt;
  if (number.zero()) return 0;
  for (int i = 0; i < suffix->binary; i += 10) number.multiply_add(1024, 0);
  int shift = scale + suffix->decimal + (unit == QuantityUnit::kMilli ? 3 : 0);
  if (shift > 40) shift = 40;      // saturates anyway
  if (shift < -170) shift = -170;  // below one anyway
  for (; shift > 0; --shift) number.multiply_add(10, 0);
  for (; shift < 0; ++shift) number.divide(10);
  const int64_t value = number.ceil();
  return negative ? -value : value;
}

}  // namespace plimsoll::sdk

#include "plugins/dynamicresources/values/quantity.hpp"

#include <plimsoll/quantity.hpp>

#include <algorithm>
#include <limits>

namespace plimsoll::dra {
namespace {

using Nanos = Quantity::Nanos;
using Format = Quantity::Format;

constexpr Nanos kUnit = 1'000'000'000;
constexpr int kUnitDigits = 9;
// Two of them can be added.
constexpr Nanos kMost = (Nanos{1} << 126) - 1;
// What Kubernetes keeps of amounts that are written with a binary suffix.
constexpr Nanos kMostBinary = Nanos{std::numeric_limits<int64_t>::max()} * kUnit;

std::string_view take_digits(std::string_view* text) {
  const size_t end = std::min(text->find_first_not_of("0123456789"), text->size());
  const std::string_view digits = text->substr(0, end);
  text->remove_prefix(end);
  return digits;
}

// A decimal fraction: the digit at 0 stands right behind the point; more places than it has digits,
// before and behind, are zeros.
class Digits {
 public:
  Digits(std::string_view whole, std::string_view fraction) : whole_(whole), fraction_(fraction) {}
  [[nodiscard]] int begin() const { return -static_cast<int>(whole_.size()); }
  [[nodiscard]] int end() const { return static_cast<int>(fraction_.size()); }
  [[nodiscard]] int operator[](int place) const {
    if (place < begin() || place >= end()) return 0;
    return (place < 0 ? whole_[place - begin()] : fraction_[place]) - '0';
  }
  // How many there are, without zeros in front of them.
  [[nodiscard]] int count() const {
    const size_t zeros = std::min(whole_.find_first_not_of('0'), whole_.size());
    return std::max(static_cast<int>(whole_.size() - zeros), 1) + end();
  }
  [[nodiscard]] bool zero() const {
    return whole_.find_first_not_of('0') == std::string_view::npos &&
           fraction_.find_first_not_of('0') == std::string_view::npos;
  }

 private:
  std::string_view whole_, fraction_;
};

Nanos times(Nanos amount, Nanos factor) {
  Nanos product = 0;
  return __builtin_mul_overflow(amount, factor, &product) ? kMost : std::min(product, kMost);
}

// The digits with their point moved, times the factor; rounded up.
Nanos amount_of(const Digits& digits, int point, Nanos factor) {
  if (digits.zero()) return 0;
  // Farther away nothing changes but the time that it takes.
  constexpr int kFar = 64;
  point = std::clamp(point, digits.begin() - kFar, digits.end() + kFar);
  Nanos whole = 0;
  for (int i = digits.begin(); i < point && whole < kMost; ++i)
    whole = times(whole, 10) + digits[i];
  // From the last digit on, so that each division loses only what is behind the point.
  Nanos behind = 0;
  bool exact = true;
  for (int i = digits.end(); i-- > point;) {
    behind += digits[i] * factor;
    exact = exact && behind % 10 == 0;
    behind /= 10;
  }
  return std::min(times(whole, factor) + behind + (exact ? 0 : 1), kMost);
}

// Takes away up to `most` factors; returns how many.
int strip(Nanos* amount, int factor, int most) {
  int power = 0;
  for (; power < most && *amount % factor == 0; *amount /= factor) ++power;
  return power;
}

std::string digits_of(Nanos amount) {
  std::string text;
  const bool negative = amount < 0;
  for (; amount != 0; amount /= 10)
    text.push_back(
        static_cast<char>('0' + static_cast<int>(negative ? -(amount % 10) : amount % 10)));
  if (negative) text.push_back('-');
  std::reverse(text.begin(), text.end());
  return text;
}

std::string binary_text(Nanos whole) {
  constexpr std::string_view kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  const int power = strip(&whole, 1024, 6);
  return digits_of(whole) + std::string(kSuffixes[power]);
}

std::string decimal_text(Nanos nanos, Format format) {
  constexpr std::string_view kSuffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  constexpr int kAny = 100;
  const bool suffixed = format != Format::kExponent;
  const int power = strip(&nanos, 1000, suffixed ? 9 : kAny);
  if (suffixed) return digits_of(nanos) + std::string(kSuffixes[power]);
  const int exponent = power * 3 - kUnitDigits;
  return digits_of(nanos) + (exponent == 0 ? "" : "e" + std::to_string(exponent));
}

Format format_of(std::string_view suffix, bool binary, Nanos nanos) {
  if (!binary) return suffix.size() > 1 ? Format::kExponent : Format::kDecimal;
  const bool part_of_one = nanos > 0 && nanos < kUnit;
  return part_of_one ? Format::kDecimal : Format::kBinary;
}

// Does Kubernetes keep the number as a fraction, or as too large for an int64?
bool kept_as_fraction(const Digits& digits, const sdk::detail::QuantitySuffix& suffix) {
  constexpr int kMostDigits = 18, kMostBinaryDigits = 14;
  if (suffix.binary != 0)
    return digits.end() > 0 || digits.count() > kMostBinaryDigits - suffix.binary * 3 / 10;
  return digits.count() > kMostDigits || digits.end() > suffix.decimal;
}

}  // namespace

std::optional<Quantity> Quantity::parse(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') text.remove_prefix(1);
  const std::string_view whole = take_digits(&text);
  const bool point = text.starts_with('.');
  if (point) text.remove_prefix(1);
  const Digits digits(whole, point ? take_digits(&text) : std::string_view());
  const auto suffix = sdk::detail::quantity_suffix(text);
  if (!suffix) return std::nullopt;

  const bool binary = suffix->binary != 0;
  Nanos nanos = binary ? amount_of(digits, 0, kUnit << suffix->binary)
                       : amount_of(digits, suffix->decimal + kUnitDigits, 1);
  if (binary) nanos = std::min(nanos, kMostBinary);
  Quantity quantity(negative ? -nanos : nanos, format_of(text, binary, nanos));
  quantity.fraction_ = kept_as_fraction(digits, *suffix);
  return quantity;
}

Quantity Quantity::whole(int64_t units) {
  return Quantity(Nanos{units} * kUnit, Format::kExponent);
}

std::optional<int64_t> Quantity::kept_whole() const {
  const Nanos units = nanos_ / kUnit;
  if (fraction_ || nanos_ % kUnit != 0 || units != static_cast<int64_t>(units)) return std::nullopt;
  return static_cast<int64_t>(units);
}

Quantity Quantity::plus(const Quantity& other, int sign) const {
  const Nanos sum = std::clamp(nanos_ + sign * other.nanos_, -kMost, kMost);
  Quantity result(sum, nanos_ == 0 ? other.format_ : format_);
  result.fraction_ = (nanos_ != 0 && fraction_) || (other.nanos_ != 0 && other.fraction_);
  return result;
}

Quantity Quantity::times(const Quantity& factor) const {
  // (whole units + the rest) * factor: the first part is exact, the second less than the factor.
  Nanos whole = 0, part = 0;
  const bool fits = !__builtin_mul_overflow(nanos_ / kUnit, factor.nanos_, &whole) &&
                    !__builtin_mul_overflow(nanos_ % kUnit, factor.nanos_, &part);
  const bool negative = (nanos_ < 0) != (factor.nanos_ < 0);
  Quantity result(negative ? -kMost : kMost, format_);
  if (!fits) return result;
  part = part / kUnit + (part % kUnit > 0 ? 1 : 0);
  result.nanos_ = std::clamp(whole, -kMost, kMost) + part;
  result.nanos_ = std::clamp(result.nanos_, -kMost, kMost);
  return result;
}

std::string Quantity::text() const {
  if (nanos_ == 0) return "0";
  const bool whole = nanos_ % kUnit == 0;
  const Nanos units = nanos_ / kUnit;
  if (format_ == Format::kBinary && whole && (units <= -1024 || units >= 1024))
    return binary_text(units);
  return decimal_text(nanos_, format_);
}

}  // namespace plimsoll::dra

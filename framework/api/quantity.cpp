#include "framework/api/quantity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "framework/api/big_decimal.hpp"

namespace plimsoll {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

int64_t saturated(bool negative) {
  return negative ? kMin : kMax;
}

// value * 10^exponent; false on overflow.
bool scale_up(int64_t value, int32_t exponent, int64_t* out) {
  if (value != 0) {
    for (; exponent > 0; --exponent) {
      if (__builtin_mul_overflow(value, 10, &value)) return false;
    }
  }
  *out = value;
  return true;
}

// value / 10^exponent, rounded away from zero.
int64_t scale_down(int64_t value, int32_t exponent) {
  bool exact = true;
  const bool negative = value < 0;
  for (; exponent > 0 && value != 0; --exponent) {
    exact = exact && value % 10 == 0;
    value /= 10;
  }
  return exact ? value : (negative ? value - 1 : value + 1);
}

// The suffix of 10^exponent (a multiple of 3); `zeros` is the rest that no suffix expresses.
std::string decimal_suffix(int32_t exponent, int32_t* zeros) {
  constexpr std::string_view kSuffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  constexpr int32_t kLargest = 18;
  *zeros = exponent > kLargest ? exponent - kLargest : 0;
  return std::string(kSuffixes[(exponent - *zeros + 9) / 3]);
}

std::string binary_suffix(int32_t times_1024, int32_t* factors_left) {
  constexpr std::string_view kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  constexpr int32_t kLargest = 6;
  *factors_left = times_1024 > kLargest ? times_1024 - kLargest : 0;
  return std::string(kSuffixes[times_1024 - *factors_left]);
}

}  // namespace

Quantity Quantity::milli(int64_t value) {
  Quantity result(value, Format::kDecimalSI);
  result.scale_ = -3;
  return result;
}

BigDecimal Quantity::decimal() const {
  return big_ ? *big_ : BigDecimal(value_, -scale_);
}

void Quantity::become(BigDecimal amount) {
  big_ = std::make_shared<const BigDecimal>(std::move(amount));
  value_ = 0;
  scale_ = 0;
}

int Quantity::sign() const {
  if (big_) return big_->sign();
  return value_ == 0 ? 0 : (value_ < 0 ? -1 : 1);
}

int64_t Quantity::scaled_value(int32_t scale) const {
  if (!big_) {
    if (scale_ < scale) return scale_down(value_, scale - scale_);
    int64_t result = 0;
    return scale_up(value_, scale_ - scale, &result) ? result : saturated(value_ < 0);
  }
  // Like Go: truncates towards zero and adds one if there is a remainder, even for negative
  // numbers. Of a negative number with a fraction Go takes only the low bits; a pod's quantities
  // are never negative.
  bool exact = true;
  if (big_->sign() < 0 && big_->scale() > -scale && !big_->unscaled_int64()) {
    const BigDecimal low(big_->unscaled_low_bits(), big_->scale());
    const int64_t whole = low.truncated(-scale, &exact).unscaled_int64().value_or(0);
    return exact ? whole : whole + 1;
  }
  const auto whole = big_->truncated(-scale, &exact).unscaled_int64();
  if (!whole || (!exact && *whole == kMax)) return saturated(big_->sign() < 0);
  return exact ? *whole : *whole + 1;
}

int Quantity::cmp(const Quantity& other) const {
  if (!big_ && !other.big_ && scale_ == other.scale_) {
    return value_ == other.value_ ? 0 : (value_ < other.value_ ? -1 : 1);
  }
  return decimal().compare(other.decimal());
}

bool Quantity::add_small(int64_t value, int32_t scale) {
  if (value == 0) return true;
  if (value_ == 0) {
    value_ = value;
    scale_ = scale;
    return true;
  }
  int64_t mine = value_;
  const int32_t common = std::min(scale_, scale);
  int64_t sum = 0;
  if (!scale_up(value_, scale_ - common, &mine) || !scale_up(value, scale - common, &value) ||
      __builtin_add_overflow(mine, value, &sum)) {
    return false;
  }
  value_ = sum;
  scale_ = common;
  return true;
}

void Quantity::add(const Quantity& other) {
  spelling_.clear();
  if (is_zero()) format_ = other.format_;
  if (!big_ && !other.big_ && add_small(other.value_, other.scale_)) return;
  BigDecimal sum = decimal();
  sum.add(other.decimal());
  become(std::move(sum));
}

void Quantity::sub(const Quantity& other) {
  Quantity negative = other;
  negative.negate();
  add(negative);
}

void Quantity::negate() {
  spelling_.clear();
  if (!big_ && value_ != kMin) {
    value_ = -value_;
    return;
  }
  BigDecimal opposite = decimal();
  opposite.negate();
  become(std::move(opposite));
}

bool Quantity::as_int64(int64_t* out) const {
  *out = 0;
  return !big_ && scale_ >= 0 && scale_up(value_, scale_, out);
}

double Quantity::approximate_double() const {
  const double base = big_ ? big_->unscaled_double() : static_cast<double>(value_);
  const int32_t exponent = big_ ? -big_->scale() : scale_;
  return exponent == 0 ? base : base * std::pow(10.0, exponent);
}

std::string Quantity::canonical_decimal(Format format) const {
  BigDecimal amount = decimal();
  int32_t exponent = amount.remove_factors(10) - amount.scale();
  for (; exponent % 3 != 0; --exponent) amount.multiply(10);
  if (format == Format::kDecimalExponent || format == Format::kNone) {
    return amount.unscaled_text() + (exponent == 0 ? "" : "e" + std::to_string(exponent));
  }
  int32_t zeros = 0;
  const std::string suffix = decimal_suffix(exponent, &zeros);
  return amount.unscaled_text() + std::string(static_cast<size_t>(zeros), '0') + suffix;
}

std::string Quantity::canonical() const {
  if (is_zero()) return "0";
  if (format_ != Format::kBinarySI) return canonical_decimal(format_);
  // A fraction must not be lost to a binary suffix, and small numbers need no suffix.
  const Quantity limit(1024, Format::kDecimalSI);
  const Quantity negative_limit(-1024, Format::kDecimalSI);
  bool exact = true;
  BigDecimal whole = decimal().truncated(0, &exact);
  if (!exact || (cmp(negative_limit) > 0 && cmp(limit) < 0)) {
    return canonical_decimal(Format::kDecimalSI);
  }
  int32_t factors_left = 0;
  const std::string suffix = binary_suffix(whole.remove_factors(1024), &factors_left);
  for (; factors_left > 0; --factors_left) whole.multiply(1024);
  return whole.unscaled_text() + suffix;
}

}  // namespace plimsoll

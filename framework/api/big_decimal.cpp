#include "framework/api/big_decimal.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace plimsoll {
namespace {

constexpr uint32_t kBase = 1'000'000'000;
constexpr int32_t kBaseDigits = 9;
constexpr uint32_t kPow10[kBaseDigits] = {1,       10,        100,        1000,       10'000,
                                          100'000, 1'000'000, 10'000'000, 100'000'000};

}  // namespace

BigDecimal::BigDecimal(int64_t unscaled, int32_t scale) : negative_(unscaled < 0), scale_(scale) {
  uint64_t rest =
      unscaled < 0 ? 0 - static_cast<uint64_t>(unscaled) : static_cast<uint64_t>(unscaled);
  for (; rest != 0; rest /= kBase) limbs_.push_back(static_cast<uint32_t>(rest % kBase));
}

BigDecimal BigDecimal::from_digits(std::string_view digits, int32_t scale) {
  BigDecimal result;
  result.scale_ = scale;
  while (!digits.empty()) {
    size_t take = std::min<size_t>(digits.size(), kBaseDigits);
    uint32_t limb = 0;
    for (char c : digits.substr(digits.size() - take))
      limb = limb * 10 + static_cast<uint32_t>(c - '0');
    result.limbs_.push_back(limb);
    digits.remove_suffix(take);
  }
  result.trim();
  return result;
}

void BigDecimal::trim() {
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  if (limbs_.empty()) negative_ = false;
}

void BigDecimal::multiply(uint32_t factor) {
  uint64_t carry = 0;
  for (uint32_t& limb : limbs_) {
    carry += uint64_t{limb} * factor;
    limb = static_cast<uint32_t>(carry % kBase);
    carry /= kBase;
  }
  for (; carry != 0; carry /= kBase) limbs_.push_back(static_cast<uint32_t>(carry % kBase));
  trim();
}

void BigDecimal::multiply_pow10(int32_t exponent) {
  if (limbs_.empty()) return;
  multiply(kPow10[exponent % kBaseDigits]);
  limbs_.insert(limbs_.begin(), static_cast<size_t>(exponent / kBaseDigits), 0);
}

uint32_t BigDecimal::divide(uint32_t divisor) {
  uint64_t remainder = 0;
  for (size_t i = limbs_.size(); i-- > 0;) {
    remainder = remainder * kBase + limbs_[i];
    limbs_[i] = static_cast<uint32_t>(remainder / divisor);
    remainder %= divisor;
  }
  trim();
  return static_cast<uint32_t>(remainder);
}

void BigDecimal::divide_pow10(int32_t exponent, bool* exact) {
  const auto whole = std::min(static_cast<size_t>(exponent / kBaseDigits), limbs_.size());
  for (size_t i = 0; i < whole; ++i) *exact = *exact && limbs_[i] == 0;
  limbs_.erase(limbs_.begin(), limbs_.begin() + static_cast<std::ptrdiff_t>(whole));
  if (divide(kPow10[exponent % kBaseDigits]) != 0) *exact = false;
}

BigDecimal BigDecimal::truncated(int32_t scale, bool* exact) const {
  BigDecimal result = *this;
  *exact = true;
  if (scale >= scale_) {
    result.multiply_pow10(scale - scale_);
  } else {
    result.divide_pow10(scale_ - scale, exact);
  }
  result.scale_ = scale;
  return result;
}

bool BigDecimal::round_up(int32_t scale) {
  const bool was_negative = negative_;
  bool exact = true;
  *this = truncated(scale, &exact);
  if (exact) return true;
  BigDecimal one(1, scale);
  add_magnitude(one);
  negative_ = was_negative;
  return false;
}

int32_t BigDecimal::remove_factors(uint32_t divisor) {
  int32_t times = 0;
  while (!limbs_.empty()) {
    BigDecimal quotient = *this;
    if (quotient.divide(divisor) != 0) break;
    *this = std::move(quotient);
    ++times;
  }
  return times;
}

int BigDecimal::compare_magnitude(const BigDecimal& other) const {
  if (limbs_.size() != other.limbs_.size()) return limbs_.size() < other.limbs_.size() ? -1 : 1;
  for (size_t i = limbs_.size(); i-- > 0;) {
    if (limbs_[i] != other.limbs_[i]) return limbs_[i] < other.limbs_[i] ? -1 : 1;
  }
  return 0;
}

void BigDecimal::add_magnitude(const BigDecimal& other) {
  limbs_.resize(std::max(limbs_.size(), other.limbs_.size()), 0);
  uint32_t carry = 0;
  for (size_t i = 0; i < limbs_.size(); ++i) {
    uint32_t sum = limbs_[i] + carry + (i < other.limbs_.size() ? other.limbs_[i] : 0);
    carry = sum >= kBase ? 1 : 0;
    limbs_[i] = sum - carry * kBase;
  }
  if (carry != 0) limbs_.push_back(carry);
}

void BigDecimal::subtract_magnitude(const BigDecimal& other) {
  int64_t borrow = 0;
  for (size_t i = 0; i < limbs_.size(); ++i) {
    int64_t difference =
        int64_t{limbs_[i]} - borrow - (i < other.limbs_.size() ? other.limbs_[i] : 0);
    borrow = difference < 0 ? 1 : 0;
    limbs_[i] = static_cast<uint32_t>(difference + borrow * kBase);
  }
  trim();
}

void BigDecimal::add(const BigDecimal& other) {
  const int32_t scale = std::max(scale_, other.scale_);
  bool exact = true;
  BigDecimal addend = other.truncated(scale, &exact);
  *this = truncated(scale, &exact);
  if (negative_ == addend.negative_) {
    add_magnitude(addend);
  } else if (compare_magnitude(addend) >= 0) {
    subtract_magnitude(addend);
  } else {
    addend.subtract_magnitude(*this);
    *this = std::move(addend);
  }
  trim();
}

int BigDecimal::compare(const BigDecimal& other) const {
  if (sign() != other.sign()) return sign() < other.sign() ? -1 : 1;
  const int32_t scale = std::max(scale_, other.scale_);
  bool exact = true;
  const int order = truncated(scale, &exact).compare_magnitude(other.truncated(scale, &exact));
  return negative_ ? -order : order;
}

std::optional<int64_t> BigDecimal::unscaled_int64() const {
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (limbs_.size() > 3) return std::nullopt;
  unsigned __int128 magnitude = 0;
  for (size_t i = limbs_.size(); i-- > 0;) magnitude = magnitude * kBase + limbs_[i];
  if (magnitude > kMax + (negative_ ? 1 : 0)) return std::nullopt;
  const auto bits = static_cast<uint64_t>(magnitude);
  return static_cast<int64_t>(negative_ ? 0 - bits : bits);
}

int64_t BigDecimal::unscaled_low_bits() const {
  uint64_t bits = 0;
  for (size_t i = limbs_.size(); i-- > 0;) bits = bits * kBase + limbs_[i];
  return static_cast<int64_t>(negative_ ? 0 - bits : bits);
}

std::string BigDecimal::unscaled_text() const {
  if (limbs_.empty()) return "0";
  std::string text = (negative_ ? "-" : "") + std::to_string(limbs_.back());
  for (size_t i = limbs_.size() - 1; i-- > 0;) {
    std::string part = std::to_string(limbs_[i]);
    text.append(static_cast<size_t>(kBaseDigits) - part.size(), '0').append(part);
  }
  return text;
}

double BigDecimal::unscaled_double() const {
  return std::strtod(unscaled_text().c_str(), nullptr);
}

}  // namespace plimsoll

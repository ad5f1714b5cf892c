#pragma once
// Decimal numbers of any size: unscaled * 10^-scale, like inf.Dec in resource.Quantity. This has
// only what Quantity needs. It is slow, but nearly every quantity fits an int64 and does not use
// it.
//
// Values without shared state. The cost grows with the number of digits, so callers must bound
// digits and scale, as Quantity does.

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace plimsoll {

class BigDecimal {
 public:
  using Integer = boost::multiprecision::cpp_int;

  BigDecimal(Integer unscaled, int32_t scale) : unscaled_(std::move(unscaled)), scale_(scale) {}

  // `digits` holds only 0-9.
  [[nodiscard]] static BigDecimal from_digits(std::string_view digits, int32_t scale) {
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));  // no octal
    return {digits.empty() ? Integer() : Integer(std::string(digits)), scale};
  }

  [[nodiscard]] bool is_zero() const { return unscaled_.is_zero(); }
  [[nodiscard]] int sign() const { return unscaled_.sign(); }
  [[nodiscard]] int32_t scale() const { return scale_; }

  void negate() { unscaled_ = -unscaled_; }
  void multiply(uint32_t factor) { unscaled_ *= factor; }
  void add(const BigDecimal& other) {
    const int32_t scale = std::max(scale_, other.scale_);
    unscaled_ = at(scale) + other.at(scale);
    scale_ = scale;
  }

  // Rounds to this scale, away from zero.
  void round_up(int32_t scale) {
    bool exact = true;
    const int away = sign();
    *this = truncated(scale, &exact);
    if (!exact) unscaled_ += away;
  }

  // A copy rounded to this scale, towards zero. `*exact` says whether the value is unchanged.
  [[nodiscard]] BigDecimal truncated(int32_t scale, bool* exact) const {
    *exact = true;
    if (scale >= scale_) return {at(scale), scale};
    Integer whole;
    Integer rest;
    divide_qr(unscaled_, power_of_10(scale_ - scale), whole, rest);
    *exact = rest.is_zero();
    return {std::move(whole), scale};
  }

  // Divides the unscaled value by `divisor` as often as there is no remainder.
  int32_t remove_factors(uint32_t divisor) {
    int32_t times = 0;
    for (; !is_zero() && unscaled_ % divisor == 0; ++times) unscaled_ /= divisor;
    return times;
  }

  [[nodiscard]] int compare(const BigDecimal& other) const {
    const int32_t scale = std::max(scale_, other.scale_);
    return at(scale).compare(other.at(scale));
  }

  // The unscaled value; nothing if it does not fit.
  [[nodiscard]] std::optional<int64_t> unscaled_int64() const {
    using Limits = std::numeric_limits<int64_t>;
    if (unscaled_ < Limits::min() || unscaled_ > Limits::max()) return std::nullopt;
    return static_cast<int64_t>(unscaled_);
  }
  // big.Int.Int64: the low 64 bits of the magnitude, with the sign.
  [[nodiscard]] int64_t unscaled_low_bits() const {
    const auto bits =
        static_cast<uint64_t>(abs(unscaled_) & Integer(std::numeric_limits<uint64_t>::max()));
    return static_cast<int64_t>(sign() < 0 ? 0 - bits : bits);
  }
  [[nodiscard]] std::string unscaled_text() const { return unscaled_.str(); }  // "-123"
  [[nodiscard]] double unscaled_double() const {                               // nearest
    return std::strtod(unscaled_text().c_str(), nullptr);
  }

 private:
  [[nodiscard]] static Integer power_of_10(int32_t exponent) {
    return pow(Integer(10), static_cast<unsigned>(exponent));
  }
  // The unscaled value at a scale that is not smaller.
  [[nodiscard]] Integer at(int32_t scale) const {
    return scale == scale_ || is_zero() ? unscaled_ : unscaled_ * power_of_10(scale - scale_);
  }

  Integer unscaled_;
  int32_t scale_;
};

}  // namespace plimsoll

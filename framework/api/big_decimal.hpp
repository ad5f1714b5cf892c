#pragma once
// Decimal numbers of any size: unscaled * 10^-scale, like inf.Dec in resource.Quantity. This has
// only what Quantity needs. It is slow, but nearly every quantity fits an int64 and does not use
// it.
//
// Values without shared state. The cost grows with the number of digits, so callers must bound
// digits and scale, as Quantity does.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

class BigDecimal {
 public:
  BigDecimal() = default;
  BigDecimal(int64_t unscaled, int32_t scale);

  // `digits` holds only 0-9.
  [[nodiscard]] static BigDecimal from_digits(std::string_view digits, int32_t scale);

  [[nodiscard]] bool is_zero() const { return limbs_.empty(); }
  [[nodiscard]] int sign() const { return limbs_.empty() ? 0 : (negative_ ? -1 : 1); }
  [[nodiscard]] int32_t scale() const { return scale_; }

  void negate() { negative_ = !negative_ && !limbs_.empty(); }
  void set_scale(int32_t scale) { scale_ = scale; }  // changes the value
  void multiply(uint32_t factor);
  void add(const BigDecimal& other);

  // Rounds to this scale, away from zero. False if the value changed.
  bool round_up(int32_t scale);

  // A copy rounded to this scale, towards zero. `*exact` says whether the value is unchanged.
  [[nodiscard]] BigDecimal truncated(int32_t scale, bool* exact) const;

  // Divides the unscaled value by `divisor` as often as there is no remainder.
  int32_t remove_factors(uint32_t divisor);

  [[nodiscard]] int compare(const BigDecimal& other) const;

  // The unscaled value; nothing if it does not fit.
  [[nodiscard]] std::optional<int64_t> unscaled_int64() const;
  // big.Int.Int64: the low 64 bits of the magnitude, with the sign.
  [[nodiscard]] int64_t unscaled_low_bits() const;
  [[nodiscard]] std::string unscaled_text() const;  // "-123"
  [[nodiscard]] double unscaled_double() const;     // nearest

 private:
  void multiply_pow10(int32_t exponent);
  void divide_pow10(int32_t exponent, bool* exact);
  uint32_t divide(uint32_t divisor);  // returns the remainder
  void add_magnitude(const BigDecimal& other);
  void subtract_magnitude(const BigDecimal& other);  // other is not larger
  [[nodiscard]] int compare_magnitude(const BigDecimal& other) const;
  void trim();

  std::vector<uint32_t> limbs_;  // base 10^9, least significant first, no leading zeros
  bool negative_ = false;
  int32_t scale_ = 0;
};

}  // namespace plimsoll

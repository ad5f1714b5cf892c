#pragma once
// Kubernetes quantities, resource.Quantity: "100m", "1.5Gi", "12e6", exactly as Go computes them.
//
// A quantity is an exact decimal number with a print format. Fractions below a nano are rounded
// away from zero. Nearly every quantity is stored as an int64 and a power of ten; the others use a
// decimal of any size. Exponents are bounded (kMaxExponent), so that no input costs more than
// microseconds.
//
// Values without shared state; any thread; nothing blocks.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"

namespace plimsoll {

class BigDecimal;

class Quantity {
 public:
  // kNone: never parsed, like Go's Quantity{}: zero, until another quantity is added.
  enum class Format : uint8_t { kNone, kDecimalSI, kBinarySI, kDecimalExponent };

  // Larger exponents are replaced by this one: the number exceeds int64 either way.
  static constexpr int32_t kMaxExponent = 1000;
  // The longest text that parse() accepts.
  static constexpr size_t kMaxLength = 512;

  Quantity() = default;
  Quantity(int64_t value, Format format) : value_(value), format_(format) {}

  [[nodiscard]] static Quantity milli(int64_t value);

  // resource.ParseQuantity. Fails with Kubernetes' own texts.
  [[nodiscard]] static Result<Quantity> parse(std::string_view text);
  // Quantity.UnmarshalJSON: the JSON text of a string or a number. null is zero without a format.
  [[nodiscard]] static Result<Quantity> parse_json(std::string_view json);

  // In units or in thousandths, rounded up as Value and MilliValue do; saturates.
  [[nodiscard]] int64_t value() const { return scaled_value(0); }
  [[nodiscard]] int64_t milli_value() const { return scaled_value(-3); }

  [[nodiscard]] int sign() const;
  [[nodiscard]] bool is_zero() const { return sign() == 0; }
  [[nodiscard]] Format format() const { return format_; }
  [[nodiscard]] int cmp(const Quantity& other) const;

  // These keep the receiver's format, unless the receiver is zero: then they take the other's.
  void add(const Quantity& other);
  void sub(const Quantity& other);
  void negate();

  // Quantity.AsInt64: true if the number is stored as an int64 and is whole.
  [[nodiscard]] bool as_int64(int64_t* out) const;
  [[nodiscard]] double approximate_double() const;  // AsApproximateFloat64

  // String(): the parsed text where Go keeps it, otherwise the canonical form.
  [[nodiscard]] std::string text() const { return spelling_.empty() ? canonical() : spelling_; }
  [[nodiscard]] std::string canonical() const;
  [[nodiscard]] std::string json() const { return '"' + text() + '"'; }

 private:
  [[nodiscard]] int64_t scaled_value(int32_t scale) const;
  [[nodiscard]] BigDecimal decimal() const;
  [[nodiscard]] std::string canonical_decimal(Format format) const;
  void become(BigDecimal amount);
  bool add_small(int64_t value, int32_t scale);

  int64_t value_ = 0;  // value_ * 10^scale_, unless big_
  int32_t scale_ = 0;
  Format format_ = Format::kNone;
  std::shared_ptr<const BigDecimal> big_;
  std::string spelling_;
};

}  // namespace plimsoll

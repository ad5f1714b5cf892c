#pragma once
// An exact Kubernetes quantity (k8s.io/apimachinery, resource.Quantity): a whole number of nanos,
// which is the finest that Kubernetes keeps. Pure; any thread.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::dra {

class Quantity {
 public:
  using Nanos = __int128;
  // How it is written: "1Gi", "1k", "1e3".
  enum class Format : uint8_t { kBinary, kDecimal, kExponent };

  constexpr Quantity() = default;
  constexpr Quantity(Nanos nanos, Format format) : nanos_(nanos), format_(format) {}
  [[nodiscard]] static Quantity whole(int64_t units);

  // Nothing: the text is not a quantity. What is finer than a nano is rounded away from zero;
  // values beyond int64 saturate, as ParseQuantity does.
  [[nodiscard]] static std::optional<Quantity> parse(std::string_view text);

  [[nodiscard]] constexpr Nanos nanos() const { return nanos_; }
  [[nodiscard]] constexpr Format format() const { return format_; }
  // The whole number, if Kubernetes keeps it as one (Quantity.AsInt64): not if it was written with
  // a fraction that the suffix does not take up ("1000m", "1.5Gi").
  [[nodiscard]] std::optional<int64_t> kept_whole() const;
  // The sum, or with a sign of -1 the difference, with this one's format; saturates.
  [[nodiscard]] Quantity plus(const Quantity& other, int sign = 1) const;
  // The product, rounded up to a nano, with this one's format; saturates.
  [[nodiscard]] Quantity times(const Quantity& factor) const;
  // In the canonical form of its format, as Quantity.String writes it.
  [[nodiscard]] std::string text() const;

  // By value; the format does not count.
  friend constexpr bool operator==(const Quantity& a, const Quantity& b) {
    return a.nanos_ == b.nanos_;
  }
  friend constexpr auto operator<=>(const Quantity& a, const Quantity& b) {
    return a.nanos_ <=> b.nanos_;
  }

 private:
  Nanos nanos_ = 0;
  Format format_ = Format::kDecimal;
  bool fraction_ = false;  // kept as a fraction, though the value may be whole
};

}  // namespace plimsoll::dra

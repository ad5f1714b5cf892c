// Quantities: a parsed number is printed and parsed again as the same number, sums are exact, and
// the three readers (the scheduler's, and the SDK's with both units) agree.

#include "framework/api/quantity.hpp"

#include <plimsoll/quantity.hpp>

#include <cstdlib>
#include <string>

#include "fuzz/target.hpp"

namespace plimsoll::fuzz {

void quantity(std::string_view input) {
  const std::string_view first = take_part(input);
  (void)Quantity::parse_json(first);
  const auto a = Quantity::parse(first);
  const auto whole = sdk::parse_quantity(first, sdk::QuantityUnit::kWhole);
  const auto milli = sdk::parse_quantity(first, sdk::QuantityUnit::kMilli);
  if (!a) {
    require(!a.error().message.empty(), "an error says something");
    return require(first.size() <= Quantity::kMaxLength ? !whole && !milli : true,
                   "the SDK reads what Kubernetes reads: ", first);
  }
  // For a negative number beyond int64, Kubernetes returns the low bits of its big integer.
  int64_t small = 0;
  const bool plain = a->sign() >= 0 || (a->as_int64(&small) && small > -1'000'000'000'000);
  if (whole && plain) require(*whole == a->value(), "the SDK's value of ", first);
  if (milli && plain) require(*milli == a->milli_value(), "the SDK's milli value of ", first);
  const std::string canonical = a->canonical();
  const auto again = Quantity::parse(canonical);
  require(again.has_value(), canonical, " is read again");
  // An exponent that was clamped when it was parsed may be printed beyond that limit, and is then
  // clamped again.
  const size_t e = canonical.find('e');
  if (e == canonical.npos ||
      std::abs(std::stol(canonical.substr(e + 1))) <= Quantity::kMaxExponent) {
    require(again->cmp(*a) == 0, canonical, " is the same number");
    require(again->canonical() == canonical, canonical, " is canonical");
  }
  require(a->sign() == again->sign() && (a->sign() == 0) == a->is_zero(), "the sign stays");
  (void)a->approximate_double();
  if (a->as_int64(&small)) require(small == a->value(), "a whole number is its value");
  (void)Quantity::parse_json(a->json()).value();

  const auto b = Quantity::parse(take_part(input));
  if (!b) return;
  Quantity sum = *a;
  sum.add(*b);
  Quantity other = *b;
  other.add(*a);
  require(sum.cmp(other) == 0, "a + b is b + a");
  sum.sub(*b);
  require(sum.cmp(*a) == 0, "a + b - b is a: ", a->text(), " and ", b->text());
  Quantity negative = *a;
  negative.negate();
  require(negative.sign() == -a->sign(), "-a has the other sign");
  require(a->cmp(*b) == -b->cmp(*a), "an order has two directions");
}

}  // namespace plimsoll::fuzz

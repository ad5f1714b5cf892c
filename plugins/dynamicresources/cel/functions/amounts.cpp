// Functions of Kubernetes' quantities and versions.
#include <limits>

#include "plugins/dynamicresources/cel/functions/functions.hpp"

namespace plimsoll::dra::cel {
namespace {

int sign_of(std::strong_ordering order) {
  return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

// --- quantities ---

Value is_quantity(Run& run, Arguments a) {
  if (!run.charge(1 + a[0].text.size())) return Run::out_of_steps();
  return Value::of_bool(Quantity::parse(a[0].text).has_value());
}

Value to_quantity(Run& run, Arguments a) {
  if (!run.charge(1 + a[0].text.size())) return Run::out_of_steps();
  const auto parsed = Quantity::parse(a[0].text);
  return parsed ? Value::of_quantity(run.one(*parsed))
                : Value::of_error("unable to parse quantity");
}

int order_of_quantities(Arguments a) {
  return sign_of(*a[0].quantity <=> *a[1].quantity);
}

Value sign_of_quantity(Run&, Arguments a) {
  return Value::of_int(sign_of(a[0].quantity->nanos() <=> 0));
}

Value as_double(Run&, Arguments a) {
  constexpr long double kNanos = 1e9L;
  return Value::of_double(
      static_cast<double>(static_cast<long double>(a[0].quantity->nanos()) / kNanos));
}

Value is_whole(Run&, Arguments a) {
  return Value::of_bool(a[0].quantity->kept_whole().has_value());
}

Value as_integer(Run&, Arguments a) {
  const auto whole = a[0].quantity->kept_whole();
  return whole ? Value::of_int(*whole) : Value::of_error("cannot convert value to integer");
}

// The second may be an int. apimachinery takes the least of all away as if it added it, as an int64
// has no such number, unless the sum is none either.
template <int sign>
Value added(Run& run, Arguments a) {
  const bool is_int = a[1].kind == Kind::kInt;
  const bool is_least = is_int && a[1].integer == std::numeric_limits<int64_t>::min();
  const bool wraps = sign < 0 && is_least && a[0].quantity->kept_whole().value_or(-1) >= 0;
  const Quantity other = is_int ? Quantity::whole(a[1].integer) : *a[1].quantity;
  Value sum = Value::of_quantity(run.one(a[0].quantity->plus(other, wraps ? 1 : sign)));
  sum.computed = true;
  return sum;
}

template <int (*order_of)(Arguments), int wanted>
Value has_order(Run&, Arguments a) {
  return Value::of_bool(order_of(a) == wanted);
}

template <int (*order_of)(Arguments)>
Value order_as_int(Run&, Arguments a) {
  return Value::of_int(order_of(a));
}

constexpr Function kQuantities[] = {
    {"quantity", "(string) quantity", to_quantity},
    {"isQuantity", "(string) bool", is_quantity},
    {"sign", "(quantity) int", sign_of_quantity},
    {"isGreaterThan", "quantity.(quantity) bool", has_order<order_of_quantities, 1>},
    {"isLessThan", "quantity.(quantity) bool", has_order<order_of_quantities, -1>},
    {"compareTo", "quantity.(quantity) int", order_as_int<order_of_quantities>},
    {"asApproximateFloat", "quantity.() double", as_double},
    {"asInteger", "quantity.() int", as_integer},
    {"isInteger", "quantity.() bool", is_whole},
    {"add", "quantity.(quantity) quantity|quantity.(int) quantity", added<1>},
    {"sub", "quantity.(quantity) quantity|quantity.(int) quantity", added<-1>},
};

// --- versions ---

std::optional<Semver> version_of(Arguments a) {
  const bool lenient = a.size() > 1 && a[1].boolean;
  return lenient ? Semver::parse_lenient(a[0].text) : Semver::parse(a[0].text);
}

Value is_semver(Run& run, Arguments a) {
  if (!run.charge_text(a[0].text.size() * 8)) return Run::out_of_steps();
  return Value::of_bool(version_of(a).has_value());
}

Value to_semver(Run& run, Arguments a) {
  if (!run.charge_text(a[0].text.size() * 8)) return Run::out_of_steps();
  auto version = version_of(a);
  return version ? Value::of_semver(run.semver(std::move(*version)))
                 : Value::of_error("No Major.Minor.Patch elements found");
}

int order_of_versions(Arguments a) {
  return sign_of(*a[0].semver <=> *a[1].semver);
}

template <uint64_t Semver::*number>
Value number_in(Run&, Arguments a) {
  return Value::of_int(static_cast<int64_t>(a[0].semver->*number));
}

constexpr Function kVersions[] = {
    {"semver", "(string) semver|(string, bool) semver", to_semver},
    {"isSemver", "(string) bool|(string, bool) bool", is_semver},
    {"isGreaterThan", "semver.(semver) bool", has_order<order_of_versions, 1>},
    {"isLessThan", "semver.(semver) bool", has_order<order_of_versions, -1>},
    {"compareTo", "semver.(semver) int", order_as_int<order_of_versions>},
    {"major", "semver.() int", number_in<&Semver::major>},
    {"minor", "semver.() int", number_in<&Semver::minor>},
    {"patch", "semver.() int", number_in<&Semver::patch>},
};

}  // namespace

std::span<const Function> quantity_functions() {
  return kQuantities;
}
std::span<const Function> version_functions() {
  return kVersions;
}

}  // namespace plimsoll::dra::cel

// Operators, and conversions between types.
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "plugins/dynamicresources/cel/functions/functions.hpp"
#include "plugins/dynamicresources/cel/text/numbers.hpp"
#include "plugins/dynamicresources/cel/text/points.hpp"

namespace plimsoll::dra::cel {
namespace {

constexpr std::string_view kIntOverflow = "integer overflow",
                           kUintOverflow = "unsigned integer overflow";

// By reference: the value is computed in the same call.
Value int_or_overflow(bool overflow, const int64_t& value) {
  return overflow ? Value::of_error(kIntOverflow) : Value::of_int(value);
}

Value uint_or_overflow(bool overflow, const uint64_t& value) {
  return overflow ? Value::of_error(kUintOverflow) : Value::of_uint(value);
}

Value joined_text(Run& run, const Value& a, const Value& b) {
  const size_t size = a.text.size() + b.text.size();
  if (!run.charge_text(size)) return Run::out_of_steps();
  std::string both;
  both.reserve(size);
  Value joined = a;
  joined.text = run.keep(both.append(a.text).append(b.text));
  return joined;
}

Value joined_lists(Run& run, const Value& a, const Value& b) {
  if (a.list->items.empty()) return b;
  if (b.list->items.empty()) return a;
  const auto items = run.room<Value>(a.list->items.size() + b.list->items.size());
  if (items.empty()) return Run::out_of_steps();
  const auto end = std::copy(a.list->items.begin(), a.list->items.end(), items.begin());
  std::copy(b.list->items.begin(), b.list->items.end(), end);
  return run.list(items, true);
}

Value plus(Run& run, Arguments a) {
  int64_t sum = 0;
  uint64_t natural = 0;
  switch (a[0].kind) {
    case Kind::kInt:
      return int_or_overflow(__builtin_add_overflow(a[0].integer, a[1].integer, &sum), sum);
    case Kind::kUint:
      return uint_or_overflow(__builtin_add_overflow(a[0].natural, a[1].natural, &natural),
                              natural);
    case Kind::kDouble:
      return Value::of_double(a[0].real + a[1].real);
    case Kind::kList:
      return joined_lists(run, a[0], a[1]);
    default:
      return joined_text(run, a[0], a[1]);
  }
}

Value minus(Run&, Arguments a) {
  if (a[0].kind == Kind::kDouble) return Value::of_double(a[0].real - a[1].real);
  int64_t rest = 0;
  uint64_t natural = 0;
  if (a[0].kind == Kind::kInt)
    return int_or_overflow(__builtin_sub_overflow(a[0].integer, a[1].integer, &rest), rest);
  return uint_or_overflow(__builtin_sub_overflow(a[0].natural, a[1].natural, &natural), natural);
}

Value times(Run&, Arguments a) {
  if (a[0].kind == Kind::kDouble) return Value::of_double(a[0].real * a[1].real);
  int64_t product = 0;
  uint64_t natural = 0;
  if (a[0].kind == Kind::kInt)
    return int_or_overflow(__builtin_mul_overflow(a[0].integer, a[1].integer, &product), product);
  return uint_or_overflow(__builtin_mul_overflow(a[0].natural, a[1].natural, &natural), natural);
}

bool is_zero_divisor(const Value& value) {
  return value.kind == Kind::kInt ? value.integer == 0 : value.natural == 0;
}

bool overflows_divided(Arguments a) {
  return a[0].kind == Kind::kInt && a[0].integer == std::numeric_limits<int64_t>::min() &&
         a[1].integer == -1;
}

Value divided(Run&, Arguments a) {
  if (a[0].kind == Kind::kDouble) return Value::of_double(a[0].real / a[1].real);
  if (is_zero_divisor(a[1])) return Value::of_error("division by zero");
  if (overflows_divided(a)) return Value::of_error(kIntOverflow);
  return a[0].kind == Kind::kInt ? Value::of_int(a[0].integer / a[1].integer)
                                 : Value::of_uint(a[0].natural / a[1].natural);
}

Value modulo(Run&, Arguments a) {
  if (is_zero_divisor(a[1])) return Value::of_error("modulus by zero");
  if (overflows_divided(a)) return Value::of_error(kIntOverflow);
  return a[0].kind == Kind::kInt ? Value::of_int(a[0].integer % a[1].integer)
                                 : Value::of_uint(a[0].natural % a[1].natural);
}

Value negated(Run&, Arguments a) {
  if (a[0].kind == Kind::kDouble) return Value::of_double(-a[0].real);
  int64_t negative = 0;
  return int_or_overflow(__builtin_sub_overflow(int64_t{0}, a[0].integer, &negative), negative);
}

Value inverted(Run&, Arguments a) {
  return Value::of_bool(!a[0].boolean);
}

Value equals(Run& run, Arguments a) {
  return equal_or_null(run, a[0], a[1]);
}

// What cannot be compared differs, though it is an error to ask whether it is equal.
Value differs(Run& run, Arguments a) {
  return Value::of_bool(!equals(run, a).is_bool(true));
}

// Is the order of the two one of these?
template <bool less, bool same, bool more>
Value ordered(Run& run, Arguments a) {
  const Value order = compare(run, a[0], a[1]);
  if (order.is_error()) return order;
  return Value::of_bool(order.integer < 0 ? less : (order.integer == 0 ? same : more));
}

Value is_in(Run& run, Arguments a) {
  if (a[1].kind == Kind::kMap) return Value::of_bool(has_key(run, *a[1].map, a[0]));
  for (const Value& item : a[1].list->items)
    if (is_equal(run, a[0], item)) return Value::of_bool(true);
  return Value::of_bool(false);
}

Value indexed(Run& run, Arguments a) {
  return index(run, a[0], a[1], false);
}
Value index_if_there(Run& run, Arguments a) {
  return index(run, a[0], a[1], true);
}
Value never(Run&, Arguments) {
  return no_such_overload();
}

constexpr std::string_view kOrderedPairs =
    "(bool, bool) bool|(string, string) bool|(bytes, bytes) bool|(int, int) bool|(int, uint) bool|"
    "(int, double) bool|(uint, uint) bool|(uint, int) bool|(uint, double) bool|"
    "(double, double) bool|(double, int) bool|(double, uint) bool|(duration, duration) bool|"
    "(timestamp, timestamp) bool";
constexpr std::string_view kNumbers = "(int, int) int|(uint, uint) uint|(double, double) double";
constexpr std::string_view kIndices =
    "(list(A), int) A|(map(A, B), A) B|(optional(list(A)), int) optional(A)|"
    "(optional(map(A, B)), A) optional(B)";
constexpr std::string_view kOptionalIndices =
    "(list(A), int) optional(A)|(optional(list(A)), int) optional(A)|"
    "(map(A, B), A) optional(B)|(optional(map(A, B)), A) optional(B)";

constexpr Function kOperators[] = {
    {"_+_",
     "(bytes, bytes) bytes|(S, S) S|(list(A), list(A)) list(A)|(string, string) string|"
     "(timestamp, duration) timestamp|(duration, timestamp) timestamp",
     plus},
    {"_-_", "(S, S) S|(timestamp, duration) timestamp|(timestamp, timestamp) duration", minus},
    {"_*_", kNumbers, times},
    {"_/_", kNumbers, divided},
    {"_%_", "(int, int) int|(uint, uint) uint", modulo},
    {"-_", "(double) double|(int) int", negated},
    {"!_", "(bool) bool", inverted},
    {"_==_", "(A, A) bool", equals},
    {"_!=_", "(A, A) bool", differs},
    {"_<_", kOrderedPairs, ordered<true, false, false>},
    {"_<=_", kOrderedPairs, ordered<true, true, false>},
    {"_>_", kOrderedPairs, ordered<false, false, true>},
    {"_>=_", kOrderedPairs, ordered<false, true, true>},
    {"@in", "(A, list(A)) bool|(A, map(A, B)) bool", is_in},
    // Computed by the interpreter.
    {"_[_]", kIndices, indexed},
    {"_[?_]", kOptionalIndices, index_if_there},
    {"_?_:_", "(bool, A, A) A", never},
};

// --- conversions ---

Value not_convertible(Run& run, const Value& value, std::string_view type) {
  return run.fail("type conversion error from '" + std::string(name_of(value.kind)) + "' to '" +
                  std::string(type) + "'");
}

Value to_type(Run&, Arguments a) {
  return Value::of_type(name_of(a[0].kind));
}

Value to_dyn(Run&, Arguments a) {
  return a[0];
}

Value to_bool(Run& run, Arguments a) {
  if (a[0].kind == Kind::kBool) return a[0];
  for (std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"})
    if (a[0].text == yes) return Value::of_bool(true);
  for (std::string_view no : {"0", "f", "F", "FALSE", "false", "False"})
    if (a[0].text == no) return Value::of_bool(false);
  return not_convertible(run, a[0], "bool");
}

Value to_bytes(Run&, Arguments a) {
  return Value::of_bytes(a[0].text);
}

Value to_double(Run& run, Arguments a) {
  switch (a[0].kind) {
    case Kind::kDouble:
      return a[0];
    case Kind::kInt:
      return Value::of_double(static_cast<double>(a[0].integer));
    case Kind::kUint:
      return Value::of_double(static_cast<double>(a[0].natural));
    default:
      break;
  }
  if (!run.charge_text(a[0].text.size())) return Run::out_of_steps();
  const auto value = double_of(a[0].text);
  return value ? Value::of_double(*value) : not_convertible(run, a[0], "double");
}

Value int_of_double(double value) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  const bool fits = value > -kTwoTo63 && value < kTwoTo63;  // not NaN, either
  return fits ? Value::of_int(static_cast<int64_t>(value)) : Value::of_error(kIntOverflow);
}

Value to_int(Run& run, Arguments a) {
  if (a[0].kind == Kind::kInt) return a[0];
  if (a[0].kind == Kind::kDouble) return int_of_double(a[0].real);
  if (a[0].kind == Kind::kUint)
    return int_or_overflow(a[0].natural >> 63 != 0, static_cast<int64_t>(a[0].natural));
  std::string_view text = a[0].text;
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto value = int_of<int64_t>(text);
  return value ? Value::of_int(*value) : not_convertible(run, a[0], "int");
}

Value uint_of_double(double value) {
  constexpr double kTwoTo64 = 18446744073709551616.0;
  return value >= 0 && value < kTwoTo64 ? Value::of_uint(static_cast<uint64_t>(value))
                                        : Value::of_error(kUintOverflow);
}

Value to_uint(Run& run, Arguments a) {
  if (a[0].kind == Kind::kUint) return a[0];
  if (a[0].kind == Kind::kDouble) return uint_of_double(a[0].real);
  if (a[0].kind == Kind::kInt)
    return uint_or_overflow(a[0].integer < 0, static_cast<uint64_t>(a[0].integer));
  const auto value = int_of<uint64_t>(a[0].text);
  return value ? Value::of_uint(*value) : not_convertible(run, a[0], "uint");
}

Value string_of_bytes(Run& run, const Value& bytes) {
  if (!run.charge_text(bytes.text.size())) return Run::out_of_steps();
  return is_utf8(bytes.text) ? Value::of_string(bytes.text)
                             : Value::of_error("invalid UTF-8 in bytes, cannot convert to string");
}

Value to_string(Run& run, Arguments a) {
  switch (a[0].kind) {
    case Kind::kString:
      return a[0];
    case Kind::kBool:
      return Value::of_string(a[0].boolean ? "true" : "false");
    case Kind::kInt:
      return run.string(std::to_string(a[0].integer));
    case Kind::kUint:
      return run.string(std::to_string(a[0].natural));
    case Kind::kDouble:
      return run.string(text_of(a[0].real));
    default:
      return string_of_bytes(run, a[0]);
  }
}

constexpr Function kConversions[] = {
    {"type", "(A) type(A)", to_type},
    {"dyn", "(A) dyn", to_dyn},
    {"bool", "(bool) bool|(string) bool", to_bool},
    {"bytes", "(bytes) bytes|(string) bytes", to_bytes},
    {"double", "(double) double|(int) double|(string) double|(uint) double", to_double},
    {"int", "(int) int|(double) int|(string) int|(uint) int", to_int},
    {"uint", "(uint) uint|(double) uint|(int) uint|(string) uint", to_uint},
    {"string",
     "(string) string|(bool) string|(bytes) string|(double) string|(int) string|(uint) string",
     to_string},
};

}  // namespace

std::span<const Function> operators() {
  return kOperators;
}
std::span<const Function> conversions() {
  return kConversions;
}

}  // namespace plimsoll::dra::cel

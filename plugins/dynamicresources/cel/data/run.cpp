#include "plugins/dynamicresources/cel/data/run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plimsoll::dra::cel {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;
constexpr double kTwoTo64 = 18446744073709551616.0;

int order(auto a, auto b) {
  return a < b ? -1 : (a > b ? 1 : 0);
}

int order_int_uint(int64_t a, uint64_t b) {
  return a < 0 ? -1 : order(static_cast<uint64_t>(a), b);
}

int order_double_int(double a, int64_t b) {
  return a < -kTwoTo63 ? -1 : (a > kTwoTo63 ? 1 : order(a, static_cast<double>(b)));
}

int order_double_uint(double a, uint64_t b) {
  return a < 0 ? -1 : (a > kTwoTo64 ? 1 : order(a, static_cast<double>(b)));
}

bool is_nan(const Value& value) {
  return value.kind == Kind::kDouble && std::isnan(value.real);
}

// Neither is NaN.
int order_numbers(const Value& a, const Value& b) {
  if (a.kind == b.kind) {
    if (a.kind == Kind::kInt) return order(a.integer, b.integer);
    return a.kind == Kind::kUint ? order(a.natural, b.natural) : order(a.real, b.real);
  }
  if (b.kind < a.kind) return -order_numbers(b, a);
  if (b.kind == Kind::kUint) return order_int_uint(a.integer, b.natural);
  return a.kind == Kind::kInt ? -order_double_int(b.real, a.integer)
                              : -order_double_uint(b.real, a.natural);
}

Value equal_lists(Run& run, const List& a, const List& b) {
  if (a.items.size() != b.items.size()) return Value::of_bool(false);
  Value error;
  for (size_t i = 0; i < a.items.size(); ++i) {
    const Value same = equal_or_null(run, a.items[i], b.items[i]);
    if (run.spent() || same.is_bool(false)) return same;
    if (same.is_error() && !error.is_error()) error = same;
  }
  // Elements that cannot be compared pass for equal, except in lists that + made.
  return a.joined && error.is_error() ? error : Value::of_bool(true);
}

Value equal_maps(Run& run, const Map& a, const Map& b) {
  if (size_of(run, a) != size_of(run, b)) return Value::of_bool(false);
  for (const Value& key : keys_of(run, a)) {
    const Value* mine = find(run, a, key);
    const Value* other = find(run, b, key);
    if (mine == nullptr || other == nullptr) return Value::of_bool(false);
    const Value same = equal_or_null(run, *mine, *other);
    if (run.spent() || same.is_bool(false)) return same;
  }
  return Value::of_bool(true);
}

Value equal_optionals(Run& run, const Value* a, const Value* b) {
  if (a == nullptr || b == nullptr) return Value::of_bool(a == b);
  return equal(run, *a, *b);
}

// Both are of this kind, which is not that of numbers.
Value equal_alike(Run& run, const Value& a, const Value& b) {
  switch (a.kind) {
    case Kind::kBool:
      return Value::of_bool(a.boolean == b.boolean);
    case Kind::kString:
    case Kind::kBytes:
      run.charge_text(std::min(a.text.size(), b.text.size()));
      return Value::of_bool(a.text == b.text);
    case Kind::kList:
      return equal_lists(run, *a.list, *b.list);
    case Kind::kMap:
      return equal_maps(run, *a.map, *b.map);
    case Kind::kOptional:
      return equal_optionals(run, a.optional, b.optional);
    case Kind::kQuantity:
      return b.computed ? no_such_overload() : Value::of_bool(*a.quantity == *b.quantity);
    case Kind::kSemver:
      return Value::of_bool(*a.semver == *b.semver);
    case Kind::kType:
      return Value::of_bool(a.type == b.type);
    default:
      return Value::of_bool(true);
  }
}

}  // namespace

std::string_view name_of(Kind kind) {
  constexpr std::string_view kNames[] = {"!error!",
                                         "dyn",
                                         "null_type",
                                         "bool",
                                         "int",
                                         "uint",
                                         "double",
                                         "string",
                                         "bytes",
                                         "list",
                                         "map",
                                         "optional_type",
                                         "kubernetes.Quantity",
                                         "kubernetes.Semver",
                                         "type",
                                         "kubernetes.DRADevice",
                                         "google.protobuf.Duration",
                                         "google.protobuf.Timestamp",
                                         "dyn"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view Run::keep(std::string_view text) {
  charge_text(text.size());
  if (spent() || text.empty()) return {};
  auto* copy = static_cast<char*>(memory_.allocate(text.size(), 1));
  std::copy(text.begin(), text.end(), copy);
  return {copy, text.size()};
}

const Semver* Run::semver(Semver value) {
  return semvers_.emplace_back(std::make_unique<const Semver>(std::move(value))).get();
}

Value equal(Run& run, const Value& a, const Value& b) {
  const Run::Level level(run);
  if (!run.charge(1)) return Run::out_of_steps();
  if (a.is_number() && b.is_number())
    return Value::of_bool(!is_nan(a) && !is_nan(b) && order_numbers(a, b) == 0);
  if (a.kind == b.kind) return equal_alike(run, a, b);
  const bool strict = a.kind == Kind::kQuantity || a.kind == Kind::kSemver;
  return strict ? no_such_overload() : Value::of_bool(false);
}

Value equal_or_null(Run& run, const Value& a, const Value& b) {
  if (a.kind == Kind::kNull || b.kind == Kind::kNull) return Value::of_bool(a.kind == b.kind);
  return equal(run, a, b);
}

Value compare(Run& run, const Value& a, const Value& b) {
  if (is_nan(a) || is_nan(b)) return Value::of_error("NaN values cannot be ordered");
  if (a.is_number() && b.is_number()) return Value::of_int(order_numbers(a, b));
  if (a.kind != b.kind) return no_such_overload();
  if (a.kind == Kind::kBool) return Value::of_int(order(a.boolean, b.boolean));
  if (a.kind != Kind::kString && a.kind != Kind::kBytes) return no_such_overload();
  if (!run.charge_text(std::min(a.text.size(), b.text.size()))) return Run::out_of_steps();
  return Value::of_int(order(a.text, b.text));
}

}  // namespace plimsoll::dra::cel

// Functions of lists, maps, sets and optional values.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "plugins/dynamicresources/cel/functions/functions.hpp"

namespace plimsoll::dra::cel {
namespace {

std::span<const Value> items_of(const Value& list) {
  return list.list->items;
}

int64_t signed_size(std::span<const Value> items) {
  return static_cast<int64_t>(items.size());
}

Value list_of(Run& run, const std::vector<Value>& values) {
  const auto items = run.room<Value>(values.size());
  if (items.size() != values.size()) return Run::out_of_steps();
  std::copy(values.begin(), values.end(), items.begin());
  return run.list(items);
}

Value size_of_container(Run& run, Arguments a) {
  return Value::of_int(a[0].kind == Kind::kMap ? static_cast<int64_t>(size_of(run, *a[0].map))
                                               : signed_size(items_of(a[0])));
}

Value slice(Run& run, Arguments a) {
  const auto items = items_of(a[0]);
  const int64_t begin = a[1].integer, end = a[2].integer;
  if (begin < 0 || end < begin || end > signed_size(items))
    return run.fail("cannot slice(" + std::to_string(begin) + ", " + std::to_string(end) + ")");
  return run.list(items.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
}

void flatten_into(Run& run, std::vector<Value>& flat, std::span<const Value> items, int64_t depth) {
  for (const Value& item : items) {
    if (!run.charge(1)) return;
    if (item.kind == Kind::kList && depth > 0)
      flatten_into(run, flat, items_of(item), depth - 1);
    else
      flat.push_back(item);
  }
}

Value flatten(Run& run, Arguments a) {
  const int64_t depth = a.size() > 1 ? a[1].integer : 1;
  if (depth < 0) return Value::of_error("level must be non-negative");
  std::vector<Value> flat;
  flatten_into(run, flat, items_of(a[0]), depth);
  return list_of(run, flat);
}

// A merge sort, so that steps that run out do no harm.
Value sort(Run& run, Arguments a) {
  std::vector<Value> sorted(items_of(a[0]).begin(), items_of(a[0]).end());
  const auto alike = [&](const Value& item) { return item.kind == sorted[0].kind; };
  if (!std::all_of(sorted.begin(), sorted.end(), alike))
    return Value::of_error("list elements must have the same type");
  const size_t size = sorted.size();
  if (!run.charge(size * static_cast<size_t>(std::numeric_limits<size_t>::digits -
                                             __builtin_clzl(size | 1))))
    return Run::out_of_steps();
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Value& x, const Value& y) {
    const Value order = compare(run, x, y);
    return !order.is_error() && order.integer < 0;
  });
  return list_of(run, sorted);
}

Value range(Run& run, Arguments a) {
  if (a[0].integer < 0 || a[0].integer > Run::kMostSteps)
    return Value::of_error("lists.range: the size is not allowed");
  const auto items = run.room<Value>(static_cast<size_t>(a[0].integer));
  for (size_t i = 0; i < items.size(); ++i) items[i] = Value::of_int(static_cast<int64_t>(i));
  return run.list(items);
}

Value reversed(Run& run, Arguments a) {
  std::vector<Value> values(items_of(a[0]).rbegin(), items_of(a[0]).rend());
  return list_of(run, values);
}

// Where in the items an equal value stands; npos: nowhere.
size_t place_among(Run& run, std::span<const Value> items, const Value& value) {
  for (size_t i = 0; i < items.size() && !run.spent(); ++i)
    if (is_equal(run, items[i], value)) return i;
  return std::string::npos;
}

Value distinct(Run& run, Arguments a) {
  std::vector<Value> seen;
  for (const Value& item : items_of(a[0])) {
    const auto same = [&](const Value& other) { return is_equal(run, item, other); };
    if (run.spent()) return Run::out_of_steps();
    if (std::none_of(seen.begin(), seen.end(), same)) seen.push_back(item);
  }
  return list_of(run, seen);
}

// cel-go: traits.Comparer. Types are checked before, but for what is dyn.
bool has_order(const Value& value) {
  return value.is_number() || value.kind == Kind::kBool || value.kind == Kind::kString ||
         value.kind == Kind::kBytes;
}

Value is_sorted(Run& run, Arguments a) {
  const auto items = items_of(a[0]);
  for (size_t i = 0; i < items.size(); ++i) {
    if (!run.charge(1)) return Run::out_of_steps();
    if (!has_order(items[i])) return no_such_overload();
    if (i == 0) continue;
    const Value order = compare(run, items[i - 1], items[i]);
    if (!order.is_error() && order.integer > 0) return Value::of_bool(false);
  }
  return Value::of_bool(true);
}

Value sum(Run& run, Arguments a) {
  const auto items = items_of(a[0]);
  Value total = Value::of_int(0);
  if (!items.empty() && items[0].kind == Kind::kUint) total = Value::of_uint(0);
  if (!items.empty() && items[0].kind == Kind::kDouble) total = Value::of_double(0);
  const Compute plus = operators()[0].compute;
  for (const Value& item : items) {
    if (!run.charge(1)) return Run::out_of_steps();
    if (item.kind != total.kind) return no_such_overload();
    const Value both[] = {total, item};
    total = plus(run, std::span(both));
    if (total.is_error()) break;
  }
  return total;
}

// The first that nothing is on the other side of: `sign` -1 for the greatest, 1 for the least.
template <int sign>
Value extreme(Run& run, Arguments a) {
  const auto items = items_of(a[0]);
  if (items.empty()) return Value::of_error("min or max called on empty list");
  Value best = items[0];
  for (const Value& item : items) {
    if (!run.charge(1)) return Run::out_of_steps();
    if (!has_order(item)) return no_such_overload();
    const Value order = compare(run, best, item);
    if (!order.is_error() && order.integer == sign) best = item;
  }
  return best;
}

Value index_of_item(Run& run, Arguments a) {
  const size_t place = place_among(run, items_of(a[0]), a[1]);
  return Value::of_int(place == std::string::npos ? -1 : static_cast<int64_t>(place));
}

Value last_index_of_item(Run& run, Arguments a) {
  const auto items = items_of(a[0]);
  for (size_t i = items.size(); i > 0 && !run.spent(); --i)
    if (is_equal(run, items[i - 1], a[1])) return Value::of_int(static_cast<int64_t>(i) - 1);
  return Value::of_int(-1);
}

Value includes(Run& run, Arguments a) {
  if (a[0].kind != Kind::kList) return Value::of_bool(is_equal(run, a[0], a[1]));
  return Value::of_bool(place_among(run, items_of(a[0]), a[1]) != std::string::npos);
}

// --- sets ---

// As the operator `in`: the element is compared with those of the list, not the other way round.
bool is_among(Run& run, std::span<const Value> items, const Value& value) {
  return std::any_of(items.begin(), items.end(),
                     [&](const Value& item) { return !run.spent() && is_equal(run, value, item); });
}

bool has_all(Run& run, std::span<const Value> items, std::span<const Value> wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const Value& value) { return is_among(run, items, value); });
}

Value set_contains(Run& run, Arguments a) {
  return Value::of_bool(has_all(run, items_of(a[0]), items_of(a[1])));
}

Value set_equivalent(Run& run, Arguments a) {
  return Value::of_bool(has_all(run, items_of(a[0]), items_of(a[1])) &&
                        has_all(run, items_of(a[1]), items_of(a[0])));
}

Value set_intersects(Run& run, Arguments a) {
  const auto others = items_of(a[1]);
  const auto common = [&](const Value& item) { return is_among(run, others, item); };
  return Value::of_bool(std::any_of(items_of(a[0]).begin(), items_of(a[0]).end(), common));
}

constexpr std::string_view kTwoSets = "(list(A), list(A)) bool";

constexpr Function kLists[] = {
    {"size", "(list(A)) int|list(A).() int|(map(A, B)) int|map(A, B).() int", size_of_container},
    {"slice", "list(A).(int, int) list(A)", slice},
    {"flatten", "list(list(A)).() list(A)|list(dyn).(int) list(dyn)", flatten},
    {"sort", "list(C).() list(C)", sort},
    {"lists.range", "(int) list(int)", range},
    {"reverse", "list(A).() list(A)", reversed},
    {"distinct", "list(A).() list(A)", distinct},
    {"isSorted", "list(C).() bool", is_sorted},
    {"sum", "list(S).() S", sum},
    {"min", "list(C).() C", extreme<1>},
    {"max", "list(C).() C", extreme<-1>},
    {"indexOf", "list(A).(A) int", index_of_item},
    {"lastIndexOf", "list(A).(A) int", last_index_of_item},
    {"includes", "dyn.(dyn) bool", includes},
    {"sets.contains", kTwoSets, set_contains},
    {"sets.equivalent", kTwoSets, set_equivalent},
    {"sets.intersects", kTwoSets, set_intersects},
};

// --- optional values ---

Value some(Run& run, Arguments a) {
  return Value::of_optional(run.one(a[0]));
}
Value none(Run&, Arguments) {
  return Value::of_optional(nullptr);
}

bool is_zero(Run& run, const Value& value) {
  switch (value.kind) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return !value.boolean;
    case Kind::kInt:
      return value.integer == 0;
    case Kind::kUint:
      return value.natural == 0;
    case Kind::kDouble:
      return value.real == 0;
    case Kind::kString:
    case Kind::kBytes:
      return value.text.empty();
    case Kind::kList:
      return items_of(value).empty();
    case Kind::kMap:
      return size_of(run, *value.map) == 0;
    default:
      return false;
  }
}

Value some_if_not_zero(Run& run, Arguments a) {
  return is_zero(run, a[0]) ? none(run, a) : some(run, a);
}

Value value_of_optional(Run&, Arguments a) {
  return a[0].optional != nullptr ? *a[0].optional : Value::of_error("optional.none() dereference");
}

Value has_value(Run&, Arguments a) {
  return Value::of_bool(a[0].optional != nullptr);
}

Value first(Run& run, Arguments a) {
  const auto items = items_of(a[0]);
  return items.empty() ? none(run, a) : some(run, items.first(1));
}

Value last(Run& run, Arguments a) {
  const auto items = items_of(a[0]);
  return items.empty() ? none(run, a) : some(run, items.last(1));
}

Value unwrapped(Run& run, Arguments a) {
  std::vector<Value> there;
  for (const Value& item : items_of(a[0])) {
    if (item.kind != Kind::kOptional) return Value::of_error("value is not optional");
    if (item.optional != nullptr) there.push_back(*item.optional);
  }
  return list_of(run, there);
}

Value either(Run&, Arguments a) {
  return a[0].optional != nullptr ? a[0] : a[1];
}
Value value_or(Run&, Arguments a) {
  return a[0].optional != nullptr ? *a[0].optional : a[1];
}

constexpr Function kOptionals[] = {
    {"optional.of", "(A) optional(A)", some},
    {"optional.ofNonZeroValue", "(A) optional(A)", some_if_not_zero},
    {"optional.none", "() optional(A)", none},
    {"value", "optional(A).() A", value_of_optional},
    {"hasValue", "optional(A).() bool", has_value},
    {"or", "optional(A).(optional(A)) optional(A)", either},
    {"orValue", "optional(A).(A) A", value_or},
    {"first", "list(A).() optional(A)", first},
    {"last", "list(A).() optional(A)", last},
    {"optional.unwrap", "(list(optional(A))) list(A)", unwrapped},
    {"unwrapOpt", "list(optional(A)).() list(A)", unwrapped},
};

}  // namespace

std::span<const Function> list_functions() {
  return kLists;
}
std::span<const Function> optional_functions() {
  return kOptionals;
}

}  // namespace plimsoll::dra::cel

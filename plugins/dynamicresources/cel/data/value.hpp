#pragma once
// What expressions compute with. Values are small and own nothing: what they refer to belongs to
// the expression, the device or the run (run.hpp) and outlives them.

#include <cstdint>
#include <span>
#include <string_view>

#include "plugins/dynamicresources/values/quantity.hpp"
#include "plugins/dynamicresources/values/semver.hpp"

namespace plimsoll::dra::cel {

// Of values and of static types. Static types only are kDyn, any type; kParam, one that is still to
// be found; kDevice, that of the variable `device`, which is a map when it is computed with; and
// kDuration and kTimestamp, of which there are no values here.
enum class Kind : uint8_t {
  kError,
  kDyn,
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kList,
  kMap,
  kOptional,
  kQuantity,
  kSemver,
  kType,
  kDevice,
  kDuration,
  kTimestamp,
  kParam,
};

// As type(x) and the messages call it.
[[nodiscard]] std::string_view name_of(Kind kind);

struct List;
struct Map;

struct Value {
  Kind kind = Kind::kNull;
  // Of a quantity: the result of add or sub, which the reference compares as equal to nothing when
  // it stands on the right.
  bool computed = false;
  union {
    int64_t integer;
    uint64_t natural;
    bool boolean;
    double real;
    std::string_view text;  // also of bytes, and of an error
    const List* list;
    const Map* map;
    const Value* optional;  // nullptr: none
    const Quantity* quantity;
    const Semver* semver;
    std::string_view type;
  };

  Value() : integer(0) {}
  [[nodiscard]] bool is_error() const { return kind == Kind::kError; }
  [[nodiscard]] bool is_bool(bool value) const { return kind == Kind::kBool && boolean == value; }
  // May it stand in container[...]?
  [[nodiscard]] bool may_be_key() const { return kind >= Kind::kBool && kind <= Kind::kString; }
  [[nodiscard]] bool is_number() const { return kind >= Kind::kInt && kind <= Kind::kDouble; }

  static Value of_bool(bool value) { return make(Kind::kBool, &Value::boolean, value); }
  static Value of_int(int64_t value) { return make(Kind::kInt, &Value::integer, value); }
  static Value of_uint(uint64_t value) { return make(Kind::kUint, &Value::natural, value); }
  static Value of_double(double value) { return make(Kind::kDouble, &Value::real, value); }
  static Value of_string(std::string_view value) {
    return make(Kind::kString, &Value::text, value);
  }
  static Value of_bytes(std::string_view value) { return make(Kind::kBytes, &Value::text, value); }
  static Value of_list(const List* value) { return make(Kind::kList, &Value::list, value); }
  static Value of_map(const Map* value) { return make(Kind::kMap, &Value::map, value); }
  static Value of_optional(const Value* value) {
    return make(Kind::kOptional, &Value::optional, value);
  }
  static Value of_quantity(const Quantity* value) {
    return make(Kind::kQuantity, &Value::quantity, value);
  }
  static Value of_semver(const Semver* value) { return make(Kind::kSemver, &Value::semver, value); }
  static Value of_type(std::string_view name) { return make(Kind::kType, &Value::type, name); }
  // The text is not copied.
  static Value of_error(std::string_view text) { return make(Kind::kError, &Value::text, text); }

 private:
  template <typename T>
  static Value make(Kind kind, T Value::*field, T value) {
    Value made;
    made.kind = kind;
    made.*field = value;
    return made;
  }
};

struct List {
  std::span<const Value> items;
  bool joined = false;  // made by +: compares more strictly, as in the reference
};

struct Entry {
  Value key, value;
};

// Entries that were written out, or a view of the device, of which no map is built.
struct Map {
  enum class Form : uint8_t { kEntries, kDevice, kDomains, kDomain };
  Form form = Form::kEntries;
  bool capacity = false;                // the view is of the capacity, not of the attributes
  std::string_view domain;              // kDomain
  std::span<const Entry> entries = {};  // kEntries
};

}  // namespace plimsoll::dra::cel

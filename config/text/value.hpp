#pragma once
// A tree of JSON values, each with its place in the file.
//
// Profile files, plugin args and manifests are read into it, from YAML or JSON. A value owns its
// children. Trees are at most kMaxDepth deep, so recursion over them is safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/problem.hpp"
#include "framework/base/yaml_bounds.hpp"

namespace plimsoll::config {

inline constexpr int kMaxDepth = YamlBounds::kMaxDepth;

struct Member;

struct Value {
  enum class Kind { kNull, kBool, kInteger, kFloat, kString, kSequence, kMapping };

  Kind kind = Kind::kNull;
  Position at;
  std::string text;     // a string's content; for a boolean or number its JSON text
  std::string written;  // the unquoted YAML word of a boolean or number, if it differs from text
  std::vector<Value> items;     // of a sequence
  std::vector<Member> members;  // of a mapping, in the order of the file

  [[nodiscard]] static Value null();
  [[nodiscard]] static Value boolean(bool value);
  [[nodiscard]] static Value integer(std::int64_t value);
  [[nodiscard]] static Value string(std::string value);
  [[nodiscard]] static Value sequence();
  [[nodiscard]] static Value mapping();

  [[nodiscard]] bool is_null() const { return kind == Kind::kNull; }
  [[nodiscard]] bool is_mapping() const { return kind == Kind::kMapping; }
  [[nodiscard]] bool is_sequence() const { return kind == Kind::kSequence; }
  [[nodiscard]] bool is_string() const { return kind == Kind::kString; }

  // The value of a mapping's key, or nullptr.
  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] const Member* find_member(std::string_view key) const;

  // The number if it fits; a float with an integral value counts (as in Kubernetes' YAML).
  [[nodiscard]] std::optional<std::int64_t> as_int64() const;
  [[nodiscard]] std::optional<double> as_double() const;

  // Builds mappings and sequences.
  Value& set(std::string key, Value value);
  Value& add(Value value);
};

struct Member {
  std::string key;
  Position at;  // of the key
  Value value;
};

inline Value Value::null() {
  return {};
}

// Compact JSON text.
[[nodiscard]] std::string to_json(const Value& value);

// Describes a value for error messages: `the string "a"`, `the integer 3`, `a mapping`.
[[nodiscard]] std::string describe(const Value& value);

// The place in the file of a path inside `root` (such as scoringStrategy.resources[0].weight). If
// the path does not exist completely, the place of the last value on it. For a key, the key's
// place.
[[nodiscard]] Position locate(const Value& root, std::string_view path);

// The value there, or null.
[[nodiscard]] const Value* value_at(const Value& root, std::string_view path);

// Like locate(), for the last key of the path itself: where an unknown field begins.
[[nodiscard]] Position locate_key(const Value& root, std::string_view path);

// Adds one problem per repeated key anywhere in the tree: 'duplicate field "a.b"'.
void find_duplicate_keys(const Value& value, std::string_view path, Problems& problems);

}  // namespace plimsoll::config

#pragma once
// Strict decoding of one mapping, field by field; the readers of this folder use it.
//
//   Fields fields(value, "profiles[0]", problems);
//   fields.read("schedulerName", name);
//   ...
//   fields.finish();   // every field that was not read is unknown
//
// A field that is absent or null leaves its target unchanged. A wrong type, a number out of range
// and an unknown field are problems with path and place; reading continues. Any thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/problem.hpp"
#include "config/text/value.hpp"

namespace plimsoll::config {

class Fields {
 public:
  // `value` may be null (an absent mapping). A value that is not a mapping is a problem and counts
  // as absent.
  Fields(const Value* value, std::string path, Problems& problems);

  // Each returns whether the field has a value of the right type.
  bool read(std::string_view name, std::string& out);
  bool read(std::string_view name, bool& out);
  bool read(std::string_view name, std::int32_t& out);
  bool read(std::string_view name, std::int64_t& out);
  bool read(std::string_view name, double& out);
  bool read(std::string_view name, std::chrono::nanoseconds& out);  // Go's "1m30s"
  bool read(std::string_view name, std::vector<std::string>& out);
  template <typename T>
  bool read(std::string_view name, std::optional<T>& out) {
    T value{};
    const bool given = read(name, value);
    if (given) out = std::move(value);
    return given;
  }

  // A field that the caller reads: nullptr if absent or null.
  const Value* get(std::string_view name);
  // A list's items with the path of each.
  bool each(std::string_view name,
            const std::function<void(const Value& item, const std::string& path)>& visit);

  // Reports unknown fields; `hints` adds explanations for some of them (fields of other versions).
  void finish(const std::map<std::string, std::string, std::less<>>& hints = {});

  [[nodiscard]] bool present() const { return value_ != nullptr; }
  [[nodiscard]] std::string path(std::string_view name) const { return child_path(path_, name); }
  // The place of a field's value, or of the mapping if it is absent.
  [[nodiscard]] Position at(std::string_view name) const;
  // Adds a problem about a field.
  void problem(std::string_view name, std::string message);

 private:
  bool wrong_type(std::string_view name, const Value& value, std::string_view expected);
  bool read_integer(std::string_view name, std::int64_t low, std::int64_t high, std::int64_t& out);

  const Value* value_;
  std::string path_;
  Problems& problems_;
  std::vector<std::string_view> known_;
};

// What to do about a text that without quotes would be what is wanted ("a string", "an integer", "a
// number", "true or false"), or the other way round; empty if that is not what is wrong.
[[nodiscard]] std::string quoting_hint(const Value& value, std::string_view wanted);

// The message for a value of another type than expected ("a string").
[[nodiscard]] std::string wrong_type_message(const Value& value, std::string_view expected);

}  // namespace plimsoll::config

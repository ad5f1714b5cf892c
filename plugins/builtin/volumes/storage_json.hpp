#pragma once
// Fields of storage objects in JSON from others (private to storage_objects.cpp). Absent and null
// mean the same. A wrong type is thrown as WrongField, which the reader of the object catches.

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/api/quantity.hpp"

namespace plimsoll::volumes::fields {

using Json = nlohmann::json;

struct WrongField {
  std::string problem;  // names the field
};

// Deeper nesting than this is refused: objects of these kinds have a fraction of it.
inline constexpr int kMaxDepth = 64;

// The object of this text.
[[nodiscard]] Json parsed_object(std::string_view text);

// A member and the path by which errors name it.
class Field {
 public:
  Field(const Json* value, std::string path) : value_(value), path_(std::move(path)) {}

  [[nodiscard]] bool is_set() const { return value_ != nullptr && !value_->is_null(); }
  [[nodiscard]] const Json& value() const { return *value_; }
  // A member of an object; not set if this is not set.
  [[nodiscard]] Field at(const char* key) const;
  [[nodiscard]] std::vector<Field> elements() const;  // of a list
  [[nodiscard]] std::string text() const;             // "" if it is not set
  [[nodiscard]] std::optional<std::string> optional_text() const;
  [[nodiscard]] bool boolean() const;  // false if it is not set
  [[nodiscard]] std::optional<int64_t> integer() const;
  [[nodiscard]] std::optional<Quantity> quantity() const;
  [[nodiscard]] std::vector<std::string> texts() const;  // of a list
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> text_map() const;
  [[noreturn]] void wrong(std::string_view problem) const;

 private:
  const Json* value_;
  std::string path_;
};

}  // namespace plimsoll::volumes::fields

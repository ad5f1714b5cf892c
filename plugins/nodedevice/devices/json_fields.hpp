#pragma once
// Members of JSON objects that come from outside, with errors that name the field (private to the
// readers of Device objects and annotations).
//
// Absent and null mean the same. Whatever is wrong is thrown as WrongField, which the reader of the
// whole text catches. Pure; any thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::devices::fields {

struct WrongField {
  std::string field;  // empty: the text as a whole
  std::string problem;

  [[nodiscard]] std::string text() const {
    return field.empty() ? problem : field + ": " + problem;
  }
};
[[noreturn]] void wrong(const std::string& field, std::string problem);

// A text that is not JSON, or nested too deeply, is a wrong field without a name.
nlohmann::json parsed(std::string_view text);

// Null if it is absent. `field` is how an error calls the member itself.
const nlohmann::json* member(const nlohmann::json& object, const char* key);
const nlohmann::json* object_member(const nlohmann::json& object, const char* key,
                                    const std::string& field);
const nlohmann::json* array_member(const nlohmann::json& object, const char* key,
                                   const std::string& field);

// Here `field` is how an error calls the object; an absent string is empty.
std::string string_member(const nlohmann::json& object, const char* key, const std::string& field);
int32_t int_member(const nlohmann::json& object, const char* key, const std::string& field,
                   int32_t absent);

// A quantity in whole units; nothing: it is none.
std::optional<int64_t> quantity_of(const nlohmann::json& value);

int32_t int_value(const nlohmann::json& value, const std::string& field);
// A quantity in whole units, not negative, at most kMaxAmount.
int64_t quantity_value(const nlohmann::json& value, const std::string& field);

}  // namespace plimsoll::devices::fields

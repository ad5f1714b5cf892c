#include "plugins/nodedevice/devices/json_fields.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "plugins/nodedevice/devices/device_types.hpp"
#include "plugins/nodedevice/text/bounded_json.hpp"
#include "plugins/nodedevice/text/quantity_text.hpp"

namespace plimsoll::devices::fields {

using Json = nlohmann::json;

void wrong(const std::string& field, std::string problem) {
  throw WrongField{field, std::move(problem)};
}

Json parsed(std::string_view text) {
  Json value = parse_bounded_json(text);
  if (value.is_discarded()) wrong("", json_problem(text));
  return value;
}

const Json* member(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

const Json* object_member(const Json& object, const char* key, const std::string& field) {
  const Json* value = member(object, key);
  if (value != nullptr && !value->is_object()) wrong(field, "must be an object");
  return value;
}

const Json* array_member(const Json& object, const char* key, const std::string& field) {
  const Json* value = member(object, key);
  if (value != nullptr && !value->is_array()) wrong(field, "must be a list");
  return value;
}

std::string string_member(const Json& object, const char* key, const std::string& field) {
  const Json* value = member(object, key);
  if (value == nullptr) return {};
  if (!value->is_string()) wrong(field + "." + key, "must be a string");
  return value->get<std::string>();
}

int32_t int_value(const Json& value, const std::string& field) {
  if (!value.is_number_integer()) wrong(field, "must be an integer");
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
    wrong(field, "is too large");
  const auto number = value.get<int64_t>();
  if (number < std::numeric_limits<int32_t>::min() || number > std::numeric_limits<int32_t>::max())
    wrong(field, "is out of range");
  return static_cast<int32_t>(number);
}

int32_t int_member(const Json& object, const char* key, const std::string& field, int32_t absent) {
  const Json* value = member(object, key);
  return value == nullptr ? absent : int_value(*value, field + "." + key);
}

std::optional<int64_t> quantity_of(const Json& value) {
  if (value.is_string()) return parse_quantity(value.get_ref<const std::string&>());
  if (value.is_number()) return parse_quantity(value.dump());
  return std::nullopt;
}

int64_t quantity_value(const Json& value, const std::string& field) {
  const std::optional<int64_t> amount = quantity_of(value);
  if (!amount) wrong(field, value.dump() + " is not a quantity");
  if (*amount < 0) wrong(field, "must not be negative");
  return std::min(*amount, kMaxAmount);
}

}  // namespace plimsoll::devices::fields

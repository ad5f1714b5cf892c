#include "plugins/nodedevice/requests/annotation_fields.hpp"

#include <plimsoll/join.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plugins/nodedevice/text/bounded_json.hpp"

namespace plimsoll::devices::fields {

using Json = nlohmann::json;

Result<void> read_annotation(std::string_view text, const char* name,
                             const std::function<void(const Json&)>& read) {
  if (text.empty()) return {};
  try {
    Json object = parse_bounded_json(text);
    if (object.is_discarded()) wrong("", "it is not JSON");
    if (object.is_null()) object = Json::object();
    if (!object.is_object()) wrong("", "it must be a JSON object");
    read(object);
  } catch (const WrongField& error) {
    const std::string what =
        error.field.empty() ? "invalid " + std::string(name) + " annotation" : error.field;
    return fail(what + ", err: " + error.problem);
  }
  return {};
}

std::string text_of(const Json& object, const char* key, const std::string& where) {
  const Json* value = member(object, key);
  if (value == nullptr) return {};
  if (!value->is_string()) wrong("", where + key + " must be a string");
  return value->get<std::string>();
}

int choice_of(const Json& object, const char* key, std::initializer_list<std::string_view> known,
              const std::string& where) {
  const std::string text = text_of(object, key, where);
  if (text.empty()) return 0;
  const auto found = std::find(known.begin(), known.end(), text);
  if (found != known.end()) return static_cast<int>(found - known.begin()) + 1;
  wrong("", where + key + " must be one of " + sdk::join(known));
}

}  // namespace plimsoll::devices::fields

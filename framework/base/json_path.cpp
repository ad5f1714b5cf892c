#include "framework/base/json_path.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll {

using nlohmann::json;

const json& value_at(const json& object, std::initializer_list<const char*> path) {
  static const json kNull;
  const json* here = &object;
  for (const char* key : path) {
    const auto found = here->is_object() ? here->find(key) : here->end();
    if (found == here->end()) return kNull;
    here = &*found;
  }
  return *here;
}

std::string text_in(const json& object, std::initializer_list<const char*> path) {
  const json& value = value_at(object, path);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace plimsoll

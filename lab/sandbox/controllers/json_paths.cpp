#include "lab/sandbox/controllers/json_paths.hpp"

namespace plimsoll::sandbox {

using nlohmann::json;

const json& value_at(const json& object, std::initializer_list<const char*> path) {
  static const json kNull;
  const json* here = &object;
  for (const char* key : path) {
    if (!here->is_object()) return kNull;
    const auto found = here->find(key);
    if (found == here->end()) return kNull;
    here = &*found;
  }
  return *here;
}

std::string text_in(const json& object, std::initializer_list<const char*> path) {
  const json& value = value_at(object, path);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace plimsoll::sandbox

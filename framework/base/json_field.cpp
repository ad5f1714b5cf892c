#include "framework/base/json_field.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll {

std::string text_at(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace plimsoll

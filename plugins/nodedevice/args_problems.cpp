#include "plugins/nodedevice/args_problems.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace plimsoll::devices {

void ArgsProblems::add(const std::string& path, const std::string& text) {
  text_ += (text_.empty() ? "" : "\n") + (path.empty() ? text : path + ": " + text);
  ++size_;
}

bool ArgsProblems::object(const nlohmann::json& value, const std::string& path,
                          std::initializer_list<std::string_view> known) {
  if (!value.is_object()) {
    add(path, "must be an object");
    return false;
  }
  for (const auto& [key, unused] : value.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      add(path.empty() ? key : path + "." + key, "unknown field");
  return true;
}

}  // namespace plimsoll::devices

#include "plugins/nodedevice/text/bounded_json.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace plimsoll::devices {
namespace {

using Json = nlohmann::json;

// Of a text that is not JSON any answer will do: the parser refuses it.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') {
      if (++depth > kMaxJsonDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Json parse_bounded_json(std::string_view text) {
  // Of no text at all there is nothing to say: the parser would write a message that nobody reads.
  if (text.empty() || too_deep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

std::string json_problem(std::string_view text) {
  if (too_deep(text)) return "it is nested more than " + std::to_string(kMaxJsonDepth) + " deep";
  try {
    const Json value = Json::parse(text);
    return value.is_discarded() ? "it is not JSON" : "it is JSON";
  } catch (const Json::exception& error) {
    return error.what();
  }
}

}  // namespace plimsoll::devices

// Manifests as kubectl reads and writes them.

#include "config/manifest.hpp"

#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"

namespace plimsoll::fuzz {

void manifest(std::string_view input) {
  const auto objects = config::parse_manifests(input, "f");
  if (!objects) return require(!objects.error().message.empty(), "an error says something");
  for (const config::ManifestObject& object : *objects) {
    const auto json = nlohmann::json::parse(object.json, nullptr, false);
    require(json.is_object(), "an object is JSON: ", object.json);
    require(json.value("kind", "") == object.kind, "an object is of its kind: ", object.json);
    require(object.at.line >= 1, "an object is somewhere");
  }
}

}  // namespace plimsoll::fuzz

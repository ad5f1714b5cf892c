#include "lab/sandbox/apiserver/object_shape.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace plimsoll::sandbox {

using nlohmann::json;

ApiResult<void> check_shape(const json& object) {
  if (!object.is_object()) return bad_request("the object is not a JSON object");
  for (const char* part : {"metadata", "spec", "status"}) {
    const auto found = object.find(part);
    if (found != object.end() && !found->is_null() && !found->is_object()) {
      return bad_request(std::string(part) + ": expected a JSON object");
    }
  }
  const auto at = object.find("metadata");
  const json metadata = at != object.end() && at->is_object() ? *at : json::object();
  for (const char* map : {"labels", "annotations"}) {
    const auto found = metadata.find(map);
    if (found == metadata.end() || found->is_null()) continue;
    const bool strings =
        found->is_object() && std::all_of(found->begin(), found->end(), [](const json& value) {
          return value.is_string() || value.is_null();
        });
    if (!strings) {
      return bad_request("metadata." + std::string(map) + ": expected an object of strings");
    }
  }
  return {};
}

const json& object_in(const json& owner, const char* key) {
  static const json kNone = json::object();
  const auto found = owner.is_object() ? owner.find(key) : owner.end();
  return found != owner.end() && found->is_object() ? *found : kNone;
}

}  // namespace plimsoll::sandbox

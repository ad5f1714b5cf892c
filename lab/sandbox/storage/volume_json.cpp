#include "lab/sandbox/storage/volume_json.hpp"

#include <algorithm>

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

Quantity size_of(const json& value) {
  auto parsed = Quantity::parse_json(value.is_null() ? "null" : value.dump());
  return parsed ? *parsed : Quantity();
}

bool is_fully_bound(const json& claim) {
  return !text_in(claim, {"spec", "volumeName"}).empty() &&
         !value_at(claim, {"metadata", "annotations", kBindCompleted}).is_null();
}

json reference_to(const json& claim) {
  return {{"kind", "PersistentVolumeClaim"},
          {"apiVersion", "v1"},
          {"namespace", text_in(claim, {"metadata", "namespace"})},
          {"name", text_in(claim, {"metadata", "name"})},
          {"uid", text_in(claim, {"metadata", "uid"})}};
}

bool fits(const json& volume, const json& claim) {
  const json& wanted = value_at(claim, {"spec", "accessModes"});
  const json& has = value_at(volume, {"spec", "accessModes"});
  const auto is_there = [&](const json& mode) {
    return std::find(has.begin(), has.end(), mode) != has.end();
  };
  return value_at(volume, {"spec", "claimRef"}).is_null() &&
         text_in(volume, {"status", "phase"}) == "Available" &&
         text_in(volume, {"spec", "storageClassName"}) ==
             text_in(claim, {"spec", "storageClassName"}) &&
         std::all_of(wanted.begin(), wanted.end(), is_there) &&
         size_of(value_at(volume, {"spec", "capacity", "storage"}))
                 .cmp(size_of(value_at(claim, {"spec", "resources", "requests", "storage"}))) >= 0;
}

bool refers_to(const json& reference, const json& claim) {
  const std::string uid = text_in(reference, {"uid"});
  return text_in(reference, {"name"}) == text_in(claim, {"metadata", "name"}) &&
         text_in(reference, {"namespace"}) == text_in(claim, {"metadata", "namespace"}) &&
         (uid.empty() || uid == text_in(claim, {"metadata", "uid"}));
}

}  // namespace plimsoll::sandbox

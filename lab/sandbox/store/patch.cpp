#include "lab/sandbox/store/patch.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "framework/base/json_field.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

struct MergeKey {
  std::string_view list;
  const char* key;
};
// The patchMergeKey tags of core/v1 and resource.k8s.io/v1, by the name of the list.
constexpr MergeKey kMergeKeys[] = {
    {"conditions", "type"},
    {"containers", "name"},
    {"initContainers", "name"},
    {"ephemeralContainers", "name"},
    {"volumes", "name"},
    {"env", "name"},
    {"ports", "containerPort"},
    {"volumeMounts", "mountPath"},
    {"volumeDevices", "devicePath"},
    {"taints", "key"},
    {"addresses", "type"},
    {"ownerReferences", "uid"},
    {"imagePullSecrets", "name"},
    {"hostAliases", "ip"},
    {"podIPs", "ip"},
    {"hostIPs", "ip"},
    {"resourceClaims", "name"},
    {"resourceClaimStatuses", "name"},
    {"reservedFor", "uid"},
    {"schedulingGates", "name"},
    {"topologySpreadConstraints", "topologyKey"},
};

const char* merge_key(std::string_view list) {
  for (const MergeKey& entry : kMergeKeys) {
    if (entry.list == list) return entry.key;
  }
  return nullptr;
}

void merge_value(json& target, const json& patch);

// Merges a list of objects by key; removes entries with "$patch: delete" and appends new ones.
void merge_keyed_list(json& target, const json& patch, const char* key) {
  if (!target.is_array()) target = json::array();
  for (const json& item : patch) {
    if (text_at(item, "$patch") == "replace") {
      json replaced = json::array();
      for (const json& other : patch) {
        if (text_at(other, "$patch").empty()) replaced.push_back(other);
      }
      target = std::move(replaced);
      return;
    }
  }
  for (const json& item : patch) {
    const auto wanted = item.is_object() ? item.find(key) : item.end();
    auto at = std::find_if(target.begin(), target.end(), [&](const json& present) {
      return wanted != item.end() && present.is_object() && present.contains(key) &&
             present.at(key) == *wanted;
    });
    if (text_at(item, "$patch") == "delete") {
      if (at != target.end()) target.erase(at);
    } else if (at != target.end()) {
      merge_value(*at, item);
    } else {
      target.push_back(json());
      merge_value(target.back(), item);
    }
  }
}

void merge_set(json& target, const json& patch) {
  if (!target.is_array()) target = json::array();
  for (const json& item : patch) {
    if (std::find(target.begin(), target.end(), item) == target.end()) target.push_back(item);
  }
}

void merge_object(json& target, const json& patch) {
  if (const auto keep = patch.find("$retainKeys"); keep != patch.end() && keep->is_array()) {
    for (auto at = target.begin(); at != target.end();) {
      at = std::find(keep->begin(), keep->end(), json(at.key())) == keep->end() ? target.erase(at)
                                                                                : std::next(at);
    }
  }
  constexpr std::string_view kDeleteFrom = "$deleteFromPrimitiveList/";
  for (const auto& [key, value] : patch.items()) {
    if (key.starts_with(kDeleteFrom)) {
      const auto list = target.find(key.substr(kDeleteFrom.size()));
      if (list == target.end() || !list->is_array()) continue;
      for (const json& gone : value) {
        list->erase(std::remove(list->begin(), list->end(), gone), list->end());
      }
    } else if (key.starts_with('$')) {
      continue;
    } else if (value.is_null()) {
      target.erase(key);
    } else if (value.is_array()) {
      const char* by = merge_key(key);
      const bool objects = !value.empty() && value.front().is_object();
      if (by != nullptr && objects)
        merge_keyed_list(target[key], value, by);
      else if (key == "finalizers")
        merge_set(target[key], value);
      else
        target[key] = value;
    } else {
      merge_value(target[key], value);
    }
  }
}

void merge_value(json& target, const json& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object() || text_at(patch, "$patch") == "replace") target = json::object();
  merge_object(target, patch);
}

}  // namespace

void apply_merge_patch(json& object, const json& patch) {
  object.merge_patch(patch);
}

void apply_strategic_merge_patch(json& object, const json& patch) {
  merge_value(object, patch);
}

ApiResult<void> apply_json_patch(json& object, const json& patch) {
  try {
    object.patch_inplace(patch);
  } catch (const json::exception& error) {
    return ApiFailure(
        ApiStatus{422, "Invalid", std::string("the JSON patch does not apply: ") + error.what()});
  }
  return {};
}

ApiResult<void> apply_patch(json& object, std::string_view content_type, const json& patch,
                            bool builtin) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  if (type == "application/json-patch+json") {
    json copy = object;
    if (auto applied = apply_json_patch(copy, patch); !applied) return applied;
    if (!copy.is_object()) return bad_request("the JSON patch does not leave an object");
    object = std::move(copy);
    return {};
  }
  if (!patch.is_object()) return bad_request("the patch is not a JSON object");
  if (type == "application/merge-patch+json") {
    apply_merge_patch(object, patch);
    return {};
  }
  if (type == "application/strategic-merge-patch+json" && builtin) {
    apply_strategic_merge_patch(object, patch);
    return {};
  }
  std::string accepted = "application/json-patch+json, application/merge-patch+json";
  if (builtin) accepted += ", application/strategic-merge-patch+json";
  return ApiFailure(ApiStatus{415, "UnsupportedMediaType",
                              "the body of the request was in an unknown format - accepted media "
                              "types include: " +
                                  accepted});
}

}  // namespace plimsoll::sandbox

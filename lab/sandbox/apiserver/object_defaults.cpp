#include "lab/sandbox/apiserver/object_defaults.hpp"

#include <nlohmann/json.hpp>
#include <tuple>

#include "framework/base/json_field.hpp"
#include "lab/sandbox/apiserver/limit_ranges.hpp"
#include "lab/sandbox/apiserver/pod_rules.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

void set_node_defaults(json& node) {
  const auto status = node.find("status");
  if (status == node.end() || !status->is_object()) return;
  const auto capacity = status->find("capacity");
  if (capacity != status->end() && capacity->is_object()) {
    set_default(*status, "allocatable", json(*capacity));
  }
  for (const char* amounts : {"capacity", "allocatable"}) set_nulls(*status, amounts, "0");
}

bool is_default_class(const json& metadata) {
  const auto annotations = metadata.find("annotations");
  if (annotations == metadata.end() || !annotations->is_object()) return false;
  return text_at(*annotations, "storageclass.kubernetes.io/is-default-class") == "true" ||
         text_at(*annotations, "storageclass.beta.kubernetes.io/is-default-class") == "true";
}

// GetDefaultClass: the newest, of several as new the first by name.
std::string default_storage_class(const ObjectStore& store) {
  const auto listed = store.list(kStorageClasses);
  std::string name;
  std::string newest;
  if (!listed) return name;
  for (const ObjectPtr& each : listed->objects) {
    const json read = each->parse();
    const json& metadata = read.at("metadata");
    if (!is_default_class(metadata)) continue;
    std::string created = text_at(metadata, "creationTimestamp");
    if (name.empty() || created > newest || (created == newest && each->key.name < name)) {
      std::tie(name, newest) = std::pair(each->key.name, std::move(created));
    }
  }
  return name;
}

void set_claim_defaults(const ObjectStore& store, json& claim) {
  const auto spec = claim.find("spec");
  if (spec == claim.end() || !spec->is_object()) return;
  const auto named = spec->find("storageClassName");
  if (named != spec->end() && !named->is_null()) return;
  const auto annotations = claim["metadata"].find("annotations");
  if (annotations != claim["metadata"].end() && annotations->is_object() &&
      annotations->contains("volume.beta.kubernetes.io/storage-class")) {
    return;
  }
  const auto status = claim.find("status");
  if (status != claim.end() && status->is_object() && text_at(*status, "phase") == "Bound") return;
  const std::string name = default_storage_class(store);
  if (!name.empty()) (*spec)["storageClassName"] = name;
}

}  // namespace

void set_nulls(json& owner, const char* map, const char* value) {
  const auto found = owner.find(map);
  if (found == owner.end() || !found->is_object()) return;
  for (auto& each : *found) {
    if (each.is_null()) each = value;
  }
}

ApiResult<void> admit_object(const ObjectStore& store, const ResourceName& resource, json& object) {
  json& metadata = object["metadata"];
  for (const char* map : {"labels", "annotations"}) set_nulls(metadata, map, "");
  if (resource == kNodes) set_node_defaults(object);
  if (resource == kLimitRanges) set_limit_range_defaults(object);
  if (resource == kPersistentVolumeClaims) {
    set_claim_defaults(store, object);
    if (text_at(metadata, "uid").empty()) return check_claim_limits(store, object);
  }
  if (resource != kNamespaces || text_at(metadata, "name").empty()) return {};
  json& labels = metadata["labels"];
  if (!labels.is_object()) labels = json::object();
  labels["kubernetes.io/metadata.name"] = text_at(metadata, "name");
  return {};
}

void ensure_namespace(ObjectStore& store, const std::string& name) {
  if (store.get(kNamespaces, {"", name})) return;
  json made{{"metadata", {{"name", name}}}, {"status", {{"phase", "Active"}}}};
  if (!admit_object(store, kNamespaces, made)) return;
  (void)store.create(kNamespaces, std::move(made));  // another thread may have been first
}

}  // namespace plimsoll::sandbox

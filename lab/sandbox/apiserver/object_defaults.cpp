#include "lab/sandbox/apiserver/object_defaults.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "framework/api/quantity.hpp"
#include "framework/base/json_field.hpp"
#include "lab/sandbox/apiserver/limit_ranges.hpp"
#include "lab/sandbox/apiserver/pod_rules.hpp"
#include "lab/sandbox/apiserver/resource_quotas.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

struct Default {
  const ResourceName& resource;
  const char* pointer;
  const char* value;
};
const Default kDefaults[] = {
    {kNamespaces, "/spec/finalizers", R"(["kubernetes"])"},
    {kNamespaces, "/status/phase", R"("Active")"},
    {kPersistentVolumes, "/spec/persistentVolumeReclaimPolicy", R"("Retain")"},
    {kPersistentVolumes, "/spec/volumeMode", R"("Filesystem")"},
    {kPersistentVolumes, "/status/phase", R"("Pending")"},
    {kPersistentVolumeClaims, "/spec/volumeMode", R"("Filesystem")"},
    {kPersistentVolumeClaims, "/status/phase", R"("Pending")"},
    {kStorageClasses, "/reclaimPolicy", R"("Delete")"},
    {kStorageClasses, "/volumeBindingMode", R"("Immediate")"},
    {kCsiDrivers, "/spec/attachRequired", "true"},
    {kCsiDrivers, "/spec/podInfoOnMount", "false"},
    {kCsiDrivers, "/spec/storageCapacity", "false"},
    {kCsiDrivers, "/spec/preventPodSchedulingIfMissing", "false"},
    {kCsiDrivers, "/spec/requiresRepublish", "false"},
    {kCsiDrivers, "/spec/seLinuxMount", "false"},
    {kCsiDrivers, "/spec/fsGroupPolicy", R"("ReadWriteOnceWithFSType")"},
    {kCsiDrivers, "/spec/volumeLifecycleModes", R"(["Persistent"])"},
    {kPriorityClasses, "/preemptionPolicy", R"("PreemptLowerPriority")"},
    {kReplicationControllers, "/spec/replicas", "1"},
    {kReplicaSets, "/spec/replicas", "1"},
    {kStatefulSets, "/spec/replicas", "1"},
};

// Sets a field that is missing, null or "", and what it is in.
void set_missing(json& object, const Default& missing) {
  const json::json_pointer pointer(missing.pointer);
  json* owner = &object;
  if (pointer.parent_pointer() != json::json_pointer()) {
    owner = &object[pointer.parent_pointer().back()];
    if (owner->is_null()) *owner = json::object();
  }
  if (!owner->is_object()) return;
  json& field = (*owner)[pointer.back()];
  if (field.is_null() || field == "" || field == json::array()) field = json::parse(missing.value);
}

void set_node_defaults(json& node) {
  const auto status = node.find("status");
  if (status == node.end() || !status->is_object()) return;
  const auto capacity = status->find("capacity");
  if (capacity != status->end() && capacity->is_object()) {
    set_default(*status, "allocatable", json(*capacity));
  }
  for (const char* amounts : {"capacity", "allocatable"}) settle_amounts(*status, amounts);
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

void settle_amounts(json& owner, const char* map) {
  set_nulls(owner, map, "0");
  const auto found = owner.find(map);
  if (found == owner.end() || !found->is_object()) return;
  for (auto& each : *found) {
    const auto amount =
        Quantity::parse_json(each.dump(-1, ' ', false, json::error_handler_t::replace));
    if (!amount || amount->value() > std::numeric_limits<std::int64_t>::max() / 1000) continue;
    const Quantity rounded = Quantity::milli(amount->milli_value());
    if (rounded.cmp(*amount) != 0) each = rounded.text();
  }
}

void set_nulls(json& owner, const char* map, const char* value) {
  const auto found = owner.find(map);
  if (found == owner.end() || !found->is_object()) return;
  for (auto& each : *found) {
    if (each.is_null()) each = value;
  }
}

ApiResult<void> admit_object(ObjectStore& store, const ResourceName& resource, json& object) {
  json& metadata = object["metadata"];
  for (const char* map : {"labels", "annotations"}) set_nulls(metadata, map, "");
  for (const Default& each : kDefaults) {
    if (each.resource == resource) set_missing(object, each);
  }
  if (resource == kNodes) set_node_defaults(object);
  if (resource == kLimitRanges) set_limit_range_defaults(object);
  if (resource == kPersistentVolumeClaims) {
    set_claim_defaults(store, object);
    if (!text_at(metadata, "uid").empty()) return {};
    if (auto within = check_claim_limits(store, object); !within) return within;
    return charge_claim(store, object);
  }
  if (resource != kNamespaces || text_at(metadata, "name").empty()) return {};
  json& labels = metadata["labels"];
  if (!labels.is_object()) labels = json::object();
  labels["kubernetes.io/metadata.name"] = text_at(metadata, "name");
  return {};
}

void ensure_namespace(ObjectStore& store, const std::string& name) {
  if (store.get(kNamespaces, {"", name})) return;
  json made{{"metadata", {{"name", name}}}};
  if (!admit_object(store, kNamespaces, made)) return;
  (void)store.create(kNamespaces, std::move(made));  // another thread may have been first
}

}  // namespace plimsoll::sandbox

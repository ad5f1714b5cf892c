#include "lab/sandbox/admission/object_defaults.hpp"

#include <nlohmann/json.hpp>
#include <tuple>

#include "framework/base/json_field.hpp"
#include "lab/sandbox/admission/limit_ranges.hpp"
#include "lab/sandbox/admission/pod_admission.hpp"
#include "lab/sandbox/admission/resource_quotas.hpp"
#include "lab/sandbox/store/object_shape.hpp"

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
    {kPriorityClasses, "/value", "0"},
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
  const json capacity = object_in(*status, "capacity");
  if (!capacity.empty()) set_default(*status, "allocatable", capacity);
  for (const char* amounts : {"capacity", "allocatable"}) settle_amounts(*status, amounts);
}

// SetDefaults_ReplicationController: the labels of the template.
void set_selector(json& controller) {
  const json labels = object_in(
      object_in(object_in(object_in(controller, "spec"), "template"), "metadata"), "labels");
  if (labels.empty()) return;
  if (object_in(controller["spec"], "selector").empty()) controller["spec"]["selector"] = labels;
  if (object_in(controller["metadata"], "labels").empty())
    controller["metadata"]["labels"] = labels;
}

// The admission plugin Priority: a second class that is the default is refused if it is new.
ApiResult<void> check_default_class(const ObjectStore& store, const json& priority_class) {
  const json& metadata = priority_class.at("metadata");
  if (priority_class.value("globalDefault", json()) != true || !text_at(metadata, "uid").empty())
    return {};
  const json known = default_priority_class(store);
  if (known.is_null()) return {};
  return forbidden(kPriorityClasses.qualified(), text_at(metadata, "name"),
                   "PriorityClass " + text_at(known.at("metadata"), "name") +
                       " is already marked as default. Only one default can exist");
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

ApiResult<void> admit_object(ObjectStore& store, const ResourceName& resource, json& object) {
  json& metadata = object["metadata"];
  const bool custom =
      resource.group.find('.') != std::string::npos && !resource.group.ends_with(".k8s.io");
  settle_texts(custom ? metadata : object);
  for (const Default& each : kDefaults) {
    if (each.resource == resource) set_missing(object, each);
  }
  if (resource == kNodes) set_node_defaults(object);
  if (resource == kLimitRanges) set_limit_range_defaults(object);
  if (resource == kReplicationControllers) set_selector(object);
  if (resource == kRuntimeClasses && object.contains("overhead")) {
    settle_amounts(object["overhead"], "podFixed");
  }
  if (resource == kPriorityClasses) {
    if (auto alone = check_default_class(store, object); !alone) return alone;
  }
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

ApiResult<void> check_namespace(ObjectStore& store, const ResourceName& resource,
                                const std::string& name, const std::string& ns) {
  for (const char* own : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    if (ns == own) ensure_namespace(store, ns);
  }
  const auto found = store.get(kNamespaces, {"", ns});
  if (!found) return not_found("namespaces", ns);
  if (text_at(object_in((*found)->parse(), "status"), "phase") != "Terminating") return {};
  return forbidden(
      resource.qualified(), name,
      "unable to create new content in namespace " + ns + " because it is being terminated");
}

void ensure_namespace(ObjectStore& store, const std::string& name) {
  if (store.get(kNamespaces, {"", name})) return;
  json made{{"metadata", {{"name", name}}}};
  if (!admit_object(store, kNamespaces, made)) return;
  (void)store.create(kNamespaces, std::move(made));  // another thread may have been first
}

}  // namespace plimsoll::sandbox

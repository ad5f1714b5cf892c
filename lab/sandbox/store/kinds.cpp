#include "lab/sandbox/store/kinds.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

namespace plimsoll::sandbox {
namespace {

constexpr std::string_view kEventsV1 = "events.k8s.io/v1";

struct FieldPair {
  const char* core;
  const char* events;
};
constexpr std::array<FieldPair, 5> kEventFields{{
    {"message", "note"},
    {"involvedObject", "regarding"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
}};

void rename(nlohmann::json& object, const char* from, const char* to) {
  const auto found = object.find(from);
  if (found == object.end()) return;
  nlohmann::json value = std::move(*found);
  object.erase(from);
  object[to] = std::move(value);
}

void convert_event(nlohmann::json& event, bool to_core) {
  for (const FieldPair& field : kEventFields) {
    rename(event, to_core ? field.events : field.core, to_core ? field.core : field.events);
  }
  rename(event, to_core ? "deprecatedCount" : "count", to_core ? "count" : "deprecatedCount");
  rename(event, to_core ? "reportingController" : "reportingComponent",
         to_core ? "reportingComponent" : "reportingController");
}

}  // namespace

std::string ResourceName::qualified() const {
  return group.empty() ? plural : plural + "." + group;
}

std::string KindInfo::qualified_kind() const {
  return resource.group.empty() ? kind : kind + "." + resource.group;
}

std::string KindInfo::storage_api_version() const {
  return api_version(resource.group, versions.front());
}

const std::vector<KindInfo>& default_kinds() {
  static const std::vector<KindInfo> kinds{
      {kPods, "Pod", {"v1"}, true, true},
      {kNodes, "Node", {"v1"}, false, true},
      {kNamespaces, "Namespace", {"v1"}, false, true},
      {kServices, "Service", {"v1"}, true, true},
      {kReplicationControllers, "ReplicationController", {"v1"}, true, true},
      {kReplicaSets, "ReplicaSet", {"v1"}, true, true},
      {kStatefulSets, "StatefulSet", {"v1"}, true, true},
      {kLimitRanges, "LimitRange", {"v1"}, true, false},
      {kResourceQuotas, "ResourceQuota", {"v1"}, true, true},
      {kEvents, "Event", {"v1"}, true, false},
      {kLeases, "Lease", {"v1"}, true, false},
      {kDisruptionBudgets, "PodDisruptionBudget", {"v1"}, true, true},
      {kPersistentVolumes, "PersistentVolume", {"v1"}, false, true},
      {kPersistentVolumeClaims, "PersistentVolumeClaim", {"v1"}, true, true},
      {kStorageClasses, "StorageClass", {"v1"}, false, false},
      {kCsiNodes, "CSINode", {"v1"}, false, false},
      {kCsiDrivers, "CSIDriver", {"v1"}, false, false},
      {kCsiStorageCapacities, "CSIStorageCapacity", {"v1"}, true, false},
      {kVolumeAttachments, "VolumeAttachment", {"v1"}, false, true},
      {kPriorityClasses, "PriorityClass", {"v1"}, false, false},
      {kPodGroups, "PodGroup", {"v1beta1"}, true, true},
      {kCoschedulingGroups, "PodGroup", {"v1alpha1"}, true, true},
      {kRuntimeClasses, "RuntimeClass", {"v1"}, false, false},
      {kResourceClaims, "ResourceClaim", {"v1"}, true, true},
      {kResourceClaimTemplates, "ResourceClaimTemplate", {"v1"}, true, false},
      {kResourceSlices, "ResourceSlice", {"v1"}, false, false},
      {kDeviceClasses, "DeviceClass", {"v1"}, false, false},
      {kDeviceTaintRules, "DeviceTaintRule", {"v1"}, false, true},
      {kNodeResourceTopologies, "NodeResourceTopology", {"v1alpha2", "v1alpha1"}, false, false},
      {kDevices, "Device", {"v1alpha1"}, false, false},
  };
  return kinds;
}

std::string api_version(std::string_view group, std::string_view version) {
  if (group.empty()) return std::string(version);
  return std::string(group) + "/" + std::string(version);
}

GroupVersion split_api_version(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {"", std::string(text)};
  return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

std::string guess_plural(std::string_view kind) {
  std::string plural(kind);
  std::transform(plural.begin(), plural.end(), plural.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (plural.ends_with("s") || plural.ends_with("x") || plural.ends_with("ch"))
    return plural + "es";
  if (plural.ends_with("y")) {
    plural.pop_back();
    return plural + "ies";
  }
  return plural + "s";
}

void convert_object(nlohmann::json& object, std::string_view to_api_version) {
  const std::string from = object.value("apiVersion", "");
  if (from == to_api_version) return;
  if (from == kEventsV1 || to_api_version == kEventsV1) {
    convert_event(object, to_api_version != kEventsV1);
  }
  object["apiVersion"] = to_api_version;
}

}  // namespace plimsoll::sandbox

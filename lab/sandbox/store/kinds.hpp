#pragma once
// The kinds that the sandbox serves, and the conversion of a stored object into its served
// versions.
//
// Objects are stored once per (group, plural), in the kind's storage version. Other served versions
// show the same objects with the apiVersion replaced (conversion strategy None, like the
// NodeResourceTopology CRD). Events are the exception: their two groups name the fields
// differently.

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::sandbox {

// Names a table of the store. The core group is "".
struct ResourceName {
  std::string group;
  std::string plural;
  // "pods", "leases.coordination.k8s.io": the name in messages.
  [[nodiscard]] std::string qualified() const;
  auto operator<=>(const ResourceName&) const = default;
};

struct KindInfo {
  ResourceName resource;
  std::string kind;                   // "Pod"
  std::vector<std::string> versions;  // the first one is the storage version
  bool namespaced = true;
  bool has_status = false;  // has a status subresource, which other updates leave alone
  // "Pod", "Device.scheduling.koordinator.sh": the name in validation messages.
  [[nodiscard]] std::string qualified_kind() const;
  [[nodiscard]] std::string storage_api_version() const;
};

inline const ResourceName kPods{"", "pods"};
inline const ResourceName kNodes{"", "nodes"};
inline const ResourceName kNamespaces{"", "namespaces"};
inline const ResourceName kServices{"", "services"};
inline const ResourceName kReplicationControllers{"", "replicationcontrollers"};
inline const ResourceName kReplicaSets{"apps", "replicasets"};
inline const ResourceName kStatefulSets{"apps", "statefulsets"};
inline const ResourceName kLimitRanges{"", "limitranges"};
inline const ResourceName kResourceQuotas{"", "resourcequotas"};
inline const ResourceName kEvents{"", "events"};
inline const ResourceName kLeases{"coordination.k8s.io", "leases"};
inline const ResourceName kDisruptionBudgets{"policy", "poddisruptionbudgets"};
inline const ResourceName kPersistentVolumes{"", "persistentvolumes"};
inline const ResourceName kPersistentVolumeClaims{"", "persistentvolumeclaims"};
inline const ResourceName kStorageClasses{"storage.k8s.io", "storageclasses"};
inline const ResourceName kCsiNodes{"storage.k8s.io", "csinodes"};
inline const ResourceName kCsiDrivers{"storage.k8s.io", "csidrivers"};
inline const ResourceName kCsiStorageCapacities{"storage.k8s.io", "csistoragecapacities"};
inline const ResourceName kVolumeAttachments{"storage.k8s.io", "volumeattachments"};
inline const ResourceName kNodeResourceTopologies{"topology.node.k8s.io", "noderesourcetopologies"};
inline const ResourceName kPriorityClasses{"scheduling.k8s.io", "priorityclasses"};
inline const ResourceName kPodGroups{"scheduling.k8s.io", "podgroups"};
inline const ResourceName kCoschedulingGroups{"scheduling.x-k8s.io", "podgroups"};
inline const ResourceName kRuntimeClasses{"node.k8s.io", "runtimeclasses"};
inline const ResourceName kResourceClaims{"resource.k8s.io", "resourceclaims"};
inline const ResourceName kResourceClaimTemplates{"resource.k8s.io", "resourceclaimtemplates"};
inline const ResourceName kResourceSlices{"resource.k8s.io", "resourceslices"};
inline const ResourceName kDeviceClasses{"resource.k8s.io", "deviceclasses"};
inline const ResourceName kDeviceTaintRules{"resource.k8s.io", "devicetaintrules"};
inline const ResourceName kDevices{"scheduling.koordinator.sh", "devices"};

// The kinds that every store serves from the start.
[[nodiscard]] const std::vector<KindInfo>& default_kinds();

// "v1" or "group/version".
[[nodiscard]] std::string api_version(std::string_view group, std::string_view version);

// Splits "group/version" ("v1": the core group).
struct GroupVersion {
  std::string group;
  std::string version;
};
[[nodiscard]] GroupVersion split_api_version(std::string_view api_version);

// The plural of an undeclared kind: "Widget" -> "widgets", "Policy" -> "policies".
[[nodiscard]] std::string guess_plural(std::string_view kind);

// Rewrites an event between core/v1 (message, involvedObject, source, count) and
// events.k8s.io/v1 (note, regarding, reportingController, deprecated*). Other objects only get
// the apiVersion.
void convert_object(nlohmann::json& object, std::string_view to_api_version);

}  // namespace plimsoll::sandbox

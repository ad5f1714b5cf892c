// Plimsoll plugin SDK: the kinds of <plimsoll/kinds.h> and <plimsoll/claims.h> by name.
//
//   host.watch(kServices);
//   const plimsoll_pod_selector* service = host.object(kServices, "shop", "web");
#pragma once

#include <plimsoll/claims.h>

#include <string_view>

namespace plimsoll::sdk {

template <typename Object>
struct Kind {
  std::string_view group;
  std::string_view version;
  std::string_view plural;
  std::string_view resource;  // as in events: "<plural>.<version>.<group>", or of core the plural
};

inline constexpr Kind<plimsoll_object> kNamespaces{"", "v1", "namespaces", "namespaces"};
inline constexpr Kind<plimsoll_pod_selector> kServices{"", "v1", "services", "services"};
inline constexpr Kind<plimsoll_pod_selector> kReplicationControllers{
    "", "v1", "replicationcontrollers", "replicationcontrollers"};
inline constexpr Kind<plimsoll_pod_selector> kReplicaSets{"apps", "v1", "replicasets",
                                                          "replicasets.v1.apps"};
inline constexpr Kind<plimsoll_pod_selector> kStatefulSets{"apps", "v1", "statefulsets",
                                                           "statefulsets.v1.apps"};
inline constexpr Kind<plimsoll_disruption_budget> kDisruptionBudgets{
    "policy", "v1", "poddisruptionbudgets", "poddisruptionbudgets.v1.policy"};

inline constexpr Kind<plimsoll_persistent_volume> kPersistentVolumes{"", "v1", "persistentvolumes",
                                                                     "persistentvolumes"};
inline constexpr Kind<plimsoll_persistent_volume_claim> kPersistentVolumeClaims{
    "", "v1", "persistentvolumeclaims", "persistentvolumeclaims"};
inline constexpr Kind<plimsoll_storage_class> kStorageClasses{
    "storage.k8s.io", "v1", "storageclasses", "storageclasses.v1.storage.k8s.io"};
inline constexpr Kind<plimsoll_csi_node> kCsiNodes{"storage.k8s.io", "v1", "csinodes",
                                                   "csinodes.v1.storage.k8s.io"};
inline constexpr Kind<plimsoll_csi_driver> kCsiDrivers{"storage.k8s.io", "v1", "csidrivers",
                                                       "csidrivers.v1.storage.k8s.io"};
inline constexpr Kind<plimsoll_csi_storage_capacity> kCsiStorageCapacities{
    "storage.k8s.io", "v1", "csistoragecapacities", "csistoragecapacities.v1.storage.k8s.io"};
inline constexpr Kind<plimsoll_volume_attachment> kVolumeAttachments{
    "storage.k8s.io", "v1", "volumeattachments", "volumeattachments.v1.storage.k8s.io"};

inline constexpr Kind<plimsoll_resource_claim> kResourceClaims{
    "resource.k8s.io", "v1", "resourceclaims", "resourceclaims.v1.resource.k8s.io"};
inline constexpr Kind<plimsoll_resource_slice> kResourceSlices{
    "resource.k8s.io", "v1", "resourceslices", "resourceslices.v1.resource.k8s.io"};
inline constexpr Kind<plimsoll_device_class> kDeviceClasses{
    "resource.k8s.io", "v1", "deviceclasses", "deviceclasses.v1.resource.k8s.io"};
inline constexpr Kind<plimsoll_device_taint_rule> kDeviceTaintRules{
    "resource.k8s.io", "v1", "devicetaintrules", "devicetaintrules.v1.resource.k8s.io"};

}  // namespace plimsoll::sdk

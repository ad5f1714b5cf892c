#pragma once
// The kinds in which reports are published: k8stopologyawareschedwg/noderesourcetopology-api, and
// Koordinator's for devices.

namespace plimsoll::node {

inline constexpr const char* kReportGroup = "topology.node.k8s.io";
inline constexpr const char* kReportVersion = "v1alpha2";
inline constexpr const char* kReportPlural = "noderesourcetopologies";

inline constexpr const char* kDeviceGroup = "scheduling.koordinator.sh";
inline constexpr const char* kDeviceVersion = "v1alpha1";
inline constexpr const char* kDevicePlural = "devices";
// What a scheduler gives a pod by number.
inline constexpr const char* kAllocatedAnnotation = "scheduling.koordinator.sh/device-allocated";

}  // namespace plimsoll::node

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
// On a pod: what is to hold it to its share of a GPU.
inline constexpr const char* kIsolationLabel = "koordinator.sh/gpu-isolation-provider";

}  // namespace plimsoll::node

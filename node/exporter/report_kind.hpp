#pragma once
// The kind in which reports are published (k8stopologyawareschedwg/noderesourcetopology-api).

namespace plimsoll::node {

inline constexpr const char* kReportGroup = "topology.node.k8s.io";
inline constexpr const char* kReportVersion = "v1alpha2";
inline constexpr const char* kReportPlural = "noderesourcetopologies";

}  // namespace plimsoll::node

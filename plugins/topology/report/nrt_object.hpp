#pragma once
// A NodeResourceTopology object (topology.node.k8s.io, v1alpha2 or v1alpha1) as values.
//
// The scheduler reads these fields: zones of type "Node" named "node-<id>", with their costs and
// resources; the Topology Manager's policy, scope and limit from `attributes`, which override
// topologyPolicies[0]; the pod fingerprint, from the attribute or else the annotation. Both
// versions have these fields in the same places. Attributes and the annotations with node facts
// (kubelet/facts.hpp) are kept unchanged. Pure functions, any thread.
//
// Zones of other types, with other names, or with ids above 63 (the limit of a kubelet's masks) are
// ignored. A field that the CRD requires and that is missing or of the wrong type is an error that
// names the field. A report with more resource names than any kubelet has is an error too, because
// every zone needs a row for each name.
//
// Only allocatable may be missing. If a zone has a resource available and nothing of it
// allocatable, the exporter did not report allocatable; then capacity is used wherever allocatable
// of that resource is missing. Reading takes time proportional to the length of the text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/base/result.hpp"
#include "plugins/topology/kubelet/policy.hpp"

namespace plimsoll::topology {

// Amounts in base units (milli for cpu).
struct ZoneResource {
  std::string name;
  int64_t capacity = 0;
  int64_t allocatable = 0;
  int64_t available = 0;
};

inline constexpr int32_t kUnknownDistance = 255;  // to zones without a reported cost

struct ZoneCost {
  uint32_t zone_id = 0;
  int32_t value = 0;
};

struct NrtZone {
  uint32_t id = 0;
  std::vector<ZoneCost> costs;
  std::vector<ZoneResource> resources;
};

struct TopologyManager {
  Policy policy = Policy::kNone;
  Scope scope = Scope::kContainer;
  uint16_t max_numa_nodes = 8;
};

// Which pods an exporter counts in its fingerprint.
enum class FingerprintMethod : uint8_t { kAll, kExclusiveResources };

// Where the fingerprint and its method are: attributes, and an annotation for older readers.
inline constexpr std::string_view kFingerprintAttribute = "nodeTopologyPodsFingerprint";
inline constexpr std::string_view kFingerprintMethodAttribute = "nodeTopologyPodsFingerprintMethod";
inline constexpr std::string_view kFingerprintAnnotation = "topology.node.k8s.io/fingerprint";

// An attribute that plimsoll-node sets from when the kubelet ends until its next one has taken up
// the node's pods.
inline constexpr std::string_view kKubeletStateAttribute = "kubeletState";
inline constexpr std::string_view kKubeletAway = "away";

// Annotations that carry node facts: what is fixed, and what is free.
inline constexpr std::string_view kMachineAnnotation = "topology.plimsoll.io/machine";
inline constexpr std::string_view kFreeAnnotation = "topology.plimsoll.io/free";

struct NrtAttribute {
  std::string name;
  std::string value;
  bool operator==(const NrtAttribute&) const = default;
};

inline constexpr size_t kMaxResources = 256;  // names in a report

struct NrtObject {
  std::string name;  // of the node
  std::string resource_version;
  int64_t written_ms = 0;              // newest managedFields time; 0: not there
  std::vector<std::string> node_uids;  // of the Nodes that own it
  std::vector<NrtZone> zones;          // in the order of the object
  TopologyManager manager;
  std::string fingerprint;  // "pfp0v001..."; empty: none
  FingerprintMethod method = FingerprintMethod::kAll;
  bool kubelet_away = false;             // kKubeletStateAttribute
  std::vector<NrtAttribute> attributes;  // in the order of the object, koordlet's settings last
  std::string machine_facts;             // text of kMachineAnnotation; empty: not there
  std::string free_facts;                // text of kFreeAnnotation
  // In the counts, or in what koordlet says (koordlet.hpp), and how it is handled; empty: none.
  std::string contradiction;
};

// `json` is one object, as an API server sends it in a watch event or a list.
[[nodiscard]] Parsed<NrtObject> parse_nrt(std::string_view json);

// The id in "node-<id>", or -1.
[[nodiscard]] int zone_id_of(std::string_view zone_name);

}  // namespace plimsoll::topology

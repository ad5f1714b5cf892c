#pragma once
// The resources of a pod: PodRequests and PodLimits of component-helpers 0.37, the QoS class, and
// what NodeInfo counts for a pod on its node. All with exact quantities; decode_pod stores the
// results in the pod in base units.
//
// Pure functions; any thread.

#include <plimsoll/resource_names.hpp>

#include <optional>
#include <string_view>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/api/quantity.hpp"
#include "framework/base/result.hpp"

namespace plimsoll {

class SymbolTable;

struct Amount {
  plimsoll_str name;
  Quantity quantity;
};

// A v1.ResourceList: usually few entries, each name once, in any order.
using ResourceList = std::vector<Amount>;

[[nodiscard]] const Quantity* find_amount(const ResourceList& list, std::string_view name);

// The resources of one container, from its spec and, for an in-place resize, from its status.
struct ContainerResources {
  uint32_t kind = PLIMSOLL_CONTAINER_APP;
  std::string_view name;  // while decoding only: it joins spec and status
  ResourceList requests;
  ResourceList limits;
  // The kubelet said what it has: resources or allocatedResources of the container's status. A list
  // that is empty there was not said.
  bool has_status = false;
  ResourceList actuated_requests;
  ResourceList actuated_limits;
  ResourceList allocated;
};

// Everything about a pod that its resource sums and its QoS class depend on.
struct PodResources {
  std::vector<ContainerResources> init_containers;  // including sidecars, in spec order
  std::vector<ContainerResources> containers;
  ResourceList overhead;
  ResourceList pod_requests;
  ResourceList pod_limits;
  ResourceList claim_amounts;   // status.nodeAllocatableResourceClaimStatuses, added up
  bool has_pod_status = false;  // status.resources is set
  ResourceList pod_actuated_requests;
  ResourceList pod_actuated_limits;
  ResourceList pod_allocated;
  bool resize_infeasible = false;  // condition PodResizePending, reason Infeasible
};

// Reads a pod's JSON as decode_pod does. Names are interned texts.
[[nodiscard]] Result<PodResources> decode_pod_resources(std::string_view json,
                                                        SymbolTable& symbols);

struct ResourceOptions {
  bool use_status = false;                    // UseStatusResources, also at pod level
  bool skip_pod_level = false;                // SkipPodLevelResources
  bool exclude_overhead = false;              // ExcludeOverhead
  const ResourceList* non_missing = nullptr;  // NonMissingContainerRequests
};

[[nodiscard]] ResourceList pod_requests(const PodResources& pod, const ResourceOptions& options);
[[nodiscard]] ResourceList pod_limits(const PodResources& pod, const ResourceOptions& options);

// ComputePodQOS: PLIMSOLL_QOS_...
[[nodiscard]] uint8_t compute_qos(const PodResources& pod);

// The amounts of a pod for scores: a container without a request counts as 100m CPU and 200 MiB.
struct NonZero {
  int64_t cpu = 0;
  int64_t memory = 0;
};
[[nodiscard]] NonZero nonzero_requests(const PodResources& pod);

// Base units: thousandths for cpu, whole units for everything else.
[[nodiscard]] int64_t base_units(std::string_view resource, const Quantity& quantity);

// Whether a kubelet can take the quantity for a whole number: AsInt64 of what the API server sends,
// which is the canonical form.
[[nodiscard]] bool is_int64(const Quantity& quantity);

// Whether nodes account for a resource of this name: cpu, memory, ephemeral-storage, pods, and the
// names that IsScalarResourceName accepts (extended resources, hugepages-*, attachable-volumes-*
// and kubernetes.io/ names).
[[nodiscard]] bool is_node_resource(std::string_view name);
using sdk::is_extended_resource;

}  // namespace plimsoll

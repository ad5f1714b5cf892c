#pragma once
// What of a pod the topology rules look at, computed once per call and then read for every node.

#include <plimsoll/objects.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::topology {

// How the rules treat a resource, by its name.
struct ResourceTraits {
  // cpu, memory, hugepages-*: pods that are not Guaranteed need it only to be there.
  bool guaranteed_only = false;
  // Not native: extended resources and devices (v1helper.IsNativeResource is false).
  bool extended = false;
  // ephemeral-storage, storage and what is not native: may be absent from every zone.
  bool host_level = false;
  // framework.Resource keeps it, so a node's allocatable may lack it but not lose it.
  bool in_node_info = false;
};
[[nodiscard]] ResourceTraits traits_of(std::string_view resource);

struct Request {
  uint32_t resource = 0;  // plimsoll_resource.index
  int64_t amount = 0;     // base units
  std::string_view name;  // of the pod object
  ResourceTraits traits;
};
using Requests = std::vector<Request>;

struct ContainerRequest {
  uint32_t kind = PLIMSOLL_CONTAINER_APP;
  std::string_view name;
  Requests requests;
  // What a kubelet takes exclusively from zones: whole CPUs, memory and hugepages of Guaranteed
  // pods, and extended resources of any pod. Amounts above 0.
  Requests pinned;
};

// Views into the pod: valid as long as it is.
struct PodRequest {
  explicit PodRequest(const plimsoll_pod& pod);
  // What is pinned, to be kept when the pod is not: no names, no other requests.
  [[nodiscard]] PodRequest without_views() const;
  // Moves all names into `text`, so that the pod need not be kept; `text` stays where it is.
  void keep_names(std::string& text);
  // The most of a pinned resource that the containers hold at one time (podGuaranteedCPUs and its
  // kin): init containers reuse one another's, sidecars keep theirs.
  [[nodiscard]] int64_t pinned_total(uint32_t resource) const;

  uint8_t qos = PLIMSOLL_QOS_BEST_EFFORT;
  bool guaranteed = false;
  bool has_extended = false;     // a container names an extended resource, whatever the amount
  bool has_pinned_init = false;  // an init container or sidecar pins something
  bool has_pinned = false;       // anything is pinned
  std::vector<ContainerRequest> containers;  // init containers first, in spec order
  uint32_t init_count = 0;
  // max(sum of app containers, largest init container) + overhead, per resource; no sidecar sums.
  Requests effective;
};

}  // namespace plimsoll::topology

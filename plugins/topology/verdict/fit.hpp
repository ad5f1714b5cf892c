#pragma once
// Admission model Reference: the single-numa-node rule of KEP-119, as the NodeResourceTopologyMatch
// plugin of scheduler-plugins applies it. Pure; the node is only read; any thread.
//
// The zones that can hold a request form a mask: for each requested resource, the zones that have
// enough of it; all these masks ANDed. An empty mask rejects the pod. In pod scope the whole pod is
// one request. In container scope each init container is checked alone; each app container takes
// its request from the lowest zone that holds it before the next container is checked.

#include <plimsoll/objects.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "plugins/topology/abi/ledger_types.hpp"
#include "plugins/topology/pod/pod_request.hpp"

namespace plimsoll::topology {

// The reference's words where it has some; empty for kFits.
[[nodiscard]] std::string_view message_of(Verdict verdict);

// The node's allocatable; shows which resources it has at all.
struct NodeAllocatable {
  const plimsoll_list* list = nullptr;  // plimsoll_resource: node.status.allocatable
  const int64_t* vector = nullptr;      // by resource index, or null
  uint32_t count = 0;

  [[nodiscard]] bool has(const Request& request) const;
};

// Memory that calls reuse, so that no node needs an allocation. One per thread.
struct Scratch {
  std::vector<int64_t> cells;
  std::vector<int64_t> more;
  std::vector<uint32_t> rows;
};

// Whether the pod's zones have to be checked: BestEffort pods without extended resources need no
// check.
[[nodiscard]] bool needs_alignment(const PodRequest& pod);

// `node` null: the node reported no topology, everything fits.
[[nodiscard]] Verdict reference_fit(const PodRequest& pod, const plimsoll_numa_node* node,
                                    const NodeAllocatable& allocatable, Scratch& scratch);

// Takes what the pod pins from `free` (by cell of the node): each container (scope pod, or where
// init containers pin something: the pod) from the lowest zone that holds it all, or else from the
// zone that has most of the first resource.
void reference_take(const PodRequest& pod, const plimsoll_numa_node& node, int64_t* free);

// The first request that leaves no zone, for explanations; resource is a view into the pod. Call
// after reference_fit refused.
struct Shortage {
  std::string_view container;  // empty: the pod as a whole
  std::string_view resource;
  int64_t need = 0;
  bool on_node = true;     // false: the node does not have the resource at all
  bool listed = false;     // some zone lists it
  uint32_t best_zone = 0;  // the zone that has most of it
  int64_t best_free = 0;
  bool alone = false;  // false: each resource alone has a zone, but no zone has them all
};
[[nodiscard]] Shortage explain_shortage(const PodRequest& pod, const plimsoll_numa_node& node,
                                        const NodeAllocatable& allocatable, Scratch& scratch);

}  // namespace plimsoll::topology

#pragma once
// Where a pod's containers will land: the zones that the kubelet would choose on the counts of the
// report. Pure; any thread.
//
// Under single-numa-node every container (scope container) or the pod as a whole (scope pod) goes
// to the lowest zone that has all it pins. What a finished init container held is reused by the
// containers after it and binds them to its zone, sidecars keep theirs. Under the other policies
// the lowest zone that has everything is taken, or else zones in ascending order. A resource that
// no zone lists has no say (its manager is off, or it is not tied to zones).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/fit.hpp"
#include "plugins/topology/ledger_service.h"
#include "plugins/topology/pod_request.hpp"

namespace plimsoll::topology {

// What a pod takes from one zone, all containers together.
struct Charge {
  uint32_t zone_id = 0;
  uint32_t resource = 0;
  int64_t amount = 0;   // at most, over the pod's life
  int64_t visible = 0;  // of that, what reports count: sidecars and app containers
  int64_t held = 0;     // of that, what the pod keeps though reports do not count it
};

struct Placement {
  bool complete = true;                     // false: the kubelet would refuse the pod
  std::vector<plimsoll_numa_charge> where;  // per container
  std::vector<Charge> charges;
};

enum class Doubt {
  kRefuse,  // stop at the first container that has no zone
  kCharge   // the pod is bound already: charge it to the zone with most, even beyond what is there
};

[[nodiscard]] Placement predict(const PodRequest& pod, const plimsoll_numa_node& node, Doubt doubt,
                                Scratch& scratch);

// The annotation topology.plimsoll.io/zones: {"container":{"resource":[zone,...]}}, compact; empty
// if nothing is placed.
inline constexpr std::string_view kZonesAnnotation = "topology.plimsoll.io/zones";
[[nodiscard]] std::string zones_annotation(const PodRequest& pod,
                                           const std::vector<plimsoll_numa_charge>& where);
// What an annotation says of the pod's pinned resources: a charge, without an amount, per
// container, resource and zone. Empty: nothing, or it cannot be read.
[[nodiscard]] std::vector<plimsoll_numa_charge> zones_of(std::string_view annotation,
                                                         const PodRequest& pod);
// The placement that it names; a resource that it spreads over several zones is charged to them in
// ascending order, as far as each has it. Not complete if it does not fit the pod or the node: then
// predict instead.
[[nodiscard]] Placement placement_of(const std::vector<plimsoll_numa_charge>& named,
                                     const PodRequest& pod, const plimsoll_numa_node& node,
                                     Scratch& scratch);

}  // namespace plimsoll::topology

#pragma once
// The annotation topology.plimsoll.io/zones of a bound pod: which zones its containers were
// promised. {"container":{"resource":[zone,...]}}, compact. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/pod/pod_request.hpp"
#include "plugins/topology/possible/placement.hpp"
#include "plugins/topology/verdict/fit.hpp"

namespace plimsoll::topology {

inline constexpr std::string_view kZonesAnnotation = "topology.plimsoll.io/zones";

// Empty if nothing is placed.
[[nodiscard]] std::string zones_annotation(const PodRequest& pod,
                                           const std::vector<plimsoll_numa_charge>& where);

// Of a pod of which only is known what it holds as a whole: each container is said to be in all
// zones from which the pod has some of what the container pins.
[[nodiscard]] std::string zones_annotation(const PodRequest& pod, const std::vector<Charge>& held);

// What an annotation says of the pod's pinned resources: a charge, without an amount, per
// container, resource and zone. Empty: nothing, or it cannot be read.
[[nodiscard]] std::vector<plimsoll_numa_charge> zones_of(std::string_view annotation,
                                                         const PodRequest& pod);

// The placement that it names; a resource that it spreads over several zones is charged to them in
// ascending order, as far as each has it. What a finished init container held is reused by the
// containers after it. Not complete if it does not fit the pod or the node.
[[nodiscard]] Placement placement_of(const std::vector<plimsoll_numa_charge>& named,
                                     const PodRequest& pod, const plimsoll_numa_node& node,
                                     Scratch& scratch);

}  // namespace plimsoll::topology

#pragma once
// Devices in the zones of the pod's CPUs and memory.
//
// The kubelet chooses the zones of CPUs and memory, and of the devices that it hands out itself; it
// knows nothing of devices that are given by minor. So the zones that it will choose are asked for
// (zone_forecast.hpp), and the devices go there. How strictly, is the policy's matter; it decides
// as the kubelet's topology manager would, with one hint for what the kubelet gives (its zones, and
// preferred if it is not spread over more of them than their sizes call for), and one for every set
// of zones that has the pod's devices (preferred if there is no smaller set):
//
//   none            The zones of the containers that ask for devices if they have them, type by
//                   type; else any.
//   BestEffort      The same for all types, else the fewest zones.
//   Restricted      All hints are preferred and name the same zones: or the node is refused.
//   SingleNUMANode  The same, and it is one zone.
//
// Of what the kubelet does not tie to zones, or if nobody knows, only the devices' own zones count.
// A device without a zone fits any.
//
// Pure; any thread that may read the node.

#include <array>
#include <string>

#include "plugins/nodedevice/allocation/allocator.hpp"
#include "plugins/nodedevice/allocation/zone_sets.hpp"
#include "plugins/nodedevice/requests/numa_spec.hpp"

namespace plimsoll::devices {

// The zones that the kubelet is expected to give a pod on one node.
struct PodZones {
  ZoneSet all = 0;      // of the containers that stay; empty: not tied to zones, or not known
  bool spread = false;  // more of them than their sizes call for
  // It is tied to zones, and which these are depends on where the pods are that a what-if takes
  // away.
  bool is_doubtful = false;
  // Of the containers that ask for devices of a type, or of what the kubelet itself hands out of
  // that type; empty: as `all`.
  std::array<ZoneSet, kMaxTypes> of_type{};

  [[nodiscard]] ZoneSet near(int type) const {
    const ZoneSet own = of_type[static_cast<size_t>(type)];
    return own != 0 ? own : all;
  }
};

// Zones of other pods that are in one zone only, and of those that are spread over several.
struct OtherPods {
  ZoneSet by_single = 0;
  ZoneSet by_spread = 0;
};

struct NumaTerms {
  NumaSpec spec;  // the pod's, or the node's policy
  PodZones pod;
  OtherPods others;
};

// Whether such a pod may be refused for its zones. False: Allocator::check says all.
[[nodiscard]] bool zones_may_refuse(const NumaSpec& spec, const PodDemand& demand);

// As Allocator::allocate, on these terms. Where the allocator finds nothing at all its verdict is
// returned.
[[nodiscard]] Verdict allocate_in_zones(const Allocator& allocator, const NodeState& node,
                                        const NodeLabels& labels, const PodDemand& demand,
                                        const NumaTerms& terms, Allocation& allocation,
                                        SharedDeviceChoice* choice = nullptr);

// The zones of what was given.
[[nodiscard]] ZoneSet zones_of(const NodeState& node, const Allocation& allocation);

// What a decision rests on, for people: "NUMA policy Restricted; the kubelet gives zones 0,1".
[[nodiscard]] std::string explain_zones(const NodeState& node, const PodDemand& demand,
                                        const NumaTerms& terms);

}  // namespace plimsoll::devices

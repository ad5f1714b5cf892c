#pragma once
// PreserveLargeZones: what placing a pod costs those that come after it and need much of a zone, or
// whole zones. Integer arithmetic, one pass over the zones per resource; pure; any thread.
//
// The worth of a node is how much of it pods of several widths could have, each width on its own:
// a whole zone, a half, a quarter and an eighth; where pods may be wider than a zone (not under
// single-numa-node) also 2, 4, 8, ... untouched zones together. The cost of a pod is by how much
// the worth falls, summed over the widths: 4 of 32 CPUs of an untouched zone cost a whole, a half,
// a quarter and an eighth of the zone, 4 CPUs of one that is broken up already cost an eighth.
//
// Worth ends where the node's CPUs do: ordinary pods take no CPU of a zone in particular, but what
// they request cannot be given to aligned pods. They cost what they take beyond the debris that no
// width could use. Each free device needs its part of its zone's CPUs: CPUs that leave devices
// behind without any cost these too.

#include <cstdint>

#include "plugins/topology/score.hpp"

namespace plimsoll::topology {

// CPU that the pods on a node request, aligned or not; milli.
struct NodeCpu {
  int64_t requested = 0;
};

// One pod, asked about many nodes: 0 to 100, the more the less there is to lose and the less of it
// is lost per unit that the pod takes. Nodes without alignment (policy none, no CPUs in zones) have
// nothing to lose: 100.
class WidthCost {
 public:
  // `cpu`: what the pod requests of it, aligned or not; milli.
  WidthCost(PodWeights weights, int64_t cpu);

  // A pod that pins nothing.
  [[nodiscard]] int64_t ordinary(const plimsoll_numa_node& node, const NodeCpu& cpu) const;
  // A pod that was predicted to use these zones.
  [[nodiscard]] int64_t aligned(const plimsoll_numa_node& node, const plimsoll_numa_use& use,
                                const NodeCpu& cpu) const;

 private:
  PodWeights weights_;
  int64_t cpu_;  // what the pod requests, at least as much as an empty request counts elsewhere
};

}  // namespace plimsoll::topology

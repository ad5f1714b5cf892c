#pragma once
// PreserveLargeZones: how much a pod's placement costs later pods that need a large part of a zone,
// or whole zones. Integer arithmetic, one pass over the zones per resource; pure; any thread.
//
// The worth of a node is how much of it pods of several widths could get, each width considered
// alone: a whole zone, a half, a quarter and an eighth; where pods may be wider than a zone (not
// under single-numa-node) also 2, 4, 8, ... untouched zones together. The cost of a pod is the loss
// of worth, summed over the widths. 4 of 32 CPUs of an untouched zone cost a whole, a half, a
// quarter and an eighth of the zone; 4 CPUs of a zone that is already fragmented cost an eighth.
//
// The node's CPUs limit the worth: ordinary pods take CPUs of no particular zone, but aligned pods
// cannot get what ordinary pods request. Ordinary pods cost what they take beyond the remainder
// that no width could use. Each free device needs its share of its zone's CPUs; taking CPUs so that
// devices are left without any costs these devices too.

#include <cstdint>

#include "plugins/topology/score/score.hpp"

namespace plimsoll::topology {

// CPU that the pods on a node request, aligned or not; milli.
struct NodeCpu {
  int64_t requested = 0;
};

// Scores one pod on many nodes, 0 to 100. The score is higher if there is less to lose, and if less
// is lost per unit that the pod takes. Nodes without alignment (policy none, no CPUs in zones) have
// nothing to lose: 100.
class WidthCost {
 public:
  // `cpu`: the pod's CPU request, aligned or not; milli.
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

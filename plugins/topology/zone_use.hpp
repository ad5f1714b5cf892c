#pragma once
// The zones that a pod's containers will use on a node, on the zone counts of the ledger's view:
// what scores look at. Cheap enough to be asked of thousands of nodes for one pod; allocates
// nothing once a ZoneUse has grown. Pure; any thread, one ZoneUse per thread.
//
// As the kubelet chooses: the lowest zone that has all that a container pins (scope pod: the whole
// pod), or else, unless the policy is single-numa-node, the smallest set of zones that have it
// together, the lowest of as many; restricted takes no more zones than their sizes call for.
// Containers take their share one after the other; what a finished init container held is reused.
// From a set of zones amounts are taken in ascending order. A resource that no zone lists has no
// say. Whether the kubelet admits the pod is not decided here but by Filter, which knows more.

#include <cstdint>
#include <vector>

#include "plugins/topology/ledger_service.h"
#include "plugins/topology/pod_request.hpp"

namespace plimsoll::topology {

// Where a pod would land on one node.
struct ZoneUse {
  bool admitted = false;  // all containers have their zones; else the rest says nothing
  bool promised = false;  // the node's policy keeps to them: it is not `none`
  uint32_t width = 0;     // zones of the widest container (scope pod: of the pod); 0: none is tied
  uint64_t widest = 0;    // these zones, as columns
  uint64_t zones = 0;     // of all containers together
  // Of the container that is spread furthest beyond what the sizes of the zones call for:
  uint32_t used = 0;
  uint32_t needed = 0;
  std::vector<uint32_t> rows;   // of ZonePredictor::resources(); kNoRow where no zone lists one
  std::vector<uint64_t> taken;  // by row: columns that something is taken from
  std::vector<int64_t> free;    // by cell: what is free once all containers have their share

  // No container is spread over more zones than its size calls for, and the kubelet keeps to it.
  [[nodiscard]] bool aligned() const { return promised && used <= needed; }

 private:
  friend class ZonePredictor;
  std::vector<int64_t> reusable_;  // by cell: what finished init containers left to this pod
};

// One pod, asked about many nodes.
class ZonePredictor {
 public:
  explicit ZonePredictor(const PodRequest& pod);

  // What the pod pins, in the order in which its containers name it.
  [[nodiscard]] const std::vector<uint32_t>& resources() const { return resources_; }

  // Returns use.admitted. A pod that pins nothing is admitted everywhere and uses no zone.
  bool predict(const plimsoll_numa_node& node, ZoneUse& use) const;

 private:
  struct Need {
    uint32_t which = 0;  // of resources_
    bool binds = false;  // what was reused must be part of it
    int64_t amount = 0;  // above 0
  };
  using Needs = std::vector<Need>;
  struct Container {
    bool plain_init = false;
    Needs needs;
  };
  struct Walk;

  bool reuses_;  // an init container may leave something to the next
  std::vector<uint32_t> resources_;
  std::vector<Container> containers_;  // those that pin something
  Needs totals_;  // scope pod: the most that the containers pin at one time, per resource
};

}  // namespace plimsoll::topology

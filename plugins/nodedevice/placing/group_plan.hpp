#pragma once
// Where members of a group fit together on one node, and how near their devices are to one another.
// Pure; any thread, on node states that nobody changes meanwhile.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nodedevice/allocation/what_if.hpp"

namespace plimsoll::devices {

// Members that have no place yet, of one shape: they are interchangeable.
struct Seekers {
  size_t count = 0;
  std::shared_ptr<const PodDemand> demand;  // null: they ask for no device
  // What each asks a node for, by position in resource vectors; the pod itself is one of "pods".
  std::vector<std::pair<uint32_t, int64_t>> requests;
  std::string shape;  // of its requests
};

// One node as the group may use it. Its devices are judged by their state; where they are the
// kubelet's business (unmanaged), by the node's resource vectors alone.
struct NodeRoom {
  NodeState devices;
  NodeLabels labels;
  std::vector<int64_t> free;     // allocatable minus requested, by position; shorter: nothing there
  std::vector<Allocation> near;  // what members on this node have
};

// Who of the members gets what on that node.
struct Placement {
  struct Given {
    size_t seekers = 0;  // to one of these: the position in the list
    Allocation devices;
  };
  std::vector<Given> given;  // by that position; there is no room for others
  int zones = 0;   // NUMA zones that the group's devices on this node are in, fellows' included
  int places = 0;  // PCIe ids, the same
  int idle = 0;    // devices that stay unused, in percent of all: 100 is an empty node
};

// In the order of `all`, as many as fit: one look for each who gets a place, and one more for each
// of `all`. If all who fit ask for the same number of whole devices, these are first chosen as one
// set, as near together as the allocator can, and then divided: what one pod would get, several
// get.
[[nodiscard]] Placement place_together(const DeviceTypes& types, const Allocator& allocator,
                                       const NodeRoom& room, std::span<const Seekers> all);

// 0 to 100: how good the node is for the first of `members` that need a place.
[[nodiscard]] int64_t score_placement(const Placement& placement, size_t members, bool has_fellows);

}  // namespace plimsoll::devices

#pragma once
// The links of one node's devices, by device type: what its annotations and its partition table say
// about the devices that it has. Immutable; any thread.

#include <array>
#include <memory>
#include <vector>

#include "plugins/nodedevice/devices/device_object.hpp"
#include "plugins/nodedevice/devices/link_graph.hpp"

namespace plimsoll::devices {

struct TypeLinks {
  // Of all devices in the Device object, ascending: vertex i of the graph is minors[i].
  std::vector<int32_t> minors;
  std::shared_ptr<const LinkGraph> graph;  // null: no two of them are linked
  bool by_partitions = false;              // it follows from the partition table

  // Some sets are better than others of the same size.
  [[nodiscard]] bool matter() const { return graph != nullptr && !graph->is_uniform(); }
  // -1: the Device object does not have it.
  [[nodiscard]] int vertex(int32_t minor) const;
};
using NodeLinks = std::array<TypeLinks, kMaxTypes>;

// More devices of one type than this have no links.
inline constexpr size_t kMaxLinkedDevices = 128;

// The first of these that is there decides, whatever is in it: the annotation of the Device object;
// that of the Node object (null: none); for types with partitions, the partition table. By a table,
// two devices are linked as fast as the smallest partition with both says, by one lane if it names
// a kind of link only; a table that calls a set faster than a part of it says nothing about links.
[[nodiscard]] std::shared_ptr<const NodeLinks> links_of(const DeviceTypes& types,
                                                        const NodeDevices& devices,
                                                        const LinkTable* of_node);

}  // namespace plimsoll::devices

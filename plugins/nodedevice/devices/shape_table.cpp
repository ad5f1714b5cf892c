#include "plugins/nodedevice/devices/shape_table.hpp"

#include <algorithm>

namespace plimsoll::devices {
namespace {

// What the node, its devices and its pods are called has no part in whether devices fit.
NodeDevices without_names(NodeDevices object) {
  object.name.clear();
  object.checkpoints.clear();
  object.held_by_pod.clear();
  object.unreadable.clear();
  object.warnings.clear();
  for (auto& devices : object.by_type) {
    for (DeviceInfo& device : devices) {
      device.id.clear();
      device.bus_id.clear();
      device.bus.clear();
      // Which one is healthy, and which virtual function is free, is part of the state.
      device.is_healthy = false;
      device.problem.clear();
      for (VirtualFunction& vf : device.vfs) vf = VirtualFunction{};
      device.vf_groups.clear();
    }
  }
  return object;
}

// Shapes are kept for ever, so only those of a size that machines have.
bool is_small(const NodeDevices& object) {
  size_t size = object.partition_policy.size() + object.gpu_model.size() + object.gpu_vendor.size();
  for (const auto& devices : object.by_type)
    for (const DeviceInfo& device : devices) {
      size += 32 + device.vfs.size() + device.pcie_id.size();
      for (const auto& [key, value] : device.labels) size += 32 + key.size() + value.size();
    }
  for (const auto& [count, partitions] : object.partitions)
    for (const Partition& partition : partitions) size += 8 + partition.minors.size();
  if (object.links)
    for (const auto& links : *object.links)
      for (const DeviceLink& link : links) size += 8 + link.minors.size();
  return size <= ShapeTable::kMaxSize;
}

}  // namespace

uint32_t ShapeTable::intern(const NodeDevices& object) {
  if (!is_small(object)) return 0;
  NodeDevices shape = without_names(object);
  const auto found = std::find(shapes_.begin(), shapes_.end(), shape);
  if (found != shapes_.end()) return static_cast<uint32_t>(found - shapes_.begin()) + 1;
  if (shapes_.size() == kMaxShapes) return 0;
  shapes_.push_back(std::move(shape));
  return count();
}

}  // namespace plimsoll::devices

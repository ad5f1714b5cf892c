#include "plugins/nodedevice/shape_table.hpp"

#include <algorithm>

namespace plimsoll::devices {
namespace {

// What the node, its devices and its pods are called has no part in whether devices fit.
NodeDevices without_names(NodeDevices object) {
  object.name.clear();
  object.checkpoints.clear();
  object.warnings.clear();
  for (auto& devices : object.by_type) {
    for (DeviceInfo& device : devices) {
      device.id.clear();
      device.bus_id.clear();
      // Which one is healthy, and which virtual function is free, is part of the state.
      device.is_healthy = false;
      for (VirtualFunction& vf : device.vfs) vf = VirtualFunction{};
    }
  }
  return object;
}

}  // namespace

uint32_t ShapeTable::intern(const NodeDevices& object) {
  NodeDevices shape = without_names(object);
  const auto found = std::find(shapes_.begin(), shapes_.end(), shape);
  if (found != shapes_.end()) return static_cast<uint32_t>(found - shapes_.begin()) + 1;
  if (shapes_.size() == kMaxShapes) return 0;
  shapes_.push_back(std::move(shape));
  return count();
}

}  // namespace plimsoll::devices

#pragma once
// Nodes whose Device objects differ in nothing but names: they have the same kinds of devices at
// the same places, so what is found out about one holds for all of them. A number for each such
// shape.
//
// One for all nodes (Accounts has it). Loop only to change; any thread may read while the loop
// waits.

#include <cstdint>
#include <deque>

#include "plugins/nodedevice/devices/device_object.hpp"

namespace plimsoll::devices {

class ShapeTable {
 public:
  // The number of the object's shape, from 1 on. 0 once there are kMaxShapes: such nodes are looked
  // at one by one.
  uint32_t intern(const NodeDevices& object);

  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(shapes_.size()); }
  // An object of that shape, without the names; `shape` from 1 to count().
  [[nodiscard]] const NodeDevices& at(uint32_t shape) const { return shapes_[shape - 1]; }

  static constexpr size_t kMaxShapes = 256;
  static constexpr size_t kMaxSize = 16'384;  // of one, in about bytes; larger ones have number 0

 private:
  std::deque<NodeDevices> shapes_;
};

}  // namespace plimsoll::devices

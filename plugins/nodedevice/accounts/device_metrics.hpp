#pragma once
// The plugin's metrics: how many devices there are, by type and by what may be done with them, and
// how often something could not be read. Kept up to date node by node. Loop only.

#include <array>
#include <plimsoll/host.hpp>
#include <string_view>
#include <vector>

#include "plugins/nodedevice/accounts/accounts.hpp"

namespace plimsoll::devices {

class DeviceMetrics {
 public:
  // `accounts` outlives it.
  DeviceMetrics(const sdk::Host& host, const Accounts& accounts);

  // What is known of the node in this slot may have changed, or the node is gone.
  void node_changed(uint32_t slot);

  // What is wrong with an object, once for each new thing.
  enum class Problem {
    kDeviceUnreadable,      // a Device object: no device of that node is given
    kEntryUnreadable,       // an entry of it: that device is not given
    kPartitionsIgnored,     // its annotation gpu-partitions
    kCheckpointsIgnored,    // its annotation devices-checkpoints, or the other spelling
    kLinksIgnored,          // its annotation device-links
    kNodeLinksIgnored,      // the same of a Node object
    kOtherIgnored,          // another part of it
    kAllocationUnreadable,  // a pod's device-allocated: what it may mean counts as used
    kAllocationIgnored,     // the same, about devices that the pod does not ask for
  };
  void problem(Problem problem) const;
  // Which of them a warning of parse_device_object is.
  [[nodiscard]] static Problem of_warning(std::string_view warning);

 private:
  static constexpr size_t kStates = 7;   // of a device
  static constexpr size_t kObjects = 3;  // Device objects: read, unreadable, gone
  struct Counts {
    std::array<std::array<int64_t, kStates>, kMaxTypes> devices{};
    std::array<int64_t, kObjects> objects{};
  };
  [[nodiscard]] Counts count(const NodeState* node) const;

  const Accounts& accounts_;
  sdk::GaugeMetric devices_;
  sdk::GaugeMetric objects_;
  sdk::CounterMetric problems_;
  std::vector<Counts> by_slot_;
  Counts all_;
};

}  // namespace plimsoll::devices

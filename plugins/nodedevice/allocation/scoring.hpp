#pragma once
// LeastAllocated and MostAllocated over device resources, for nodes and for the devices of a node.
// Pure; any thread.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nodedevice/accounts/node_state.hpp"
#include "plugins/nodedevice/requests/device_hints.hpp"
#include "plugins/nodedevice/requests/device_request.hpp"

namespace plimsoll::devices {

enum class Strategy { kLeastAllocated, kMostAllocated };

class Scorer {
 public:
  // `weights`: resource names with their weights; names that no device type has are ignored.
  Scorer(const DeviceTypes& types, Strategy strategy,
         const std::vector<std::pair<std::string, int64_t>>& weights);

  // Koordinator's default: GPU memory in bytes and percent, rdma, fpga, 1 each; and the resources
  // of types that are not built in.
  [[nodiscard]] static std::vector<std::pair<std::string, int64_t>> default_weights(
      const DeviceTypes& types = DeviceTypes::standard());

  // 0..100 for each requested type, summed: how free (or how full) the node's devices of that type
  // would be as a whole. Devices that the pod's selector leaves out do not count.
  [[nodiscard]] int64_t score_node(const NodeState& node, const DeviceRequest& request,
                                   const DeviceHints& hints) const;

  // The same for one device.
  [[nodiscard]] int64_t score_device(int type, const Amounts& asked, const Amounts& total,
                                     const Amounts& free) const;

 private:
  Strategy strategy_;
  std::array<std::array<int64_t, kMaxDims>, kMaxTypes> weights_{};
};

}  // namespace plimsoll::devices

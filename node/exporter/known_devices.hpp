#pragma once
// The devices of a node that are not healthy at the moment. A kubelet lists healthy devices only,
// so they must be remembered from the time when they were healthy; after a restart, from the report
// that was published before. One thread at a time.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "node/kubelet/pod_resources.hpp"
#include "node/machine/amounts.hpp"

namespace plimsoll::node {

// By resource and id, the zones.
using DeviceZones = std::map<std::string, std::map<std::string, std::vector<int>>>;

class KnownDevices {
 public:
  // Takes the devices from a NodeResourceTopology that was published before. One that cannot be
  // read is ignored.
  void restore(std::string_view nrt);

  // What is unhealthy now. `capacity`: the node's (Node.status.capacity), which counts unhealthy
  // devices too. Devices beyond it were taken away and are forgotten; the longest unhealthy ones
  // are forgotten first.
  [[nodiscard]] DeviceZones unhealthy(const Allocatable& now, const Amounts& capacity);

 private:
  struct Known {
    std::vector<int> zones;
    std::uint64_t seen = 0;  // the round in which it was healthy
  };

  std::map<std::string, std::map<std::string, Known>> devices_;
  std::uint64_t round_ = 0;
};

}  // namespace plimsoll::node

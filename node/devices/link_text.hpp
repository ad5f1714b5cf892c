#pragma once
// What NVIDIA's cards are linked by, as the annotation plimsoll.io/device-links
// (plugins/nodedevice/devices/link_table.hpp). Pure.

#include <string>
#include <vector>

#include "node/devices/nvml.hpp"
#include "node/devices/sys_tree.hpp"

namespace plimsoll::node {

// Empty: no two are linked. Cards whose minor is not known are left out.
//
// Cards with NVLinks to something that is no card are on a board of switches: every two of them are
// linked. Cards below one PCIe switch are linked by it, slower than by any NVLink.
[[nodiscard]] std::string link_text(const std::vector<NvmlCard>& cards, const PciTree& tree);

}  // namespace plimsoll::node

#pragma once
// Reports of nodes that have nothing but CPUs.

#include <string>
#include <vector>

#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {

// Zones with so many CPUs free, of 16.
[[nodiscard]] inline ReportSpec cpus(const std::vector<int>& free,
                                     const std::string& policy = "single-numa-node") {
  ReportSpec report;
  report.policy = policy;
  report.allocatable = "16";
  for (const int amount : free) {
    report.zones.push_back(
        {static_cast<int>(report.zones.size()), {{"cpu", std::to_string(amount)}}});
  }
  return report;
}

}  // namespace plimsoll::topology

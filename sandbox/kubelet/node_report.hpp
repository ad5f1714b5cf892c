#pragma once
// What a topology exporter reports of a node, and its form as a NodeResourceTopology.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "plugins/topology/nrt_object.hpp"
#include "sandbox/machine/amounts.hpp"

namespace plimsoll::sandbox {

// kFacts: all that a kubelet knows: what is really free, and the node facts
// (docs/topology.md). kCounts: as resource-topology-exporter does from the kubelet's pod-resources
// API: what plain init containers keep is shown as free, memory of more than one zone is charged in
// full to each, and there are no facts.
enum class ReportKind { kFacts, kCounts };

struct ZoneReport {
  int id = 0;
  Amounts capacity;
  Amounts allocatable;
  Amounts available;
  std::vector<std::pair<int, std::int64_t>> costs;  // by zone id
};

struct NodeReport {
  std::vector<ZoneReport> zones;  // by id
  // Zones and resources that are not listed are not there; else what the report is written into may
  // have more of them.
  bool complete = false;
  // Top-level attributes by name: topologyManagerPolicy, ...
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<std::pair<std::string, std::string>> annotations;  // an empty one goes
};

// The zones as a reader of the object will see them.
[[nodiscard]] std::vector<topology::NrtZone> nrt_zones_of(const NodeReport& report);

// Brings a NodeResourceTopology up to date with a report: zones and resources that it has not are
// added, amounts that are the same keep their spelling ("64Gi"). What else stands in it stays,
// except for what a reader would take for part of this report: settings of the kubelet
// (docs/topology.md, "Node facts") that it does not give, and second entries of one name. A
// complete report also takes other zones and resources and the legacy topologyPolicies away.
void write_report(nlohmann::json& nrt, const NodeReport& report);

}  // namespace plimsoll::sandbox

#pragma once
// A topology exporter's report of a node, and its form as a NodeResourceTopology.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "node/machine/amounts.hpp"
#include "plugins/topology/report/nrt_object.hpp"

namespace plimsoll::node {

// kFacts: everything that a kubelet knows: what is really free, and the node facts
// (docs/topology.md). kCounts: the report of resource-topology-exporter from the kubelet's
// pod-resources API: resources kept by plain init containers appear free, memory of more than one
// zone is charged in full to each, and there are no facts.
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
  // Zones and resources that are not listed do not exist; otherwise the object may have more of
  // them.
  bool complete = false;
  // Top-level attributes by name: topologyManagerPolicy, ...
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<std::pair<std::string, std::string>> annotations;  // an empty one is removed
};

// Adds the fingerprint of the pods that the report counts, and by which method they were chosen.
void add_fingerprint(NodeReport& report, const std::string& fingerprint,
                     topology::FingerprintMethod method);

// The zones as a reader of the object will see them.
[[nodiscard]] std::vector<topology::NrtZone> nrt_zones_of(const NodeReport& report);

// Updates a NodeResourceTopology with a report. Missing zones and resources are added; unchanged
// amounts keep their spelling ("64Gi"). Other content stays, unless a reader would take it for part
// of this report: kubelet settings (docs/topology.md, "Node facts") that the report does not
// contain, and duplicate entries of one name. A complete report also removes other zones and
// resources and the legacy topologyPolicies.
void write_report(nlohmann::json& nrt, const NodeReport& report);

// Says in an object that was published that the kubelet is away; nothing else changes. The next
// write_report() takes it back.
void mark_away(nlohmann::json& nrt);

}  // namespace plimsoll::node

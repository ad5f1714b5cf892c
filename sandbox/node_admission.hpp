#pragma once
// The part of a kubelet that admits pods and accounts for NUMA zones, behind an interface.
//
// SimulatedKubelets owns one NodeAdmission per node and calls it from its own thread. The one
// made here follows policy single-numa-node container by container, or pod by pod in scope pod,
// into the lowest zone that fits; the other policies admit on the node's total.

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "sandbox/amounts.hpp"

namespace plimsoll::sandbox {

struct ZoneDescription {
  int id = 0;  // of "node-<id>"
  Amounts allocatable;
  Amounts available;  // as last reported; less than allocatable when pods run there
  bool operator==(const ZoneDescription&) const = default;
};

// What a kubelet knows of its node.
struct NodeDescription {
  std::string name;
  Amounts allocatable;
  std::vector<ZoneDescription> zones;  // by id; empty: no NodeResourceTopology
  std::string policy = "none";         // none, best-effort, restricted, single-numa-node
  std::string scope = "container";     // container, pod

  // Everything but what the zones have available, which changes with every report.
  [[nodiscard]] bool same_machine(const NodeDescription& other) const;
};

// From a Node and its NodeResourceTopology (null: it has none). Policy and scope come from the
// attributes or, where these are missing, from the legacy topologyPolicies. Zones of another type
// than "Node" or not named node-<n> are left out. Fails when a quantity is malformed.
[[nodiscard]] Result<NodeDescription> describe_node(const nlohmann::json& node,
                                                    const nlohmann::json& nrt);

struct AdmissionDecision {
  bool admitted = false;
  std::string reason;  // "TopologyAffinityError", "OutOfcpu", ...: the pod's status.reason
  std::string message;
};

struct ZoneAvailability {
  int id = 0;
  Amounts available;
};

class NodeAdmission {
 public:
  virtual ~NodeAdmission() = default;

  // Admits a pod and allocates for it, or rejects it and leaves no trace.
  virtual AdmissionDecision admit(const nlohmann::json& pod) = 0;
  // Takes note of a pod that ran here before the simulation began; never refuses.
  virtual void restore(const nlohmann::json& pod) = 0;
  // Gives back what a pod held; unknown pods are ignored.
  virtual void release(const std::string& uid) = 0;
  // Whether the pod holds CPUs, memory or devices of its own.
  [[nodiscard]] virtual bool holds_exclusively(const std::string& uid) const = 0;
  // What a topology exporter would report now.
  [[nodiscard]] virtual std::vector<ZoneAvailability> available() const = 0;
};

using NodeAdmissionFactory =
    std::function<std::unique_ptr<NodeAdmission>(const NodeDescription& node)>;

[[nodiscard]] std::unique_ptr<NodeAdmission> make_node_admission(const NodeDescription& node);

}  // namespace plimsoll::sandbox

#pragma once
// The part of a kubelet that admits pods and accounts for CPUs, memory and devices, behind an
// interface.
//
// SimulatedKubelets owns one NodeAdmission per node and calls it on its own thread. This
// implementation runs the kubelet's own algorithm (plugins/topology/kubelet) on the whole machine:
// CPU ids, threads, memory groups, device ids. For a node that names no machine, the machine is
// derived from the counts of its zones.

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "node/machine/amounts.hpp"
#include "node/machine/machine.hpp"
#include "node/report/node_report.hpp"

namespace plimsoll::sandbox {

struct ZoneDescription {
  int id = 0;  // of "node-<id>"
  node::Amounts capacity;
  node::Amounts allocatable;
  node::Amounts available;  // as last reported; less than allocatable when pods run there
  std::vector<std::pair<int, std::int64_t>> costs;  // by zone id
  bool operator==(const ZoneDescription&) const = default;
};

// A kubelet's knowledge of its node.
struct NodeDescription {
  std::string name;
  node::Amounts allocatable;
  std::vector<ZoneDescription> zones;  // by id; empty: no NodeResourceTopology, no machine
  std::string policy = "none";         // none, best-effort, restricted, single-numa-node
  std::string scope = "container";     // container, pod
  bool cpu_manager_off = false;        // although zones may list CPUs
  bool memory_manager_off = false;     // although zones may list memory
  std::shared_ptr<const node::Machine> machine;  // null: only the zones' counts are known

  // Compares everything except the available amounts, which change with every report.
  [[nodiscard]] bool same_machine(const NodeDescription& other) const;
};

// Reads a Node and its NodeResourceTopology (null: it has none). Policy and scope are taken from
// the attributes or, if these are missing, from the legacy topologyPolicies; which managers are
// off, from the attributes or koordlet's annotation. Zones of another type than "Node", or not
// named node-<n> (n below 64), are ignored. With a machine, everything but the name is taken from
// the machine. Fails if a quantity is malformed or a zone is listed twice.
[[nodiscard]] Result<NodeDescription> describe_node(
    const nlohmann::json& node, const nlohmann::json& nrt,
    const std::shared_ptr<const node::Machine>& machine = nullptr);

// The resources of a container's own: resource -> ids of their zones, ascending.
struct ContainerZones {
  std::string container;
  std::map<std::string, std::vector<int>> zones;
};

struct AdmissionDecision {
  bool admitted = false;
  std::string reason = {};  // "TopologyAffinityError", "OutOfcpu", ...: the pod's status.reason
  std::string message = {};
  std::vector<ContainerZones> zones = {};  // of containers that got something
};

// A pod prepared once, to be checked on many nodes of one factory.
struct PodQuestion {
  virtual ~PodQuestion() = default;
};

class NodeAdmission {
 public:
  virtual ~NodeAdmission() = default;

  // Admits a pod and allocates its resources, or rejects it without any change.
  virtual AdmissionDecision admit(const nlohmann::json& pod) = 0;
  // The result that admit would return; changes nothing.
  [[nodiscard]] virtual AdmissionDecision try_admit(const nlohmann::json& pod) const = 0;
  // Null: a quantity of the pod is malformed, so every kubelet rejects it.
  [[nodiscard]] virtual std::shared_ptr<const PodQuestion> question_of(
      const nlohmann::json& pod) const = 0;
  // Whether admit would admit the pod.
  [[nodiscard]] virtual bool takes(const PodQuestion& pod) const = 0;
  // Records a pod that ran here before the simulation began; never rejects it. Returns false if the
  // node ties pods to zones and nobody knows those of this one.
  virtual bool restore(const nlohmann::json& pod) = 0;
  // The pod's containers run, so its plain init containers have ended. Returns whether resources
  // became free.
  virtual bool started(const std::string& uid) = 0;
  // Releases a pod's resources; unknown pods are ignored.
  virtual void release(const std::string& uid) = 0;
  // Whether the pod holds CPUs, memory or devices of its own.
  [[nodiscard]] virtual bool holds_exclusively(const std::string& uid) const = 0;
  // What is really free in the zones; without attributes and annotations.
  [[nodiscard]] virtual node::NodeReport zones() const = 0;
  // What a topology exporter of that kind would report now.
  [[nodiscard]] virtual node::NodeReport report(node::ReportKind kind) const = 0;
};

using NodeAdmissionFactory =
    std::function<std::unique_ptr<NodeAdmission>(const NodeDescription& node)>;

// Nodes made by one factory share what is the same for all nodes of one kind. A factory and its
// nodes belong to one thread at a time. `pessimistic`: pods whose zones nobody knows count in every
// zone; otherwise they are packed into few.
[[nodiscard]] NodeAdmissionFactory make_admission_factory(bool pessimistic = false);

// A node with a factory of its own.
[[nodiscard]] std::unique_ptr<NodeAdmission> make_node_admission(const NodeDescription& node);

}  // namespace plimsoll::sandbox

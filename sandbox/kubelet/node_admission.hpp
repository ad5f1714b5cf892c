#pragma once
// The part of a kubelet that admits pods and accounts for CPUs, memory and devices, behind an
// interface.
//
// SimulatedKubelets owns one NodeAdmission per node and calls it from its own thread. The one made
// here is the kubelet's own algorithm (plugins/topology/kubelet) on the whole machine: CPU ids,
// threads, memory groups, device ids. A node that names no machine gets one that its zones' counts
// describe.

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "sandbox/kubelet/node_report.hpp"
#include "sandbox/machine/amounts.hpp"
#include "sandbox/machine/machine.hpp"

namespace plimsoll::sandbox {

struct ZoneDescription {
  int id = 0;  // of "node-<id>"
  Amounts capacity;
  Amounts allocatable;
  Amounts available;  // as last reported; less than allocatable when pods run there
  std::vector<std::pair<int, std::int64_t>> costs;  // by zone id
  bool operator==(const ZoneDescription&) const = default;
};

// What a kubelet knows of its node.
struct NodeDescription {
  std::string name;
  Amounts allocatable;
  std::vector<ZoneDescription> zones;      // by id; empty: no NodeResourceTopology, no machine
  std::string policy = "none";             // none, best-effort, restricted, single-numa-node
  std::string scope = "container";         // container, pod
  std::shared_ptr<const Machine> machine;  // null: only the zones' counts are known

  // Everything but what the zones have available, which changes with every report.
  [[nodiscard]] bool same_machine(const NodeDescription& other) const;
};

// From a Node and its NodeResourceTopology (null: it has none). Policy and scope come from the
// attributes or, where these are missing, from the legacy topologyPolicies. Zones of another type
// than "Node" or not named node-<n> (n below 64) are left out. With a machine everything but the
// name comes from there. Fails when a quantity is malformed or a zone is listed twice.
[[nodiscard]] Result<NodeDescription> describe_node(
    const nlohmann::json& node, const nlohmann::json& nrt,
    const std::shared_ptr<const Machine>& machine = nullptr);

// What a container got for itself: resource -> ids of the zones that it comes from, ascending.
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

// A pod worked out once, to be asked about on many nodes of one factory.
struct PodQuestion {
  virtual ~PodQuestion() = default;
};

class NodeAdmission {
 public:
  virtual ~NodeAdmission() = default;

  // Admits a pod and allocates for it, or rejects it and leaves no trace.
  virtual AdmissionDecision admit(const nlohmann::json& pod) = 0;
  // What admit would say; changes nothing.
  [[nodiscard]] virtual AdmissionDecision try_admit(const nlohmann::json& pod) const = 0;
  // Null: a quantity of the pod is malformed, no kubelet takes it.
  [[nodiscard]] virtual std::shared_ptr<const PodQuestion> question_of(
      const nlohmann::json& pod) const = 0;
  // Whether admit would admit the pod.
  [[nodiscard]] virtual bool takes(const PodQuestion& pod) const = 0;
  // Takes note of a pod that ran here before the simulation began; never refuses.
  virtual void restore(const nlohmann::json& pod) = 0;
  // The pod's containers run: its plain init containers are over. True: something came free.
  virtual bool started(const std::string& uid) = 0;
  // Gives back what a pod held; unknown pods are ignored.
  virtual void release(const std::string& uid) = 0;
  // Whether the pod holds CPUs, memory or devices of its own.
  [[nodiscard]] virtual bool holds_exclusively(const std::string& uid) const = 0;
  // What is really free in the zones; without attributes and annotations.
  [[nodiscard]] virtual NodeReport zones() const = 0;
  // What a topology exporter of that kind would report now.
  [[nodiscard]] virtual NodeReport report(ReportKind kind) const = 0;
};

using NodeAdmissionFactory =
    std::function<std::unique_ptr<NodeAdmission>(const NodeDescription& node)>;

// Nodes made by one factory share what is the same for all nodes of one kind. A factory and what it
// makes belong to one thread at a time.
[[nodiscard]] NodeAdmissionFactory make_admission_factory();

// One node by itself.
[[nodiscard]] std::unique_ptr<NodeAdmission> make_node_admission(const NodeDescription& node);

}  // namespace plimsoll::sandbox

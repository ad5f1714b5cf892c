#pragma once
// A node as its kubelet's managers see it, made from a machine, and as an exporter reports it.
//
// One thread at a time per ResourceIndex; a finished NodeKind is only read: any thread, but for
// `facts`.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "node/machine/machine.hpp"
#include "node/report/node_report.hpp"
#include "plugins/topology/report/facts.hpp"

namespace plimsoll::node {

// Maps names of resources to the small numbers that the kubelet library uses.
class ResourceIndex {
 public:
  ResourceIndex();
  [[nodiscard]] std::uint32_t of(const std::string& name);
  [[nodiscard]] const std::string& name(std::uint32_t index) const { return names_[index]; }

 private:
  std::unordered_map<std::string, std::uint32_t> indices_;
  std::vector<std::string> names_;
};

struct NodeKind {
  std::shared_ptr<const topology::kubelet::NodeModel> model;
  topology::kubelet::NodeState free;  // without any pod
  std::vector<Amounts> capacity;      // by column; only what exporters list
  std::vector<Amounts> allocatable;
  mutable std::optional<std::string>
      facts;  // the machine text of node facts; computed on first use
};

// Of a kubelet's settings; none and container for any other text.
[[nodiscard]] topology::Policy policy_of(const std::string& name);
[[nodiscard]] topology::Scope scope_of(const std::string& name);
// The managers of a kubelet with these settings.
[[nodiscard]] topology::kubelet::Managers managers_of(const KubeletSettings& settings);

// Combines a model that is being made with what is free on it.
struct NodeKindBuilder {
  topology::kubelet::NodeModel model;
  topology::kubelet::CpuSet free_cpus;
  std::vector<std::int64_t> free_cpu_counts;  // where ids are unknown
  NodeKind kind;

  explicit NodeKindBuilder(std::size_t zones);
  void set(std::size_t column, const std::string& resource, std::int64_t capacity,
           std::int64_t allocatable);
  // The types of memory that some zone has.
  void add_memory(ResourceIndex& resources);
  [[nodiscard]] NodeKind finish();
};

[[nodiscard]] NodeKind kind_of_machine(const Machine& machine, ResourceIndex& resources);

// The zones of a node in this state, with their amounts.
[[nodiscard]] NodeReport zones_of(const NodeKind& kind, const topology::kubelet::NodeState& state,
                                  const ResourceIndex& resources);
// Adds the distances between zones; adds all node facts (docs/topology.md), which belong to the
// report's zones. `pods`: those that hold something.
void add_costs(NodeReport& report, const topology::kubelet::NodeModel& model);
void add_facts(NodeReport& report, const NodeKind& kind, const topology::kubelet::NodeState& state,
               const std::vector<topology::kubelet::PodHolding>& pods,
               const ResourceIndex& resources);

// The amounts of a zone in `state`, limited to what exporters list there, in their units.
[[nodiscard]] Amounts amounts_at(const NodeKind& kind, const topology::kubelet::NodeState& state,
                                 std::uint32_t column, const ResourceIndex& resources);

// is_memory(): whether the memory manager handles the resource. is_device(): whether a device
// plugin may have registered it.
[[nodiscard]] bool is_memory(const std::string& resource);
[[nodiscard]] bool is_device(const std::string& resource);

}  // namespace plimsoll::node

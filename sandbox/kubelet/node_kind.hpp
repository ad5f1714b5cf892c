#pragma once
// Data shared by all simulated nodes of one kind: the kubelet library's model of the machine, and
// the amounts of its zones.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugins/topology/kubelet/node.hpp"
#include "sandbox/kubelet/node_admission.hpp"

namespace plimsoll::sandbox {

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
  topology::kubelet::NodeState free;    // without any pod
  std::vector<node::Amounts> capacity;  // by column; only what exporters list
  std::vector<node::Amounts> allocatable;
  mutable std::optional<std::string>
      facts;  // the machine text of node facts; computed on first use
};

// Creates each kind once. One thread at a time.
class NodeKinds {
 public:
  [[nodiscard]] std::shared_ptr<const NodeKind> of(const NodeDescription& node);
  [[nodiscard]] ResourceIndex& resources() { return resources_; }
  [[nodiscard]] const ResourceIndex& resources() const { return resources_; }

 private:
  ResourceIndex resources_;
  std::map<std::string, std::shared_ptr<const NodeKind>> by_counts_;
  // The machines are kept alive, so that their addresses are not reused.
  std::map<std::shared_ptr<const node::Machine>, std::shared_ptr<const NodeKind>> by_machine_;
};

// The managers of a kubelet with these settings.
[[nodiscard]] topology::kubelet::Managers managers_of(const node::KubeletSettings& settings);

// kind_of_machine() uses a whole machine. kind_of_counts() uses a NodeResourceTopology and assumes
// one thread per core, one socket per zone, the CPUs that are not allocatable as reserved (the
// lowest ids), the CPU manager static where zones have CPUs, and the memory manager Static where
// they have memory. Nodes with more than 2,048 CPUs have no CPU ids.
[[nodiscard]] NodeKind kind_of_machine(const node::Machine& machine, ResourceIndex& resources);
[[nodiscard]] NodeKind kind_of_counts(const NodeDescription& node, ResourceIndex& resources);

// The amounts of a zone in `state`, limited to what exporters list there, in their units.
[[nodiscard]] node::Amounts amounts_at(const NodeKind& kind,
                                       const topology::kubelet::NodeState& state,
                                       std::uint32_t column, const ResourceIndex& resources);

// is_memory(): whether the memory manager handles the resource. is_device(): whether a device
// plugin may have registered it.
[[nodiscard]] bool is_memory(const std::string& resource);
[[nodiscard]] bool is_device(const std::string& resource);

}  // namespace plimsoll::sandbox

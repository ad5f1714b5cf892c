#pragma once
// The kinds of simulated nodes: nodes of one kind share a model and the amounts of its zones.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "lab/sandbox/kubelet/node_admission.hpp"
#include "node/report/node_kind.hpp"

namespace plimsoll::sandbox {

using node::NodeKind;
using node::ResourceIndex;

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

// From a NodeResourceTopology. Assumes one thread per core, one socket per zone, the CPUs that are
// not allocatable as reserved (the lowest ids), the CPU manager static where zones have CPUs, and
// the memory manager Static where they have memory, unless the description says that it is off.
// Nodes with more than 2,048 CPUs have no CPU ids.
[[nodiscard]] NodeKind kind_of_counts(const NodeDescription& node, ResourceIndex& resources);

}  // namespace plimsoll::sandbox

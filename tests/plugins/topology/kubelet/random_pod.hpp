#pragma once
// Random pods, in the form that kubelet and scheduler read, and machines of which less is known.

#include <random>

#include "plugins/topology/kubelet/admit.hpp"
#include "tests/plugins/topology/kubelet/random_machine.hpp"

namespace plimsoll::topology::kubelet {

// A pod that has a chance on the machine: amounts around what it has. `absurd`: now and then
// negative and huge ones.
[[nodiscard]] PodDemand random_pod(const NodeModel& model, std::mt19937& random, bool absurd);

// Which facts beyond the counts are known.
struct Known {
  bool layout = true;
  bool cpu_ids = true;  // needs the layout
  bool groups = true;
  bool devices = true;
};
struct Node {
  NodeModel model;
  NodeState state;
};
[[nodiscard]] Node limited(const NodeModel& model, const NodeState& state, const Known& known);

}  // namespace plimsoll::topology::kubelet

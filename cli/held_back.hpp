#pragma once
// Pods that a simulation left without a place although some node's kubelet would have taken them.

#include <set>
#include <string>
#include <vector>

#include "sandbox/apiserver/object_store.hpp"
#include "sandbox/kubelet/kubelet.hpp"

namespace plimsoll::cli {

struct HeldBackPod {
  std::string pod;      // "namespace/name"
  std::string node;     // the first node, by name, whose kubelet takes it
  std::string message;  // what the scheduler said: the PodScheduled condition
  // Rules about this pod that were not looked at and may be why it waits: "volumes", "topology
  // spread", ...
  std::vector<std::string> not_tried;
};

// Looks at the pods of these schedulers that wait, and tries each on a copy of every node's state
// that has the resources at all, whose host ports are free, and that its node selector, affinity
// and tolerations and the node's unschedulable mark allow. Pods with scheduling gates are left out.
// `kubelets` has been stopped. By pod name.
[[nodiscard]] std::vector<HeldBackPod> held_back_pods(const sandbox::ObjectStore& store,
                                                      const sandbox::SimulatedKubelets& kubelets,
                                                      const std::set<std::string>& scheduler_names);

}  // namespace plimsoll::cli

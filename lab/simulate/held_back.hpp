#pragma once
// Pods that a simulation left unscheduled although some node's kubelet would have admitted them.

#include <set>
#include <string>
#include <vector>

#include "lab/sandbox/kubelet/kubelet.hpp"
#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::cli {

struct HeldBackPod {
  std::string pod;      // "namespace/name"
  std::string node;     // the first node, by name, whose kubelet admits it
  std::string message;  // the scheduler's message: the PodScheduled condition
  // Rules about this pod that were not checked and may be why it waits: "volumes", "topology
  // spread", ...
  std::vector<std::string> not_tried;
};

// Tries the waiting pods of these schedulers on a copy of each node's state. A node is tried only
// if it has the resources and free host ports, and if the pod's node selector, affinity and
// tolerations and the node's unschedulable field allow it. Pods with scheduling gates are left out.
// `kubelets` must be stopped. Sorted by pod name.
[[nodiscard]] std::vector<HeldBackPod> held_back_pods(const sandbox::ObjectStore& store,
                                                      const sandbox::SimulatedKubelets& kubelets,
                                                      const std::set<std::string>& scheduler_names);

}  // namespace plimsoll::cli

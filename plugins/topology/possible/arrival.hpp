#pragma once
// What pods take that arrive at a node: exactly, or at most wherever they land.
//
// Pure; any thread with a Scratch of its own.

#include <span>

#include "plugins/topology/kubelet/admit.hpp"

namespace plimsoll::topology {

// kubelet::admit, plus what the pod's containers get when they start, which is soon after: with
// pod-level resources and scope pod, the device manager allocates nothing earlier
// (PodLevelResourceManagers).
[[nodiscard]] kubelet::Admission admit_and_start(const kubelet::NodeModel& model,
                                                 kubelet::NodeState& state,
                                                 const kubelet::PodDemand& pod,
                                                 kubelet::Scratch& scratch);

// Takes the pod's amounts from every zone that might provide them, that is, from all zones. So no
// zone can have less after the pod is admitted, wherever it lands. Only counts remain valid
// afterwards.
void take_everywhere(const kubelet::NodeModel& model, kubelet::NodeState& state,
                     const kubelet::PodDemand& pod);

// For a pod that is on its way although the kubelet would refuse it now, because the pods that make
// room for it are still leaving. Under single-numa-node it takes what is left in the roomiest zone,
// otherwise from the roomiest zones one after the other. The ids of CPUs are dropped.
void take_roomiest(const kubelet::NodeModel& model, kubelet::NodeState& state,
                   const kubelet::PodDemand& pod);

// Admits `pods` one after the other. A pod that would be refused takes what is left.
void bring(const kubelet::NodeModel& model, kubelet::NodeState& state,
           std::span<const std::shared_ptr<const kubelet::PodDemand>> pods,
           kubelet::Scratch& scratch);

// Whether a kubelet treats both pods the same; names of containers do not count.
[[nodiscard]] bool same_demand(const kubelet::PodDemand& a, const kubelet::PodDemand& b);

}  // namespace plimsoll::topology

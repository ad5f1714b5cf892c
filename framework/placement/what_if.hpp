#pragma once
// Nodes as they might be: with other pods than now, and with the pods that are nominated to them.
// Kubernetes: RunFilterPluginsWithNominatedPods and addGENominatedPods in
// pkg/scheduler/framework/runtime/framework.go.
//
// A nominated pod of at least the priority of the pod that is to be placed counts as if it ran on
// its node. A node with such pods is filtered twice, with them and without, and must pass both
// times: with them, because their room is not to be taken; without them, because they may end up
// elsewhere. Scheduler loop only.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "framework/cluster/cluster_state.hpp"
#include "framework/placement/contested_verdicts.hpp"
#include "framework/placement/nominator.hpp"
#include "framework/runtime/framework.hpp"
#include "framework/runtime/plugin/what_if.hpp"

namespace plimsoll {

// The verdict on one node: Success, the first rejection, or Error. `node` may be simulated.
[[nodiscard]] Status filter_with_nominated(Framework& framework, const CycleContext& cycle,
                                           const plimsoll_pod& pod, const NodeInfo& node,
                                           const Nominator& nominator);

// The nodes with nominated pods that a pod has to leave room for. Valid until the cluster changes.
class ContestedNodes {
 public:
  // Those of this pod, instead of those that are here.
  void find(const plimsoll_pod& pod, const ClusterState& cluster, const Nominator& nominator);
  [[nodiscard]] bool empty() const { return slots_.empty(); }
  // Null: the node in this slot is none of them.
  [[nodiscard]] const NodeInfo* at(uint32_t slot) const {
    return slot < by_slot_.size() ? by_slot_[slot] : nullptr;
  }

 private:
  std::vector<uint32_t> slots_;
  std::vector<const NodeInfo*> by_slot_;  // empty before the first of them
};

// Verdicts on such nodes that are kept for the pod's class.
struct KeptContested {
  ContestedVerdicts& verdicts;
  HeldReasons& reasons;  // of these
  PluginMask fresh;      // filters whose word is not kept; the others' is
  PluginMask before;     // filters that come before all of these
};

// The verdicts on those of the rows that are such nodes, with these pods on them: the first of the
// two that they must pass. Rows that are not 0 are left alone, as in Framework::run_filters.
// `kept`: used and added to; null: none may be kept.
[[nodiscard]] Status filter_contested(Framework& framework, const CycleContext& cycle,
                                      const plimsoll_pod& pod, NodeRows rows, FilterColumns out,
                                      const ContestedNodes& contested, const Nominator& nominator,
                                      const KeptContested* kept = nullptr);

// Framework::run_filters with nominated pods; only the nodes that have such pods cost more.
[[nodiscard]] Status run_filters_with_nominated(Framework& framework, const CycleContext& cycle,
                                                const plimsoll_pod& pod, NodeRows rows,
                                                FilterColumns out, const ClusterState& cluster,
                                                const Nominator& nominator);

// A copy of `node` and a clone of `cycle`, beside the pods that are nominated to the node now.
[[nodiscard]] std::unique_ptr<WhatIf> make_what_if(Framework& framework, const CycleContext& cycle,
                                                   const plimsoll_pod& pod, const NodeInfo& node,
                                                   const Nominator& nominator);

}  // namespace plimsoll

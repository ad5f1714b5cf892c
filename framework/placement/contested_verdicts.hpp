#pragma once
// What the filters say of nodes with the nominated pods on them that a pod has to leave room for,
// kept for one class of pods. Without it, every attempt would play this through for all nodes that
// any pod is nominated to, which in a preemption of many pods are most.
//
// A verdict holds as long as neither the node nor its nominated pods change; both show in the
// node's generation. Which nominated pods count depends on the pod's priority, so verdicts are kept
// for one priority at a time. They must not be kept of filters that look beyond the node
// (what_if.hpp), nor for a pod that is nominated itself, for which its own nomination does not
// count. Scheduler loop only.

#include <cstdint>
#include <vector>

#include "framework/cluster/cluster_state.hpp"
#include "framework/runtime/plugin/cycle_context.hpp"
#include "framework/runtime/plugin/status.hpp"

namespace plimsoll {

class ContestedVerdicts {
 public:
  struct Verdict {
    uint64_t generation = 0;  // of the node; 0: nothing is known
    uint32_t reason = 0;
    PluginIndex rejector = kNoPlugin;
    uint8_t code = PLIMSOLL_SUCCESS;
  };

  // For pods of this priority, with these filters skipped by PreFilter; what was kept for others is
  // forgotten.
  void begin(int32_t priority, const PluginMask& skipped) {
    if (priority == priority_ && skipped == skipped_) return;
    clear();
    priority_ = priority;
    skipped_ = skipped;
  }
  void clear() { verdicts_.clear(); }
  // Null: not known, or not of the node as it is now.
  [[nodiscard]] const Verdict* find(const NodeInfo& node) const {
    if (node.slot() >= verdicts_.size()) return nullptr;
    const Verdict& kept = verdicts_[node.slot()];
    return kept.generation == node.abi()->generation ? &kept : nullptr;
  }
  void keep(const NodeInfo& node, Verdict verdict) {
    verdict.generation = node.abi()->generation;
    if (node.slot() >= verdicts_.size()) verdicts_.resize(node.slot() + size_t{1});
    verdicts_[node.slot()] = verdict;
  }
  [[nodiscard]] size_t bytes() const { return verdicts_.capacity() * sizeof(Verdict); }

 private:
  int32_t priority_ = 0;
  PluginMask skipped_;
  std::vector<Verdict> verdicts_;  // by slot
};

}  // namespace plimsoll

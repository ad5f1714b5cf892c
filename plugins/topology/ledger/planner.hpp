#pragma once
// Where promised pods most likely land: replays what happened on a node since its report, and
// charges pods where the kubelet most likely puts them. Internal to the ledger.

#include "plugins/topology/ledger/admission_memo.hpp"
#include "plugins/topology/record/node_record.hpp"

namespace plimsoll::topology {

class Planner {
 public:
  // Replays what happened since the report, and predicts all promises of the node anew.
  // `placement` receives the placement of `asked`.
  void replan(NodeRecord& node, const PodRecord* asked = nullptr, Placement* placement = nullptr);
  // The node's last pod, whose binding is under way, is new.
  void append(NodeRecord& node, Placement& placement);
  // The binding of this pod was seen. Returns true if all verdicts about the node stay the same.
  bool bind(NodeRecord& node, PodRecord& pod);
  // For tests: without them every change replays all that happened.
  void use_shortcuts(bool on) { shortcuts_ = on; }
  [[nodiscard]] uint64_t replayed() const { return replayed_; }
  // Charges a pod that was bound before the ledger heard of it as its annotation says, if it says
  // something.
  void place_as_named(NodeRecord& node, PodRecord& pod);

  // Takes what a pod is charged from what is free.
  static void charge(NodeRecord& node, const PodRecord& pod);

 private:
  enum class Bound : uint8_t { kUnclear, kMoved, kAsItWas };
  static bool is_crowded(NodeRecord& node);
  void play(NodeRecord& node);
  bool admit_last(NodeRecord& node, PodRecord& pod);
  Bound bind_first(NodeRecord& node, PodRecord& pod);
  void plan(NodeRecord& node, PodRecord& pod, Placement* placement);

  Scratch scratch_;
  kubelet::Scratch kubelet_scratch_;
  AdmissionMemo admissions_;
  uint64_t replayed_ = 0;  // pods
  bool shortcuts_ = true;
};

}  // namespace plimsoll::topology

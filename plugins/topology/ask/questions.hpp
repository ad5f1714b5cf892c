#pragma once
// What others ask the ledger. Nothing changes it; several threads may ask while nothing else runs.
//
// Answers follow the kubelet's algorithm on a node as it may be (timeline.hpp, judge.hpp). `slot`:
// that of a node; nodes that are not known have no zones.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plugins/topology/ask/glances.hpp"
#include "plugins/topology/possible/release.hpp"
#include "plugins/topology/record/node_table.hpp"

namespace plimsoll::topology {

// A node as its kubelet sees it, in the likeliest possible state, and why it may be in others.
struct LikelyState {
  const kubelet::NodeModel* model = nullptr;  // null: no report
  const kubelet::NodeState* state = nullptr;
  size_t unplaced = 0;    // pods whose order or zones are not known
  size_t under_way = 0;   // bindings
  bool grows = false;     // something may come free
  bool stopped = false;   // the kubelet refused a pod since the last report
  bool away = false;      // the kubelet
  bool outlived = false;  // the report is an earlier Node's
  int64_t since_ms = 0;   // since when it may be in several; 0: it may not
};

// Zones by id: those of pods in a single zone, and those of pods in several zones.
struct OccupiedZones {
  uint64_t by_single = 0;
  uint64_t by_spread = 0;
};

class Questions {
 public:
  Questions(const NodeTable& nodes, const Glances& glances) : nodes_(nodes), glances_(glances) {}

  // ---- what is known
  // Null if the node reported no zones. Valid until the next change of the ledger.
  [[nodiscard]] const plimsoll_numa_node* node(uint32_t slot) const {
    return glances_.at(slot).view;
  }
  // The node has a report, but no version of it could ever be read.
  [[nodiscard]] bool malformed(uint32_t slot) const {
    return nodes_.in(slot) != nullptr && nodes_.in(slot)->malformed;
  }
  // The node in this slot is the Node with this UID.
  [[nodiscard]] bool is_of(uint32_t slot, std::string_view node_uid) const;
  // Removed pods that the node's last report may still count.
  [[nodiscard]] size_t remembered_gone(std::string_view node_name) const;
  // Changes whenever the node in this slot changes; verdicts hold as long as it stays the same. 0
  // if the node is unknown.
  [[nodiscard]] uint64_t change_of(uint32_t slot) const {
    return nodes_.in(slot) != nullptr ? nodes_.in(slot)->change : 0;
  }
  // Why more than one state of the node is possible.
  [[nodiscard]] NodeRecord::Doubt doubt(uint32_t slot) const {
    return nodes_.in(slot) != nullptr ? nodes_.in(slot)->doubt : NodeRecord::Doubt::kNone;
  }
  // The pod is recorded on the node in this slot.
  [[nodiscard]] bool holds(uint32_t slot, std::string_view pod_uid) const;
  // Null if the pod is on no node.
  [[nodiscard]] const PodRecord* pod(std::string_view uid) const;
  [[nodiscard]] const std::vector<Charge>* charges_of(std::string_view pod_uid) const {
    const PodRecord* record = pod(pod_uid);
    return record == nullptr ? nullptr : &record->charges;
  }
  [[nodiscard]] OccupiedZones occupied(uint32_t slot, std::span<const plimsoll_str> without) const;
  [[nodiscard]] LikelyState likely_state(uint32_t slot) const;

  // ---- may a pod go there
  // Whether the kubelet admits the pod, and every pod that is on its way there. Without a report it
  // is as Inquiry::without_report says.
  [[nodiscard]] Judgement judge(uint32_t slot, Inquiry& pod) const;
  // judge() for many nodes, faster than one by one. `judgements` has the size of `slots`.
  void judge_many(std::span<const uint32_t> slots, Inquiry& pod,
                  std::span<Judgement> judgements) const;
  // Sets 1 for nodes where the pod fits and a simple test shows it, 0 for all others. `admitted`
  // has the size of `slots`.
  void admits_many(std::span<const uint32_t> slots, Inquiry& pod, uint8_t* admitted) const;
  // judge() after the pods with these UIDs are gone and those of `with` were admitted, in this
  // order.
  [[nodiscard]] Judgement judge_changed(uint32_t slot, Inquiry& pod,
                                        std::span<const plimsoll_str> without,
                                        std::span<const kubelet::PodDemand* const> with) const;
  // The pod does not fit now, but will, or may, after a report has shown what is already known.
  [[nodiscard]] bool fits_soon(uint32_t slot, Inquiry& pod) const;
  // What-if: whether `fits` holds for the node after these pods are gone and a report has shown it,
  // whatever zones they hold. Pods that are already gone count as reported gone. Pods that are not
  // on the node are ignored. False without a report.
  [[nodiscard]] bool fits_without(uint32_t slot, std::span<const plimsoll_str> uids,
                                  const Release::Fits& fits) const;

  // ---- where would it land
  // Where the pod would most likely land now, for scores (ledger_service.h, `use`). Null if
  // nowhere, or if there is no report.
  [[nodiscard]] const plimsoll_numa_use* use(uint32_t slot, Inquiry& pod) const;
  // use() for many nodes, in the simple cases (ledger_service.h, `land_many`). `pod` may be null.
  // `landings` has the size of `slots`.
  void land_many(std::span<const uint32_t> slots, Inquiry* pod,
                 std::span<plimsoll_numa_landing> landings) const;
  // Puts the groups of nodes that are alike (ledger_service.h, `alike`). `pod` may be null.
  void alike(size_t asked, Inquiry* pod, plimsoll_numa_put_alike put, void* sink) const;
  // The pod's promised zones, or else where it would land in a what-if (ledger_service.h, `where`).
  // Empty if that is unknown or the pod is refused.
  [[nodiscard]] std::optional<Whereabouts> where(
      uint32_t slot, Inquiry& pod, std::string_view uid, std::span<const plimsoll_str> without,
      std::span<const kubelet::PodDemand* const> with) const;

 private:
  // The node in this slot if it has a report.
  [[nodiscard]] const NodeRecord* reported(uint32_t slot) const {
    return node(slot) != nullptr ? nodes_.in(slot) : nullptr;
  }

  const NodeTable& nodes_;
  const Glances& glances_;
};

}  // namespace plimsoll::topology

#pragma once
// What others ask the ledger (LedgerAnswers), by the kubelet's algorithm on a node as it may be
// (timeline.hpp, judge.hpp). Nothing changes it; several threads may ask while nothing else runs.

#include "plugins/topology/abi/ledger_service.hpp"
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

class Questions final : public LedgerAnswers {
 public:
  Questions(const NodeTable& nodes, const Glances& glances) : nodes_(nodes), glances_(glances) {}

  [[nodiscard]] const plimsoll_numa_node* node(uint32_t slot) const override {
    return glances_.at(slot).view;
  }
  [[nodiscard]] bool malformed(uint32_t slot) const override {
    return nodes_.in(slot) != nullptr && nodes_.in(slot)->malformed;
  }
  [[nodiscard]] uint64_t change_of(uint32_t slot) const override {
    return nodes_.in(slot) != nullptr ? nodes_.in(slot)->change : 0;
  }
  [[nodiscard]] Doubt doubt(uint32_t slot) const override {
    return nodes_.in(slot) != nullptr ? nodes_.in(slot)->doubt : Doubt::kNone;
  }
  [[nodiscard]] bool holds(uint32_t slot, std::string_view pod_uid) const override;
  [[nodiscard]] const std::vector<Charge>* charges_of(std::string_view pod_uid) const override {
    const PodRecord* record = pod(pod_uid);
    return record == nullptr ? nullptr : &record->charges;
  }
  [[nodiscard]] OccupiedZones occupied(uint32_t slot, Uids without) const override;
  [[nodiscard]] Judgement judge(uint32_t slot, Inquiry& pod) const override;
  void judge_many(Slots slots, Inquiry& pod, std::span<Judgement> judgements) const override;
  void admits_many(Slots slots, Inquiry& pod, uint8_t* admitted) const override;
  [[nodiscard]] Judgement judge_changed(uint32_t slot, Inquiry& pod, Uids without, Pods with,
                                        size_t together) const override;
  [[nodiscard]] bool fits_soon(uint32_t slot, Inquiry& pod) const override;
  [[nodiscard]] bool fits_without(uint32_t slot, Uids uids, const Fits& fits) const override;
  [[nodiscard]] const plimsoll_numa_use* use(uint32_t slot, Inquiry& pod) const override;
  void land_many(Slots slots, Inquiry* pod,
                 std::span<plimsoll_numa_landing> landings) const override;
  void alike(size_t asked, Inquiry* pod, const PutAlike& put) const override;
  [[nodiscard]] std::optional<Whereabouts> where(uint32_t slot, Inquiry& pod, std::string_view uid,
                                                 Uids without, Pods with) const override;

  // ---- within this library
  // The node in this slot is the Node with this UID.
  [[nodiscard]] bool is_of(uint32_t slot, std::string_view node_uid) const;
  // Removed pods that the node's last report may still count.
  [[nodiscard]] size_t remembered_gone(std::string_view node_name) const;
  // Null if the pod is on no node.
  [[nodiscard]] const PodRecord* pod(std::string_view uid) const;
  // Null if the pod is not on the node in this slot.
  [[nodiscard]] const PodRecord* pod_on(uint32_t slot, std::string_view uid) const {
    const NodeRecord* node = nodes_.in(slot);
    return node == nullptr ? nullptr : node->find(PodKey::of(uid));
  }
  [[nodiscard]] LikelyState likely_state(uint32_t slot) const;

 private:
  // The node in this slot if it has a report.
  [[nodiscard]] const NodeRecord* reported(uint32_t slot) const {
    return node(slot) != nullptr ? nodes_.in(slot) : nullptr;
  }

  const NodeTable& nodes_;
  const Glances& glances_;
};

}  // namespace plimsoll::topology

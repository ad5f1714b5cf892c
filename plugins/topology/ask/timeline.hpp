#pragma once
// What happened on one node since its report, as far as its order is known. Internal to the ledger.

#include <span>
#include <vector>

#include "plugins/topology/record/node_record.hpp"
#include "plugins/topology/verdict/judgement.hpp"

namespace plimsoll::topology {

// What the watch and the kubelets' answers prove about the order:
//   - A kubelet sees bindings in the order in which they were written; the watch shows the same
//     order. Bindings that were seen come before those under way, and are ordered by their resource
//     versions. Pods that were found late (Moment) have no known order.
//   - A kubelet takes note that a pod is gone before it takes a pod that was bound later
//     (HandlePodRemoves comes before HandlePodAdditions). So a pod that is gone has left room for
//     every binding that was seen later. Relative to bindings that were seen before, either may be
//     first. A pod that is being deleted may have been released or not.
// Not covered: a pod that ends by itself is released a moment before anybody can see it.
struct Timeline {
  // The node has a report. `without`: pods of the node that also leave, after everything else.
  // `asking`, if not null, is about to come: of its own claims it has what it asks for again.
  Timeline(const NodeRecord& node, std::span<const PodKey> without,
           const Inquiry* asking = nullptr);

  static constexpr size_t kGone = SIZE_MAX;
  // A pod that no report counts.
  struct Arrival {
    std::shared_ptr<const kubelet::PodDemand> demand;
    size_t pod = 0;  // position in node.pods; kGone: one that came and left since the report
    Moment moment;
    Grows frees = Grows::kNo;  // what it holds that may come free before the next pod comes
    bool goes = false;         // one of `without`
  };
  struct Departure {
    kubelet::Allocation held;  // since before the report
    uint64_t moment = 0;       // UINT64_MAX: one of `without`
  };
  // By position in node.pods; null: refused, or nothing was played.
  using Given = std::vector<std::shared_ptr<const kubelet::Admission>>;

  // The node after all that happened. `refused`, if not null: positions of the pods that the
  // kubelet refuses where the order is known.
  [[nodiscard]] Since replay(kubelet::Scratch& scratch, Given* given = nullptr,
                             std::vector<size_t>* refused = nullptr) const;

  // The pod's containers may start before the next pod comes. Its memory manager then takes back
  // what its plain init containers held (AddContainer). On nodes with counts only, this is not
  // modeled.
  [[nodiscard]] static bool may_start(const NodeRecord& node, const kubelet::PodDemand& pod);

  const NodeRecord& node;
  const NodeReport& report;
  const kubelet::NodeModel& model;
  kubelet::NodeState base;            // what the report shows
  std::vector<Arrival> arrivals;      // bindings that were seen in their order, then the others
  std::vector<Departure> departures;  // in the order in which they were seen
  // What may be taken besides, nobody knows where: by pods that are resized, and see
  // may_leave_traces.
  std::vector<std::shared_ptr<const kubelet::PodDemand>> extras;
  Grows grows = Grows::kNo;                  // what may come free besides
  std::vector<kubelet::Allocation> pending;  // that, as far as it is known
  bool pending_known = true;
  uint64_t blurred_until = 0;  // pods bound up to here may have come before or after something else
  bool only_more_room = true;  // and that is `departures` and `pending` alone
  bool unclear = false;        // it is not known which pods the report counts
  bool unknown = false;        // something goes from unknown zones

 private:
  void add_pod(size_t position, bool goes);
  void add_counted(const PodRecord& pod, bool goes);
  void add_gone(const GonePod& gone);
  void grow(Grows what, const kubelet::Allocation* known = nullptr);
  void blur(uint64_t until) { blurred_until = std::max(blurred_until, until); }
  [[nodiscard]] bool order_is_known() const;
  [[nodiscard]] bool may_matter(const GonePod& gone) const;
  [[nodiscard]] bool may_leave_traces(const GonePod& gone) const;
};

}  // namespace plimsoll::topology

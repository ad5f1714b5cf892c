#pragma once
// The events on one node since its report, in terms of worlds.hpp. Internal to the ledger.

#include <span>
#include <vector>

#include "plugins/topology/ledger.hpp"

namespace plimsoll::topology {

// Finds which order of admissions and releases the watch and the kubelets' answers prove.
//   - A kubelet sees bindings in the order in which they were written; the watch shows the same
//     order. Bindings that were seen come before those under way, and are ordered by their resource
//     versions. Pods that were found late have no known order, see found_late.
//   - A kubelet releases a pod before the pod's end can be seen, so before any binding that was
//     seen later. Relative to bindings that were seen before, either may be first. A pod that is
//     being deleted may have been released or not.
// Two cases are not covered: a pod deleted by force is gone at the API server before its kubelet
// knows, and a pod that ends by itself is released a moment before anybody can see it.
struct Ledger::History {
  struct Event {
    Step::Kind kind = Step::Kind::kAdmit;
    bool optional = false;
    uint32_t subject = 0;
    Moment moment;
  };

  // `without`: pods of the node that also leave, after everything else.
  History(const NodeRecord& node, std::span<const PodKey> without);

  // True if enough is known to replay the events.
  [[nodiscard]] bool is_told() const { return !unknown && !unclear && !late && !starts_unknown; }

  // The pod is bound, but its binding was not seen. Pods that came and left before it was found
  // (before a restart, or while nobody watched) are unknown too, and may have been there when the
  // kubelet admitted it. So the pod's zones cannot be determined.
  [[nodiscard]] static bool found_late(const Moment& moment) {
    return moment.bound != 0 && !moment.fresh;
  }

  // The pod's containers may start before the next pod comes. Its memory manager then takes back
  // what its plain init containers held (AddContainer). On nodes with counts only, this is not
  // modeled.
  [[nodiscard]] static bool may_start(const NodeRecord& node, const kubelet::PodDemand& pod);

  // Replays the events that come before all others, if there are any. `given` by subject.
  void fold(kubelet::Scratch& scratch);
  // After fold: what may come free besides is passed over. Only for a pod of which fits_with_more
  // is true, if it is the only one that comes.
  void drop_options();
  // Events that are left as steps; false: too many. Call after fold.
  bool to_steps();

  // After fold: the pods of the node, by position, that are refused in each of the worlds that come
  // of what is left.
  [[nodiscard]] std::vector<size_t> refused(std::span<const World> worlds) const;

  const NodeRecord& node;
  kubelet::NodeState base;
  std::vector<Subject> subjects;
  std::vector<std::shared_ptr<const kubelet::PodDemand>> demands;  // by subject, may be null
  std::vector<size_t> pods;   // by subject: position in node.pods, or kNoPod
  std::vector<Event> events;  // in the likeliest order
  std::vector<Step> steps;
  std::vector<std::shared_ptr<const kubelet::Admission>> given;  // by subject, from fold
  bool unknown = false;         // something left from unknown zones
  bool unclear = false;         // unknown which pods the report counts
  bool starts_unknown = false;  // memory of init containers may be freed, in unknown zones
  bool late = false;            // a pod came whose zones are unknown
  bool open_ended = false;      // after fold: no more pods come, but resources may be freed
  static constexpr size_t kNoPod = SIZE_MAX;

 private:
  uint32_t add_subject(std::shared_ptr<const kubelet::PodDemand> demand,
                       std::shared_ptr<const kubelet::Allocation> held, size_t pod);
  void add(Step::Kind kind, uint32_t subject, const Moment& moment, bool optional = false);
  void add_pod(size_t position, bool goes);
  void add_gone(const GonePod& gone);
  [[nodiscard]] static bool follows_memory(const NodeRecord& node);
  void add_starts(uint32_t subject, const Moment& moment);
  void order();
  [[nodiscard]] bool precedes(const Event& a, const Event& b) const;
  [[nodiscard]] bool may_matter(const GonePod& gone) const;
  [[nodiscard]] bool may_leave_traces(const GonePod& gone) const;
};

}  // namespace plimsoll::topology

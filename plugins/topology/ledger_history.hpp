#pragma once
// What happened on one node since its report, in terms of worlds.hpp. Part of the ledger's inside.

#include <span>
#include <vector>

#include "plugins/topology/ledger.hpp"

namespace plimsoll::topology {

// Which of two admissions came first, releases against admissions, and so on: what the watch and
// the kubelets' answers tell for sure.
//   - A kubelet sees bindings in the order in which they were written, which is the order in which
//     the watch shows them: those seen come before those under way, and before one another as their
//     resource versions say. Nothing is said of pods that were found late, see found_late.
//   - A pod that is gone was let go of before its end could be seen, so before any binding that
//     was seen later; against those seen before, either may have been first. A pod that is being
//     deleted may have been let go of or not.
// Two things are not covered: a pod that was deleted by force is gone for the API server before
// its kubelet knows, and one that ends by itself is let go of a moment before anybody is told.
struct Ledger::History {
  struct Event {
    Step::Kind kind = Step::Kind::kAdmit;
    bool optional = false;
    uint32_t subject = 0;
    Moment moment;
  };

  // `without`: pods of the node that go too, after everything else.
  History(const NodeRecord& node, std::span<const PodKey> without);

  // True if enough is known to play what happened.
  [[nodiscard]] bool is_told() const { return !unknown && !unclear && !late && !starts_unknown; }

  // Bound, and not known by its binding. Whoever else came and went before it was found (before a
  // restart, or while nobody watched) is not known either, but was there, or not, when the kubelet
  // admitted it: of this pod it cannot be said where it is.
  [[nodiscard]] static bool found_late(const Moment& moment) {
    return moment.bound != 0 && !moment.fresh;
  }

  // The pod's containers may start before the next pod comes, and its memory manager then takes
  // back what its plain init containers had (AddContainer). Of counts that is not followed.
  [[nodiscard]] static bool may_start(const NodeRecord& node, const kubelet::PodDemand& pod);

  // Plays what comes before all else, as far as there is such. `given` by subject.
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
  bool unknown = false;         // something went away, and it is not known from where
  bool unclear = false;         // it is not known which pods the report counts
  bool starts_unknown = false;  // memory of init containers may come free, and nobody knows where
  bool late = false;            // a pod came whose place is not known, see found_late
  bool open_ended = false;      // after fold: no pod comes any more, but something may come free
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

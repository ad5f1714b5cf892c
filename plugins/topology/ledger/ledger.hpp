#pragma once
// The NUMA ledger keeps, per node, the last report minus the promises that it does not count yet.
//
// A promise names the zones that the kubelet is predicted to choose. The ledger subtracts the
// promise there from reserve until there is evidence that a report counts the pod (settler.hpp).
// When a pod leaves, its promise ends at once. If the report that counts it says what it holds,
// that is free at once, too; otherwise the next report frees it.
//
// What happened since a report is replayed on it with the kubelet's own algorithm, as far as the
// order is known (timeline.hpp). What has no known order is subtracted from wherever it may be. A
// pod fits if the kubelet admits it whatever the order, and with it all pods that are on their way
// (judge.hpp). The charges are those of the likeliest order (planner.hpp).
//
// Pod events bring in the pods of all schedulers. At start the ledger therefore rebuilds itself
// from the pods on the nodes, their zone annotations and the reports. Where it does not know what
// happened, it uses the larger charge.
//
// There is one instance per process; a plugin owns it on the scheduler loop. Several threads may
// ask() while nothing else runs. No I/O; time is passed in.

#include <plimsoll/objects.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/topology/ask/questions.hpp"
#include "plugins/topology/ledger/ledger_stats.hpp"
#include "plugins/topology/ledger/planner.hpp"
#include "plugins/topology/ledger/pod_kinds.hpp"
#include "plugins/topology/ledger/report_reader.hpp"
#include "plugins/topology/ledger/settler.hpp"

namespace plimsoll::topology {

class Ledger {
 public:
  explicit Ledger(const ResourceIndex& index)
      : reader_(index), settler_(stats_, changes_.misplaced), questions_(nodes_, glances_) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  [[nodiscard]] const Questions& ask() const { return questions_; }
  // For tests: without them every change replays all that happened since the report.
  void use_shortcuts(bool on) { planner_.use_shortcuts(on); }
  // For tests: how many pods were played, again and again.
  [[nodiscard]] uint64_t replayed() const { return planner_.replayed(); }

  // ---- events, in any order
  // Until `report_until_ms` the node's report may be on its way: no pod that its kubelet could
  // refuse goes there before it comes. 0: none is.
  // Nor before its own comes if the one that is there is an earlier Node's.
  void node_added(std::string_view name, uint32_t slot, int64_t report_until_ms = 0,
                  NodeIdentity identity = {});
  void node_removed(std::string_view name);
  void report(const NrtObject& nrt, int64_t now_ms);
  // If it was an earlier Node's, that of the Node may be on its way until `report_until_ms`.
  void report_deleted(std::string_view node_name, int64_t report_until_ms = 0);
  // The node's object cannot be read. The last good report stays valid. Without one, nothing is
  // known about the node's zones until a good report arrives or the object is deleted. Returns true
  // if there is no good report.
  bool report_malformed(std::string_view node_name);
  // A pod of any scheduler that has a node appeared or changed.
  void pod_assigned(const plimsoll_pod& pod, std::string_view node_name, int64_t now_ms);
  // The pod is deleted or finished.
  void pod_removed(const plimsoll_pod& pod, int64_t now_ms);

  // ---- promises
  // Promises the zones that the pod would get now. An incomplete placement means that there is no
  // room, and nothing changed. On a node without a report nothing can be predicted; its first
  // report charges the pod. With `Insist::kYes` the pod is charged at its most likely place even if
  // the kubelet may reject it.
  enum class Insist { kNo, kYes };
  [[nodiscard]] Placement reserve(const plimsoll_pod& pod, uint32_t slot, int64_t now_ms,
                                  Insist insist = Insist::kNo);
  // Returns true if capacity was freed. A pod known to be bound keeps its promise.
  bool unreserve(const plimsoll_pod& pod);

  // ---- claims
  // A holder has this of a node's zones, whatever pods do and reports say, until it has something
  // else; no charges: nothing. `holder`: "NAMESPACE/NAME" of a claim, or "pod UID" of one that is
  // still to be made. `again`: the UID of the pod whose own requests name it again; empty: no pod's
  // do. A charge's `held` is all of it.
  struct Holding {
    std::string_view holder, node, again;
    std::vector<Charge> charges;
  };
  void hold(std::vector<Holding> all, int64_t now_ms);

  // ---- time
  // When to call pass_time next; INT64_MAX if no call is due.
  [[nodiscard]] int64_t due_ms() const { return due_.empty() ? INT64_MAX : due_.begin()->first; }
  // Ends doubts that have lasted too long without a report, and begins those about kubelets that do
  // not take their pods.
  void pass_time(int64_t now_ms);

  // ---- what changed
  // The last event concerned the node in this slot, and there may be more room or less doubt than
  // before. If false, a pod that did not fit there still does not fit.
  [[nodiscard]] bool eased(uint32_t slot) const {
    return nodes_.in(slot) != nullptr && nodes_.in(slot)->eased == event_;
  }
  struct Changes {
    std::vector<uint32_t> slots;  // whose zones changed since the last call
    std::vector<uint32_t> freed;  // of these, those freed without a cluster event
    // A node for which some pod had to wait is certain again.
    struct Certain {
      std::string node;
      NodeRecord::Doubt because = NodeRecord::Doubt::kNone;
      int64_t ms = 0;  // for which it was not
    };
    std::vector<Certain> certain;
    // UIDs of pods whose annotation names other zones than a report shows.
    std::vector<std::string> misplaced;
  };
  [[nodiscard]] Changes take_changes();
  void take_changes(Changes& into);  // reuses the memory of `into`
  [[nodiscard]] const LedgerStats& stats() const { return stats_; }
  // For logs, since the last call: the facts that reports got wrong.
  [[nodiscard]] std::vector<std::string> take_notes() { return std::exchange(reader_.notes, {}); }
  // The same, for problems that an operator has to fix.
  [[nodiscard]] std::vector<std::string> take_warnings() {
    return std::exchange(reader_.warnings, {});
  }

 private:
  enum class Ease : bool { kNo, kYes };

  [[nodiscard]] PodRecord record_of(const plimsoll_pod& pod, const PodKind& kind, int64_t now_ms);
  void confirm_binding(NodeRecord& node, PodRecord& pod, const plimsoll_pod& object);
  bool doubt_order(NodeRecord& node);
  void resize(NodeRecord& node, PodRecord& pod, const PodKind& kind);
  void move_away(NodeRecord& node, const PodKey& pod);
  // The pod's status says that what its claims have comes on top.
  [[nodiscard]] static bool adds_claims(const plimsoll_pod& pod);
  // True: there are claims of the node that its own requests may name again.
  bool tell_of_claims(NodeRecord& node, PodRecord& pod, const plimsoll_pod& object);
  // Whether there is room, as Filter saw it: what the pod's claims have since it was filtered does
  // not keep it out, as no kubelet knows of it.
  [[nodiscard]] bool has_room(NodeRecord& node, const plimsoll_pod& pod, Inquiry& inquiry);
  // Whom a change of claims concerns, by node.
  struct Concerned {
    NodeRecord* node = nullptr;
    Ease ease = Ease::kNo;
    std::set<PodKey> pods;
  };
  void replace(Holding now, std::map<std::string_view, Concerned>& concerned);
  [[nodiscard]] bool renew(NodeRecord& from, const NodeRecord& to, const PodKey& pod,
                           Inquiry& inquiry, Insist insist);
  void note_refusal(NodeRecord& node, const PodRecord& pod, bool whole_cores);
  // Every change of a node ends here.
  void touch(NodeRecord& node, Ease ease);
  void look(NodeRecord& node);
  void count(NodeRecord& node);
  void set_due(NodeRecord& node);
  [[nodiscard]] static int64_t doubts_end(const NodeRecord& node);
  static void forget_report(NodeRecord& node);
  void end_absence(NodeRecord& node);
  void forget_if_idle(NodeRecord& node);

  LedgerStats stats_;
  ReportReader reader_;  // before the nodes, which have memory of it
  PodKinds kinds_;
  NodeTable nodes_;
  Glances glances_;
  Changes changes_;
  Settler settler_;
  Planner planner_;
  Questions questions_;
  std::set<std::pair<int64_t, NodeRecord*>> due_;
  struct HeldAt {
    NodeRecord* node;
    NodeRecord::Claims::iterator claim;
  };
  std::map<std::string, HeldAt, std::less<>> holders_;
  uint64_t moments_ = 0;
  uint64_t event_ = 1;   // number of events
  uint64_t change_ = 0;  // number of node changes
  int64_t now_ms_ = 0;
};

}  // namespace plimsoll::topology

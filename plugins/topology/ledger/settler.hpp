#pragma once
// Which pods a report counts. The best evidence is a report that names the pods that it counts, and
// what each of them holds (kubelet/facts.hpp). Of reports by other exporters:
//   - The report's pod fingerprint is that of a set of pods that contains this pod (matcher.hpp).
//     That is final: pods outside the set stay promised, however old they are.
//   - Or the report has no fingerprint, or no set of pods explains it, and it was written
//     kStalenessMs after the kubelet accepted the pod. Except that it counts no more pods than it
//     shows in use: exporters such as koordlet leave out what runs, and then nobody else holds the
//     pods' zones.
// Internal to the ledger.

#include "plugins/topology/ledger/ledger_stats.hpp"
#include "plugins/topology/record/node_record.hpp"

namespace plimsoll::topology {

class Settler {
 public:
  // `misplaced` collects the UIDs of pods whose annotation names other zones than their report.
  Settler(LedgerStats& stats, std::vector<std::string>& misplaced)
      : stats_(stats), misplaced_(misplaced) {}

  // The node has a new report.
  void settle_report(NodeRecord& node, int64_t now_ms);
  // A pod became known after the report: at start, or when pod events are late. True: this settled
  // something.
  bool settle_pod(NodeRecord& node, PodRecord& pod, int64_t now_ms);
  // A pod is gone. True: without it, the fingerprint matches pods that the report was not known to
  // count.
  bool settle_gone(NodeRecord& node, GonePod gone, int64_t now_ms);
  // Ends what waits too long.
  void pass_time(NodeRecord& node, int64_t now_ms);
  // When pass_time has something to end; INT64_MAX: never.
  [[nodiscard]] static int64_t due_ms(const NodeRecord& node);

 private:
  void settle_pods(NodeRecord& node, int64_t now_ms);
  void cover(PodRecord& pod, uint64_t& counter, bool weak);
  void hold(NodeRecord& node, PodRecord& pod);
  void settle_by_holdings(NodeRecord& node, int64_t now_ms);
  bool settle_by_fingerprint(NodeRecord& node, int64_t now_ms);

  LedgerStats& stats_;
  std::vector<std::string>& misplaced_;
};

}  // namespace plimsoll::topology

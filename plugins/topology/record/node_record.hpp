#pragma once
// What the ledger knows of one node. Internal to the ledger.

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/record/lessons.hpp"
#include "plugins/topology/record/since.hpp"
#include "plugins/topology/report/facts.hpp"
#include "plugins/topology/report/numa_node.hpp"

namespace plimsoll::topology {

// A report written this long after a binding counts the pod: reports come at least every minute.
inline constexpr int64_t kStalenessMs = 60'000;
// The same for pods that no kubelet has accepted yet (no status.startTime).
inline constexpr int64_t kUnstartedMs = 600'000;
// An exporter may write only changes, so a doubt may never be ended by a report. After this time
// without a report, the ledger settles what the next report would have settled: a live exporter
// looks at least every minute, and would have reported a change.
inline constexpr int64_t kDoubtMs = 60'000;
// A kubelet that runs has taken a pod, and said so, after this time.
inline constexpr int64_t kQuickKubeletMs = 2'000;
// For so long a report's word counts that the kubelet is away. A Node is not ready long before that
// if it is so; if it is ready, whoever reports is gone.
inline constexpr int64_t kAwayMs = 600'000;
// Of so many pods that no report counts the order is not looked at: each event would play them all
// again.
inline constexpr size_t kMostInOrder = 256;
// A Node and its report come on two watches. For so long after a Node was made, its report may
// still be on the way.
inline constexpr int64_t kReportOnItsWayMs = 5'000;
// How many removed pods are remembered per node until the next report.
inline constexpr size_t kMaxGone = 32;

// What the node's NodeResourceTopology object says.
struct NodeReport {
  bool there = false;
  NumaNode zones;
  std::shared_ptr<const kubelet::NodeModel> model;   // if there
  std::shared_ptr<const kubelet::NodeModel> counts;  // the model without ids
  kubelet::NodeState state;
  // The report has everything that its kubelet knows: all facts, and `holdings`.
  bool exact = false;
  std::optional<kubelet::PodHoldings> holdings;  // if exact: what the pods hold that it counts
  boost::unordered_flat_map<PodKey, uint32_t, PodKeyHash> holders;  // their lines
  std::string version;
  int64_t written_ms = 0;              // 0: not known
  std::vector<std::string> node_uids;  // of the Nodes that own it
  std::string fingerprint;
  FingerprintMethod method = FingerprintMethod::kAll;
  bool kubelet_away = false;
  bool explained = false;  // the fingerprint is that of the covered pods
  bool adds_up = false;    // explained, and all that is in use is theirs (places.hpp)
  // Problems of its facts and counts that were noted already.
  std::vector<std::string> problems;
  std::string contradiction;

  // Nobody knows which pods it counts.
  [[nodiscard]] bool unexplained() const { return !fingerprint.empty() && !explained; }
  [[nodiscard]] uint32_t line_of(const PodKey& key) const {
    const auto at = holders.find(key);
    return at == holders.end() ? kNoLine : at->second;
  }
  [[nodiscard]] kubelet::Allocation held(uint32_t line) const {
    return holdings->held(*model, line);
  }
};

// Which of the Nodes that had or have a name.
struct NodeIdentity {
  std::string uid;
  int64_t created_ms = 0;
};

struct NodeRecord {
  std::string name;
  uint32_t slot = UINT32_MAX;
  NodeIdentity identity;
  bool made_again = false;  // an earlier Node with the name was seen
  NodeReport report;
  bool malformed = false;  // its object exists but cannot be read; never set if report.there
  // It had an object, which was deleted while its Node stayed: nobody knows what it has free, and
  // it has the zones that it had.
  bool report_gone = false;
  // Until then a report of the new node may be on its way; 0: it is there, or there may be none.
  // One of a Node before it may be there.
  int64_t awaited_until_ms = 0;
  int64_t away_until_ms = 0;  // if report.kubelet_away
  size_t crowd = 0;  // pods that no report counts, if they are more than kMostInOrder; else 0
  std::vector<PodRecord> pods;
  std::vector<GonePod> gone;
  // What resource claims have of the zones: drivers give it away, and no kubelet or report knows.
  // By the pod whose own requests name it again; none: {}.
  using Claims = std::multimap<PodKey, std::vector<Charge>>;
  Claims claims;
  Lessons lessons;
  bool new_report = false;  // the report was not replayed yet
  bool lost_track = false;  // some removed pods were forgotten since the report
  // The report took its place from a pod that had one: more came free than is known, until a report
  // shows it or the kubelet refuses the pod.
  bool surprised = false;
  // Until then an unexplained report may count removed pods; 0: it does not.
  int64_t doubt_until_ms = 0;
  // What the pods that float hold together, by cell of the report's zones, and how many they are.
  std::vector<int64_t> floating;
  size_t floaters = 0;
  Since since;

  // ---- kept by the ledger about the above
  mutable std::atomic<bool> told_uncertain{false};  // a pod waits for it
  enum class Beside : uint8_t { kUnknown, kNo, kYes };
  mutable std::atomic<Beside> beside{Beside::kUnknown};  // see others_land_side_by_side
  uint64_t change = 0;                                   // number of its last change
  uint64_t eased = 0;                                    // event by which pods may fit that did not
  int64_t due_ms = INT64_MAX;                            // when a doubt ends by time
  using Doubt = topology::Doubt;
  Doubt doubt = Doubt::kNone;  // as counted in LedgerStats, like `promises`
  int64_t doubt_since_ms = 0;
  uint32_t promises = 0;

  [[nodiscard]] PodRecord* find(const PodKey& key);
  [[nodiscard]] const PodRecord* find(const PodKey& key) const {
    return const_cast<NodeRecord*>(this)->find(key);
  }
  // Claims that the pod's own requests may name again.
  [[nodiscard]] bool has_claims(const PodKey& pod) const { return claims.contains(pod); }
  // Where a pod that the report counts is for certain; null: not known.
  [[nodiscard]] const std::vector<Charge>* place_of(const PodRecord& pod) const {
    if (pod.located()) return &pod.charges;
    return report.adds_up && !pod.shown.empty() ? &pod.shown : nullptr;
  }
  // The report there is that of an earlier Node with this name. Until when that is so; 0: it is
  // not. An owner is certain. A report without one may be that of this Node though it is older:
  // whoever writes only changes looks at least every minute.
  [[nodiscard]] int64_t outlived_until_ms(int64_t now_ms) const;
  // No pod that its kubelet could refuse goes there until it reports. While the kubelet is away, by
  // the report: what a new kubelet admits first it admits beside pods that ended meanwhile, whose
  // room it takes back only afterwards (Kubernetes: pkg/kubelet/cm/cpumanager, removeStaleState
  // waits for sourcesReady), and in the order in which pods were created, not bound.
  [[nodiscard]] bool stopped() const {
    return awaited_until_ms != 0 || crowd != 0 || report.kubelet_away || lessons.stopped();
  }
  // The node has one possible state, and nothing under way could change it.
  [[nodiscard]] bool certain() const {
    return !stopped() && !report_gone && !lessons.waits_for_room() && since.clear();
  }
  // Why it is not certain.
  [[nodiscard]] Doubt doubt_now() const;
  // It is unknown which pods the report counts.
  [[nodiscard]] bool report_unclear() const;
  // Its kubelet aligns what it admits.
  [[nodiscard]] bool aligns() const {
    const Policy policy = report.model->managers.policy;
    return policy == Policy::kSingleNumaNode || policy == Policy::kRestricted;
  }
};

}  // namespace plimsoll::topology

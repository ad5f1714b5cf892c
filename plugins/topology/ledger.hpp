#pragma once
// The NUMA ledger keeps, per node, the last report minus the promises that it does not count yet.
//
// A promise names the zones that the kubelet is predicted to choose. The ledger subtracts the
// promise there from reserve until there is evidence that a report counts the pod:
//   - The report's pod fingerprint is that of a set of pods that contains this pod.
//   - Or the report has no fingerprint, no pod left lately, and one of two things happened. The
//     available amounts in the promised zones dropped by at least the promise; the oldest promise
//     is matched first, and no drop is counted twice. Or the rest of a drop in another zone equals
//     the promise exactly: then the prediction was wrong.
//   - Or no set of pods explains the fingerprint, and the report was written kStalenessMs after the
//     kubelet accepted the pod.
// An explained fingerprint is final: pods outside its set stay promised, however old they are.
//
// When a pod leaves, its promise ends at once. If a report already counts the pod, the ledger adds
// its amounts back until the next report, provided that the report showed them where they were
// predicted. Otherwise the next report frees them.
//
// Each report replays the remaining promises on its counts with the kubelet's own algorithm, in the
// order of their bindings. If that order is unknown, or a pod left while others arrived, every
// order is replayed (worlds.hpp). A pod fits if, in every order, the kubelet admits it and all pods
// that are on their way. The charges are those of the likeliest order.
//
// Pod events bring in the pods of all schedulers. At start the ledger therefore rebuilds itself
// from the pods on the nodes, their zone annotations and the reports. Where it does not know what
// happened, it uses the larger charge.
//
// There is one instance per process; a plugin owns it on the scheduler loop. Several threads may
// call const functions while nothing else runs. No I/O; time is passed in.

#include <plimsoll/objects.h>

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <memory_resource>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/topology/admission_memo.hpp"
#include "plugins/topology/judgement.hpp"
#include "plugins/topology/kubelet/facts.hpp"
#include "plugins/topology/nrt_object.hpp"
#include "plugins/topology/numa_node.hpp"
#include "plugins/topology/pod_memo.hpp"
#include "plugins/topology/predict.hpp"
#include "plugins/topology/release.hpp"
#include "plugins/topology/worlds.hpp"
#include "plugins/topology/zone_columns.hpp"

namespace plimsoll::topology {

// A report written this long after a binding counts the pod: reports come at least every minute.
inline constexpr int64_t kStalenessMs = 60'000;
// The same for pods that no kubelet has accepted yet (no status.startTime).
inline constexpr int64_t kUnstartedMs = 600'000;
// An exporter may write only changes, so a doubt may never be ended by a report. After this time
// without a report, the ledger settles what the next report would have settled: a live exporter
// looks at least every minute, and would have reported a change.
inline constexpr int64_t kDoubtMs = 60'000;
// How many removed pods are remembered per node until the next report.
inline constexpr size_t kMaxGone = 32;

// Counters for metrics and logs.
struct LedgerStats {
  uint64_t reports = 0;
  uint64_t settled_by_fingerprint = 0;
  uint64_t settled_by_drop = 0;
  uint64_t settled_by_age = 0;
  uint64_t predictions_confirmed = 0;  // a report showed a pod's amounts where they were predicted
  uint64_t predictions_refuted = 0;    // a report showed them elsewhere, and was believed
  uint64_t unexplained_reports = 0;    // its fingerprint fits no set of pods that was tried
  // Pods that a kubelet rejected because no zones had room, by its reason.
  uint64_t refused_affinity = 0;    // TopologyAffinityError
  uint64_t refused_smt = 0;         // SMTAlignmentError
  uint64_t refused_unexpected = 0;  // UnexpectedAdmissionError
};

class Ledger {
 public:
  explicit Ledger(const ResourceIndex& index) : index_(index), facts_(index) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // ---- events, in any order
  void node_added(std::string_view name, uint32_t slot);
  void node_removed(std::string_view name);
  void report(const NrtObject& nrt, int64_t now_ms);
  void report_deleted(std::string_view node_name);
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

  // ---- views
  // Null if the node reported no zones. Valid until the next non-const call.
  [[nodiscard]] const plimsoll_numa_node* node(uint32_t slot) const {
    return slot < views_.size() ? views_[slot] : nullptr;
  }
  // The node has a report, but no version of it could ever be read.
  [[nodiscard]] bool malformed(uint32_t slot) const {
    return slot < slots_.size() && slots_[slot] != nullptr && slots_[slot]->malformed;
  }
  [[nodiscard]] const std::vector<Charge>* charges_of(std::string_view pod_uid) const;
  // What-if (ledger_what_if.cpp): whether `fits` holds for the node in this slot, which has a
  // report, after these pods are gone and a report has shown it, whatever zones they hold. Pods
  // that are already gone count as reported gone. Pods that are not on the node are ignored.
  [[nodiscard]] bool fits_without(uint32_t slot, std::span<const plimsoll_str> uids,
                                  const Release::Fits& fits) const;
  // ---- the kubelet's algorithm on a node as it may be (ledger_judge.cpp); const, any thread
  // Whether the kubelet admits the pod on the node in this slot, and every pod that is on its way
  // there. A node without a report admits all pods.
  [[nodiscard]] Judgement judge(uint32_t slot, Inquiry& pod) const;
  // judge() for many nodes, faster than one by one. `judgements` has the size of `slots`.
  void judge_many(std::span<const uint32_t> slots, Inquiry& pod,
                  std::span<Judgement> judgements) const;
  // judge() after the pods with these UIDs are gone and those of `with` were admitted, in this
  // order.
  [[nodiscard]] Judgement judge_changed(uint32_t slot, Inquiry& pod,
                                        std::span<const plimsoll_str> without,
                                        std::span<const kubelet::PodDemand* const> with) const;
  // The pod does not fit now, but will after a report has shown what is already known.
  [[nodiscard]] bool fits_soon(uint32_t slot, Inquiry& pod) const;
  // Where the pod would most likely land now. An incomplete placement means nowhere.
  [[nodiscard]] Placement likely(uint32_t slot, Inquiry& pod) const;
  // likely() for scores (ledger_service.h, `use`). Null if nowhere, or if there is no report.
  [[nodiscard]] const plimsoll_numa_use* use(uint32_t slot, Inquiry& pod) const;
  // use() for many nodes, in the simple cases (ledger_service.h, `land_many`). `pod` may be null.
  // `landings` has the size of `slots`.
  void land_many(std::span<const uint32_t> slots, Inquiry* pod,
                 std::span<plimsoll_numa_landing> landings) const;
  // ---- many nodes at once, by columns (ledger_alike.cpp, zone_columns.hpp)
  // Sets 1 for nodes where the pod fits and a simple test shows it, 0 for all others. `admitted`
  // has the size of `slots`.
  void admits_many(std::span<const uint32_t> slots, Inquiry& pod, uint8_t* admitted) const;
  // Puts the groups of nodes that are alike (ledger_service.h, `alike`). `pod` may be null.
  void alike(size_t asked, Inquiry* pod, plimsoll_numa_put_alike put, void* sink) const;
  // The pod's promised zones, or else where it would land in a what-if (ledger_service.h, `where`;
  // ledger_where.cpp). Empty if that is unknown or the pod is refused.
  [[nodiscard]] std::optional<Whereabouts> where(
      uint32_t slot, Inquiry& pod, std::string_view uid, std::span<const plimsoll_str> without,
      std::span<const kubelet::PodDemand* const> with) const;
  // Zones by id: those of pods in a single zone, and those of pods in several zones.
  struct Occupied {
    uint64_t by_single = 0;
    uint64_t by_spread = 0;
  };
  [[nodiscard]] Occupied occupied(uint32_t slot, std::span<const plimsoll_str> without) const;
  // For explanations: the node as its kubelet sees it, in the likeliest possible state.
  struct Likely {
    const kubelet::NodeModel* model = nullptr;  // null: no report
    const kubelet::NodeState* state = nullptr;
    size_t worlds = 1;
    bool blurred = false;
  };
  [[nodiscard]] Likely likely_state(uint32_t slot) const;

  // The pod is recorded on the node in this slot.
  [[nodiscard]] bool holds(uint32_t slot, std::string_view pod_uid) const;
  [[nodiscard]] std::string_view report_version(std::string_view node_name) const;
  // Removed pods that the node's last report may still count.
  [[nodiscard]] size_t remembered_gone(std::string_view node_name) const;
  [[nodiscard]] uint64_t pending_promises() const { return pending_; }
  [[nodiscard]] const LedgerStats& stats() const { return stats_; }
  // Counts of nodes: with more than one possible state, with too little known to list their states,
  // and with a kubelet that refused a pod since the last report.
  struct Doubts {
    size_t several_worlds = 0;
    size_t blurred = 0;
    size_t refused = 0;
  };
  [[nodiscard]] const Doubts& doubts() const { return doubts_; }
  // For logs, since the last call: one line per report that differed from the predictions, and the
  // facts that reports got wrong.
  [[nodiscard]] std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }
  // The same, for problems that an operator has to fix.
  [[nodiscard]] std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

  // ---- which rejected pods may fit now (ledger_easing.cpp)
  // The ledger's last event concerned the node in this slot, and there may be more room or less
  // doubt than before. If false, a pod that did not fit there still does not fit.
  [[nodiscard]] bool eased(uint32_t slot) const {
    return slot < slots_.size() && slots_[slot] != nullptr && slots_[slot]->eased == event_;
  }
  // Changes whenever the node in this slot changes; verdicts hold as long as it stays the same. 0
  // if the node is unknown.
  [[nodiscard]] uint64_t change_of(uint32_t slot) const {
    return slot < slots_.size() && slots_[slot] != nullptr ? slots_[slot]->change : 0;
  }
  // When to call pass_time next; INT64_MAX if no call is due.
  [[nodiscard]] int64_t due_ms() const { return due_.empty() ? INT64_MAX : due_.begin()->first; }
  // Ends doubts that have lasted too long without a report.
  void pass_time(int64_t now_ms);

  struct Changes {
    std::vector<uint32_t> slots;  // whose zones changed since the last call
    std::vector<uint32_t> freed;  // of these, those freed without a cluster event
  };
  [[nodiscard]] Changes take_changes();
  void take_changes(Changes& into);  // reuses the memory of `into`

 private:
  struct PodKey {  // two hashes of the UID: the texts of 100,000 pods need not be kept
    uint64_t a = 0;
    uint64_t b = 0;
    friend bool operator==(const PodKey&, const PodKey&) = default;
  };
  struct PodKeyHash {
    size_t operator()(const PodKey& key) const { return key.a; }
  };
  // When a pod's events happened, as orders and not as times.
  struct Moment {
    uint64_t reserved = 0;  // order in which the ledger learned of the pod
    uint64_t bound = 0;     // order in which it learned of the binding; 0: not yet
    uint64_t gone = 0;
    uint64_t version = 0;  // resourceVersion with which the binding was seen
    bool fresh = false;    // nothing else was seen before: `version` is the binding's own
  };
  struct PodRecord {
    PodKey key;
    uint64_t hash = 0;           // the pod's part of the fingerprint
    bool exclusive = false;      // counted by method with-exclusive-resources
    bool bound = false;          // the API server says so
    bool covered = false;        // the last report counts it
    bool located = false;        // the last report showed it where it was predicted
    bool trusted = false;        // the charges come from a promise or an annotation
    int64_t since_ms = 0;        // reserved, or seen bound
    int64_t start_ms = 0;        // status.startTime: the kubelet accepted the pod; 0: not known
    int64_t order_ms = 0;        // reserved, or else started or seen: the order of admission
    int64_t alias_until_ms = 0;  // until then a pod of the same name may replace it in fingerprints
    std::vector<Charge> charges;
    bool annotated = false;  // promised before a restart: placed as its annotation says
    std::vector<plimsoll_numa_charge> named;  // until the first report
    int64_t running_ms = 0;  // seen running with its init containers finished; 0: not yet
    // True: the report no longer counts memory of its init containers. If false and `held` is null,
    // that memory may be freed at any time or already be free; its amount and zone are unknown.
    bool init_over = true;
    bool leaving = false;  // being deleted: its kubelet may release its resources at any time
    bool weak = false;  // covered by a drop or by age: an explained fingerprint may say otherwise
    std::shared_ptr<const PodRequest>
        request;  // if it pins anything: for predicting again, what-ifs
    // For the kubelet's algorithm:
    std::shared_ptr<const kubelet::PodDemand> demand;  // set if a kubelet has to align the pod
    std::shared_ptr<const kubelet::Admission>
        given;  // most likely one, of a promise; null: refused
    std::shared_ptr<const kubelet::Allocation> held;  // exact, confirmed by reports; or null
    Moment moment;
  };
  struct GonePod {  // a removed pod that the last report may still count
    uint64_t hash = 0;
    bool exclusive = false;
    bool counted = false;  // by the report that was current when the pod left
    bool located = false;
    bool refund = false;  // its amounts are added until the next report
    bool seen = false;    // the last report counts it, by any evidence: for what-ifs
    int64_t gone_ms = 0;
    std::vector<Charge> charges;
    std::shared_ptr<const PodRequest> request;  // for what-ifs
    bool refused = false;                       // the kubelet refused it: it never held anything
    std::shared_ptr<const kubelet::PodDemand> demand;
    std::shared_ptr<const kubelet::Allocation> held;
    Moment moment;
  };
  // What pods of one kind have in common.
  struct Kind {
    explicit Kind(const plimsoll_pod& pod);
    PodRequest request;
    std::string names;                       // `request` points into it
    std::shared_ptr<const PodRequest> kept;  // for pod records; null: the pod pins nothing
    Inquiry inquiry;
  };
  // The events since the report, replayed; ledger_worlds.cpp.
  struct Since {
    std::vector<kubelet::NodeState> worlds;  // the first is the likeliest; never empty if reported
    // `worlds` does not cover all possible states. Only the first is kept: the least that may be
    // free. A new pod must fit beside all pods in `unsettled`, wherever those are.
    bool blurred = false;
    // Blurred for one reason: after a restart, init containers of found pods still hold memory, and
    // the zone in which it will be freed is unknown. Everything else is as in the only world.
    bool only_starts = false;
    std::vector<std::shared_ptr<const kubelet::PodDemand>> unsettled;
    // Bindings under way: another pod may be admitted before, between or after them. If there are
    // any, `worlds` was computed from the lists that follow.
    std::vector<std::shared_ptr<const kubelet::PodDemand>> unbound;
    std::vector<Subject> subjects;
    std::vector<std::shared_ptr<const kubelet::PodDemand>> demands;  // owns those of `subjects`
    std::vector<Step> steps;
    // Pods may also release resources: `subjects` and `steps` then start from the single world.
    // Most pods that arrive alone are not affected, see room.hpp.
    bool open_ended = false;
    uint64_t settled_steps = 0;  // steps that precede any pod that is bound from now on
    kubelet::NodeState base;
    uint64_t lost = 0;  // steps whose pod is refused in some order
  };
  // A pod that a kubelet refused although the counts had room for it.
  struct Refusal {
    std::shared_ptr<const kubelet::PodDemand> demand;
    std::vector<int64_t> available;  // in the first report after it; empty: none yet
    int64_t ms = 0;
  };
  struct NodeRecord {
    std::string name;
    uint32_t slot = UINT32_MAX;
    bool reported = false;
    bool malformed = false;  // its object exists but cannot be read; never set if `reported`
    bool explained = false;  // the report's fingerprint is that of the covered pods
    NumaNode zones;
    std::shared_ptr<const kubelet::NodeModel> model;   // if reported
    std::shared_ptr<const kubelet::NodeModel> counts;  // without ids
    kubelet::NodeState state;                          // as reported
    bool exact = false;  // the report has everything that the kubelet knows
    // Nobody knows which pods the report counts.
    [[nodiscard]] bool unexplained() const { return !fingerprint.empty() && !explained; }
    bool refused_one = false;  // its kubelet refused a pod that should have fit
    int64_t refused_ms = 0;    // when it last refused one
    bool lost_track = false;   // some removed pods were forgotten
    bool new_report = false;   // the report was not replayed yet
    bool surprised = false;    // the report took placed pods' zones away, see is_surprise
    // Until then an unexplained report may count removed pods; 0: it does not.
    int64_t doubt_until_ms = 0;
    std::vector<Refusal> refusals;
    int64_t whole_cores_ms =
        0;  // when its kubelet was seen to give whole cores only; 0: it was not
    Since since;
    std::vector<std::string> problems;  // problems of its facts that were already noted
    std::string contradiction;          // contradiction in its counts that was already noted
    mutable std::atomic<bool> told_uncertain{false};  // a pod waits for it
    enum class Beside : uint8_t { kUnknown, kNo, kYes };
    mutable std::atomic<Beside> beside{Beside::kUnknown};  // see others_land_side_by_side
    uint64_t change = 0;                                   // see change_of
    uint64_t eased = 0;                                    // see eased
    int64_t due_ms = INT64_MAX;                            // its place in due_
    bool counted_worlds = false;  // counted in doubts_, like counted_blurred and counted_refused
    bool counted_blurred = false;
    bool counted_refused = false;
    std::string version;
    std::string fingerprint;
    FingerprintMethod method = FingerprintMethod::kAll;
    std::vector<PodRecord> pods;
    std::vector<GonePod> gone;
  };
  // What a query reads of a node first. The Glances of all nodes lie close together in memory,
  // while the rest of a node's data is scattered. look() keeps them up to date.
  struct Glance {
    const kubelet::NodeModel* model = nullptr;
    const int64_t* counts = nullptr;  // a copy of those of the one state in which the node may be;
                                      // null: it is not that simple, or there is no report
    uint32_t count = 0;
    kubelet::Brief brief;
    bool leaving = false;
  };
  struct GlanceCells {
    int64_t* cells = nullptr;  // of memory_
    uint32_t count = 0;
  };
  struct Matcher;
  // A node's data before the report that replaces it.
  struct Before {
    bool had = false;
    bool doubted = false;  // malformed, refused_one or lost_track
    Since since;
    NumaNode zones;
    std::shared_ptr<const kubelet::NodeModel> model;
    kubelet::NodeState state;
    bool exact = false;
    bool explained = false;
  };

  enum class Ease : bool { kNo, kYes };

  NodeRecord& record_of(std::string_view name);
  PodRecord* find(const PodKey& key, NodeRecord*& node);
  PodRecord take_pod(NodeRecord& node, const PodKey& key);  // the pod must be there
  void add_pod(NodeRecord& node, PodRecord record);
  // `placement` receives the placement of `asked`.
  void replan(NodeRecord& node, const PodRecord* asked = nullptr, Placement* placement = nullptr);
  void plan(NodeRecord& node, PodRecord& pod, Placement* placement);
  static void overdraw(NodeRecord& node, const std::vector<Charge>& charges);
  void settle_place(NodeRecord& node, PodRecord& pod);
  void settle_places(NodeRecord& node);
  void confirm_binding(NodeRecord& node, PodRecord& pod, const plimsoll_pod& object);
  void recount(NodeRecord& node);
  void note_problems(NodeRecord& node, std::vector<std::string> problems);
  [[nodiscard]] static bool says_all(const kubelet::NodeModel& model,
                                     const kubelet::NodeState& state);
  void refresh(NodeRecord& node);
  [[nodiscard]] std::shared_ptr<Kind> kind_of(const plimsoll_pod& pod);
  void share_demand(std::shared_ptr<const kubelet::PodDemand>& demand);
  // ledger_worlds.cpp
  struct History;
  void play(NodeRecord& node);
  void place_only(NodeRecord& node, const History& history);
  [[nodiscard]] static bool is_surprise(NodeRecord& node, std::span<const size_t> refused,
                                        std::span<const PodKey> placed);
  [[nodiscard]] static bool report_unclear(const NodeRecord& node);
  static void blur(NodeRecord& node);
  static void hide(const kubelet::NodeModel& model, kubelet::NodeState& state,
                   const std::vector<Charge>& charges);
  [[nodiscard]] static kubelet::NodeState least_state(const NodeRecord& node);
  bool append(NodeRecord& node, PodRecord& pod);
  enum class Settled : uint8_t { kNo, kMoved, kAsItWas };
  Settled settle_first(NodeRecord& node, PodRecord& pod);
  void locate(NodeRecord& node, const Before& before, const std::vector<PodRecord*>& added,
              const std::vector<GonePod>& removed);
  // Returns false if the pods cannot be located; then nothing changed.
  bool locate_added(NodeRecord& node, const Before& before, const std::vector<PodRecord*>& added,
                    const std::vector<GonePod>& removed);
  [[nodiscard]] static bool fits_without(const NodeRecord& node, std::span<const plimsoll_str> uids,
                                         const Release::Fits& fits, Release::Lay lay);
  // ledger_judge.cpp
  [[nodiscard]] Judgement judge_since(const NodeRecord& node, Inquiry& pod) const;
  [[nodiscard]] Judgement judge_what_if(const NodeRecord& node, Inquiry& pod,
                                        std::span<const plimsoll_str> without,
                                        std::span<const kubelet::PodDemand* const> with) const;
  [[nodiscard]] bool robust(const NodeRecord& node, Inquiry& pod) const;
  // ledger_beside.cpp
  [[nodiscard]] static bool lands_side_by_side(const NodeRecord& node, Inquiry& pod);
  [[nodiscard]] static bool others_land_side_by_side(const NodeRecord& node,
                                                     const kubelet::Brief& brief);
  [[nodiscard]] static Judgement judge_open_ended(const NodeRecord& node, Inquiry& pod);
  [[nodiscard]] static Judgement judge_beside_all(const NodeRecord& node, Inquiry& pod);
  // ledger_refusals.cpp
  void learn(NodeRecord& node, const PodRecord& refused, bool whole_cores);
  // Returns true if something that was learned no longer holds.
  bool unlearn_by_report(NodeRecord& node);
  bool unlearn_by_age(NodeRecord& node);
  [[nodiscard]] static int64_t unlearn_due(const NodeRecord& node);
  [[nodiscard]] static Verdict learned(const NodeRecord& node, const kubelet::PodDemand& pod);
  void touch(NodeRecord& node, Ease ease);
  void look(const NodeRecord& node);
  [[nodiscard]] uint32_t zone_at_a_glance(const Glance& glance, Inquiry& pod,
                                          const kubelet::QuickPlan*& plan) const;
  // ledger_easing.cpp
  [[nodiscard]] static bool eases(const NodeRecord& node, const Before& before);
  [[nodiscard]] static bool certain(const NodeRecord& node);
  [[nodiscard]] static int64_t due_of(const NodeRecord& node);
  [[nodiscard]] static int64_t due_of(const NodeRecord& node, const PodRecord& pod);
  [[nodiscard]] static int64_t init_due_of(const NodeRecord& node, const PodRecord& pod);
  [[nodiscard]] static std::shared_ptr<const kubelet::Allocation> without_init(
      const std::shared_ptr<const kubelet::Allocation>& held);
  void set_due(NodeRecord& node);
  void forget_if_idle(NodeRecord& node);
  [[nodiscard]] static PodKey key_of(std::string_view uid);
  static void charge(NodeRecord& node, const PodRecord& pod);

  // ledger_settle.cpp and ledger_explain.cpp: which pods the current report counts.
  void settle_report(NodeRecord& node, const Before& before);
  bool settle_pod(NodeRecord& node, PodRecord& pod);     // true: this settled something
  bool explain(NodeRecord& node, const Before* before);  // null: not a new report
  void settle_by_drop(NodeRecord& node, const NumaNode& before);
  void settle_by_age(NodeRecord& node, PodRecord& pod);
  bool confirm(NodeRecord& node, const NumaNode& before, const std::vector<PodRecord*>& added,
               const std::vector<const GonePod*>& removed);
  void trim_gone(NodeRecord& node);
  void cover(PodRecord& pod, uint64_t& counter, bool weak);

  // Holds what queries read of every node, in few large blocks so that it lies close together.
  std::pmr::unsynchronized_pool_resource memory_{{0, size_t{16} << 10}};
  ResourceIndex index_;
  kubelet::FactsReader facts_;
  PodMemo<Kind> kinds_;
  std::unordered_multimap<uint64_t, std::weak_ptr<const kubelet::PodDemand>> demands_;
  size_t sweep_demands_at_ = 1024;
  uint64_t moments_ = 0;
  std::vector<std::string> notes_, warnings_;
  std::unordered_map<std::string, std::unique_ptr<NodeRecord>> nodes_;
  std::vector<NodeRecord*> slots_;
  std::vector<const plimsoll_numa_node*> views_;
  std::vector<Glance> glances_;            // by slot
  std::vector<GlanceCells> glance_cells_;  // by slot
  ZoneColumns columns_;                    // look() keeps them up to date, too
  boost::unordered_flat_map<PodKey, NodeRecord*, PodKeyHash> pods_;
  std::vector<uint32_t> touched_;
  std::vector<uint32_t> freed_;
  uint64_t event_ = 1;   // number of events
  uint64_t change_ = 0;  // number of node changes
  std::set<std::pair<int64_t, NodeRecord*>> due_;
  uint64_t pending_ = 0;
  LedgerStats stats_;
  Doubts doubts_;
  Scratch scratch_;
  kubelet::Scratch kubelet_scratch_;
  AdmissionMemo admissions_;
  int64_t now_ms_ = 0;
};

}  // namespace plimsoll::topology

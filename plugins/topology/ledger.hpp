#pragma once
// The NUMA ledger: per node the last report, less what has been promised since and is not in it
// yet.
//
// A promise names the zones that the kubelet is predicted to choose and is subtracted there, from
// reserve until evidence shows that a report counts the pod:
//   - the report's pod fingerprint is the one of a set of pods that has this pod in it;
//   - or, if the report has no fingerprint and no pod went away lately: what is available in the
//     promised zones dropped by at least the promise, oldest promise first, no drop counted twice;
//     or what is left of a drop in another zone is exactly the promise: the prediction was wrong;
//   - or, unless a set explains the fingerprint: the report was written kStalenessMs after the
//   kubelet
//     took the pod.
// A fingerprint that is explained is final: pods outside its set stay promised, however old.
//
// A pod that goes away gives its promise back at once. If a report already counts it, its amounts
// are added until the next report, provided that the report showed them where they were predicted;
// otherwise the next report gives them back.
//
// With every report the promises that are left are played through again, in the order of their
// binding, with the kubelet's own algorithm on what the report says. Where that order is not known,
// or a pod went away while others came, every order is (worlds.hpp): a pod fits if the kubelet
// admits it, and all that are on their way, in each of them. Charges are those of the likeliest.
//
// Pods of all schedulers take part, from pod events; so the ledger rebuilds itself at start from
// the pods on the nodes, their zone annotations and the reports. Where what happened is not known,
// the larger charge counts.
//
// One instance per process, owned by a plugin on the scheduler loop; const functions may be called
// from several threads while nothing else runs. No I/O; time is passed in.

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

// A report written so long after a binding counts the pod: reports come every minute at the latest.
inline constexpr int64_t kStalenessMs = 60'000;
// The same for pods of which no kubelet has said that it took them (status.startTime).
inline constexpr int64_t kUnstartedMs = 600'000;
// An exporter may write only what changed, so no report ends a doubt for sure. What the next report
// would settle is settled after this without one: had there been something to tell, a living
// exporter, which looks every minute at the latest, would have told it.
inline constexpr int64_t kDoubtMs = 60'000;
// So many pods that went away are remembered per node until a report comes.
inline constexpr size_t kMaxGone = 32;

// What the ledger counts, for metrics and logs.
struct LedgerStats {
  uint64_t reports = 0;
  uint64_t settled_by_fingerprint = 0;
  uint64_t settled_by_drop = 0;
  uint64_t settled_by_age = 0;
  uint64_t predictions_confirmed = 0;  // a report showed a pod's amounts where they were predicted
  uint64_t predictions_refuted = 0;    // it showed them elsewhere: the report won
  uint64_t unexplained_reports = 0;    // a fingerprint that fits no set of pods considered
  // Pods that a kubelet refused for want of zones, by its reason.
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
  // Its object cannot be read. The last good report stays; without one nothing is known of the
  // node's zones until a good one comes or the object is deleted. True: there is no good one.
  bool report_malformed(std::string_view node_name);
  // A pod with a node became known or changed; of any scheduler.
  void pod_assigned(const plimsoll_pod& pod, std::string_view node_name, int64_t now_ms);
  // It is gone or finished.
  void pod_removed(const plimsoll_pod& pod, int64_t now_ms);

  // ---- promises
  // Promises the zones that the pod would get now. Not complete: there is no room, nothing changed.
  // On a node without a report nothing can be predicted; its first report charges the pod.
  // `Insist::kYes`: whatever the kubelet may say of it; it is charged where it would most likely
  // be.
  enum class Insist { kNo, kYes };
  [[nodiscard]] Placement reserve(const plimsoll_pod& pod, uint32_t slot, int64_t now_ms,
                                  Insist insist = Insist::kNo);
  // True if capacity came free. A pod known to be bound keeps its promise.
  bool unreserve(const plimsoll_pod& pod);

  // ---- views
  // Null: the node reported no zones. Valid until the next non-const call.
  [[nodiscard]] const plimsoll_numa_node* node(uint32_t slot) const {
    return slot < views_.size() ? views_[slot] : nullptr;
  }
  // The node has zones, but what it says of them cannot be read and never could.
  [[nodiscard]] bool malformed(uint32_t slot) const {
    return slot < slots_.size() && slots_[slot] != nullptr && slots_[slot]->malformed;
  }
  [[nodiscard]] const std::vector<Charge>* charges_of(std::string_view pod_uid) const;
  // What-if (ledger_what_if.cpp). Whether `fits` holds of the node in this slot, which has a
  // report, once these pods are gone and a report has shown it: whatever zones they hold. Pods that
  // are gone already count as reported gone. Pods that are not on the node are passed over.
  [[nodiscard]] bool fits_without(uint32_t slot, std::span<const plimsoll_str> uids,
                                  const Release::Fits& fits) const;
  // ---- the kubelet's algorithm on a node as it may be (ledger_judge.cpp); const, any thread
  // with an Inquiry of its own
  // Whether the pod is admitted on the node in this slot, and every pod that is on its way there.
  // A node without a report admits all.
  [[nodiscard]] Judgement judge(uint32_t slot, Inquiry& pod) const;
  // The same of many nodes; faster than one by one. `judgements`: as many as `slots`.
  void judge_many(std::span<const uint32_t> slots, Inquiry& pod,
                  std::span<Judgement> judgements) const;
  // The same once the pods of these UIDs are gone and those of `with` have come, in this order.
  [[nodiscard]] Judgement judge_changed(uint32_t slot, Inquiry& pod,
                                        std::span<const plimsoll_str> without,
                                        std::span<const kubelet::PodDemand* const> with) const;
  // It does not fit now, but will once a report has shown what is known already.
  [[nodiscard]] bool fits_soon(uint32_t slot, Inquiry& pod) const;
  // Where the pod would land now, most likely. Not complete: nowhere.
  [[nodiscard]] Placement likely(uint32_t slot, Inquiry& pod) const;
  // The same for scores (ledger_service.h, `use`). Null: nowhere, or no report.
  [[nodiscard]] const plimsoll_numa_use* use(uint32_t slot, Inquiry& pod) const;
  // The same of many nodes, where that is simple (ledger_service.h, `land_many`). `pod` may be
  // null. `landings`: as many as `slots`.
  void land_many(std::span<const uint32_t> slots, Inquiry* pod,
                 std::span<plimsoll_numa_landing> landings) const;
  // ---- of many nodes at once, by columns (ledger_alike.cpp, zone_columns.hpp)
  // Nodes of which it is plain that the pod fits: 1, others 0. `admitted`: as many as `slots`.
  void admits_many(std::span<const uint32_t> slots, Inquiry& pod, uint8_t* admitted) const;
  // The groups of nodes that are alike (ledger_service.h, `alike`). `pod` may be null.
  void alike(size_t asked, Inquiry* pod, plimsoll_numa_put_alike put, void* sink) const;
  // Where the pod is promised to be, or else would land in a what-if (ledger_service.h, `where`;
  // ledger_where.cpp). Nothing: not known, or refused.
  [[nodiscard]] std::optional<Whereabouts> where(
      uint32_t slot, Inquiry& pod, std::string_view uid, std::span<const plimsoll_str> without,
      std::span<const kubelet::PodDemand* const> with) const;
  // Zones by id: of pods that are in one only, and of pods that are in several.
  struct Occupied {
    uint64_t by_single = 0;
    uint64_t by_spread = 0;
  };
  [[nodiscard]] Occupied occupied(uint32_t slot, std::span<const plimsoll_str> without) const;
  // For explanations: the node as its kubelet sees it, in the likeliest of its possible states.
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
  // Pods that went away and that the node's last report may still count.
  [[nodiscard]] size_t remembered_gone(std::string_view node_name) const;
  [[nodiscard]] uint64_t pending_promises() const { return pending_; }
  [[nodiscard]] const LedgerStats& stats() const { return stats_; }
  // Nodes with more than one possible state, nodes of which too little is known to tell them apart,
  // and nodes whose kubelet refused a pod since its last report.
  struct Doubts {
    size_t several_worlds = 0;
    size_t blurred = 0;
    size_t refused = 0;
  };
  [[nodiscard]] const Doubts& doubts() const { return doubts_; }
  // What differed between predictions and reports since the last call, a line per report; and facts
  // that reports got wrong. For logs.
  [[nodiscard]] std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }
  // The same, of what somebody has to mend.
  [[nodiscard]] std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

  // ---- who may fit now that did not (ledger_easing.cpp)
  // The last thing that the ledger heard of was about the node in this slot, and there may be more
  // room than before or less doubt. False: who did not fit does not fit now.
  [[nodiscard]] bool eased(uint32_t slot) const {
    return slot < slots_.size() && slots_[slot] != nullptr && slots_[slot]->eased == event_;
  }
  // A number that is another one whenever the node in this slot has changed: verdicts hold as long
  // as it stays. 0: the node is not known.
  [[nodiscard]] uint64_t change_of(uint32_t slot) const {
    return slot < slots_.size() && slots_[slot] != nullptr ? slots_[slot]->change : 0;
  }
  // When pass_time is to be called next; INT64_MAX: never as things are.
  [[nodiscard]] int64_t due_ms() const { return due_.empty() ? INT64_MAX : due_.begin()->first; }
  // Ends doubts that no report ended in time.
  void pass_time(int64_t now_ms);

  struct Changes {
    std::vector<uint32_t> slots;  // whose zones changed since the last call
    std::vector<uint32_t> freed;  // of these, where room came free that nobody else tells of
  };
  [[nodiscard]] Changes take_changes();
  void take_changes(Changes& into);  // whose memory is used again

 private:
  struct PodKey {  // of the UID: two hashes, so that 100,000 pods do not keep their texts
    uint64_t a = 0;
    uint64_t b = 0;
    friend bool operator==(const PodKey&, const PodKey&) = default;
  };
  struct PodKeyHash {
    size_t operator()(const PodKey& key) const { return key.a; }
  };
  // When something happened to a pod, as far as the order goes.
  struct Moment {
    uint64_t reserved = 0;  // order in which this ledger heard of it
    uint64_t bound = 0;     // order in which it heard of the binding; 0: not yet
    uint64_t gone = 0;
    uint64_t version = 0;  // the API server's, when the binding was seen
    bool fresh = false;    // and that was before anything else of it: the binding's own version
  };
  struct PodRecord {
    PodKey key;
    uint64_t hash = 0;           // its part of the fingerprint
    bool exclusive = false;      // counted by method with-exclusive-resources
    bool bound = false;          // the API server says so
    bool covered = false;        // the last report counts it
    bool located = false;        // and showed it where it was predicted
    bool trusted = false;        // the charges come from a promise or an annotation
    int64_t since_ms = 0;        // reserved, or seen bound
    int64_t start_ms = 0;        // status.startTime: the kubelet took it; 0: not known
    int64_t order_ms = 0;        // reserved, or else started or seen: the order of admission
    int64_t alias_until_ms = 0;  // a namesake may stand for it in fingerprints until then
    std::vector<Charge> charges;
    bool annotated = false;  // promised before a restart: placed as its annotation says
    std::vector<plimsoll_numa_charge> named;  // what that says, until the node's first report
    int64_t running_ms = 0;                   // seen running, its init containers over; 0: not yet
    // No memory of its init containers is in the report any more. Unless `held` says what there is
    // of it, it may come free any time, or have: nobody knows how much of it, nor where.
    bool init_over = true;
    bool leaving = false;  // being deleted: its kubelet lets go of it any time now
    bool weak = false;  // covered by a drop or by age: an explained fingerprint may say otherwise
    std::shared_ptr<const PodRequest>
        request;  // if it pins anything: for predicting again, what-ifs
    // For the kubelet's algorithm:
    std::shared_ptr<const kubelet::PodDemand> demand;  // if a kubelet looks at it at all
    std::shared_ptr<const kubelet::Admission> given;   // of a promise, most likely; null: refused
    std::shared_ptr<const kubelet::Allocation> held;   // exactly, as reports bear out; or null
    Moment moment;
  };
  struct GonePod {  // that the last report may still count
    uint64_t hash = 0;
    bool exclusive = false;
    bool counted = false;  // by the report at the time it went away
    bool located = false;
    bool refund = false;  // its amounts are added until the next report
    bool seen = false;    // the last report counts it, by whatever evidence: for what-ifs
    int64_t gone_ms = 0;
    std::vector<Charge> charges;
    std::shared_ptr<const PodRequest> request;  // for what-ifs
    bool refused = false;                       // by the kubelet: it never held anything
    std::shared_ptr<const kubelet::PodDemand> demand;
    std::shared_ptr<const kubelet::Allocation> held;
    Moment moment;
  };
  // What pods of one kind have in common.
  struct Kind {
    explicit Kind(const plimsoll_pod& pod);
    PodRequest request;
    std::string names;                       // that `request` points into
    std::shared_ptr<const PodRequest> kept;  // of records; null: it pins nothing
    Inquiry inquiry;
  };
  // What happened since the report, played through; ledger_worlds.cpp.
  struct Since {
    std::vector<kubelet::NodeState> worlds;  // the first is the likeliest; never empty if reported
    // The worlds are not all that there may be: of `worlds` only the first is kept, what is free at
    // least, and a new pod must fit beside all in `unsettled` wherever they are.
    bool blurred = false;
    // Blurred for one reason: init containers of pods found after a restart still hold memory, and
    // it is not known in which zone that comes free. All else is as in the only world.
    bool only_starts = false;
    std::vector<std::shared_ptr<const kubelet::PodDemand>> unsettled;
    // Bindings that are under way: another pod may be admitted before them, between them or after.
    // Then these are what the worlds came from.
    std::vector<std::shared_ptr<const kubelet::PodDemand>> unbound;
    std::vector<Subject> subjects;
    std::vector<std::shared_ptr<const kubelet::PodDemand>> demands;  // keeps those of `subjects`
    std::vector<Step> steps;
    // Besides, pods may let go of something: `subjects` and `steps`, from the one world that there
    // is. It makes no difference to most pods that come alone, see room.hpp.
    bool open_ended = false;
    uint64_t settled_steps = 0;  // those that come before any pod that is bound from now on
    kubelet::NodeState base;
    uint64_t lost = 0;  // steps whose pod some order refuses
  };
  // By a kubelet, on counts that would have let it pass.
  struct Refusal {
    std::shared_ptr<const kubelet::PodDemand> demand;
    std::vector<int64_t> available;  // by the first report after it; empty: none came yet
    int64_t ms = 0;
  };
  struct NodeRecord {
    std::string name;
    uint32_t slot = UINT32_MAX;
    bool reported = false;
    bool malformed = false;  // its object is there and cannot be read; not if reported
    bool explained = false;  // the report's fingerprint is that of the covered pods
    NumaNode zones;
    std::shared_ptr<const kubelet::NodeModel> model;   // if reported
    std::shared_ptr<const kubelet::NodeModel> counts;  // without ids
    kubelet::NodeState state;                          // as reported
    bool exact = false;                                // the report says all that a kubelet knows
    // Nobody knows which pods the report counts.
    [[nodiscard]] bool unexplained() const { return !fingerprint.empty() && !explained; }
    bool refused_one = false;  // its kubelet refused a pod that should have fit
    int64_t refused_ms = 0;    // when it last did
    bool lost_track = false;   // pods that went away were forgotten
    bool new_report = false;   // that was not played from yet
    bool surprised = false;    // it took their places from pods, see is_surprise
    // Until then a report that cannot be explained may count pods that are gone; 0: it does not.
    int64_t doubt_until_ms = 0;
    std::vector<Refusal> refusals;
    int64_t whole_cores_ms =
        0;  // when its kubelet was seen to give whole cores only; 0: it was not
    Since since;
    std::vector<std::string> problems;                // of its facts, as they were noted
    std::string contradiction;                        // of its counts, the same
    mutable std::atomic<bool> told_uncertain{false};  // somebody waits for more certainty
    enum class Beside : uint8_t { kUnknown, kNo, kYes };
    mutable std::atomic<Beside> beside{Beside::kUnknown};  // see others_land_side_by_side
    uint64_t change = 0;                                   // see change_of
    uint64_t eased = 0;                                    // see eased
    int64_t due_ms = INT64_MAX;                            // its place in due_
    bool counted_worlds = false;                           // in doubts_, as the next two
    bool counted_blurred = false;
    bool counted_refused = false;
    std::string version;
    std::string fingerprint;
    FingerprintMethod method = FingerprintMethod::kAll;
    std::vector<PodRecord> pods;
    std::vector<GonePod> gone;
  };
  // What a question about a node reads first, all nodes close together: what else there is of them
  // lies scattered among everything that ever happened. look() keeps it in step.
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
  // What a report replaces.
  struct Before {
    bool had = false;
    bool doubted = false;  // malformed, or its kubelet had refused a pod, or pods were forgotten
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
  PodRecord take_pod(NodeRecord& node, const PodKey& key);  // which is there
  void add_pod(NodeRecord& node, PodRecord record);
  // `placement`: of the pod asked about.
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
  // False: it cannot be told, and nothing changed.
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
  // True: something of it does not hold any more.
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
  bool settle_pod(NodeRecord& node, PodRecord& pod);     // true: something is settled by it
  bool explain(NodeRecord& node, const Before* before);  // null: not a new report
  void settle_by_drop(NodeRecord& node, const NumaNode& before);
  void settle_by_age(NodeRecord& node, PodRecord& pod);
  bool confirm(NodeRecord& node, const NumaNode& before, const std::vector<PodRecord*>& added,
               const std::vector<const GonePod*>& removed);
  void trim_gone(NodeRecord& node);
  void cover(PodRecord& pod, uint64_t& counter, bool weak);

  // Of what questions read of every node: in few pieces, so that it lies close together.
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
  ZoneColumns columns_;                    // look() keeps them in step, too
  boost::unordered_flat_map<PodKey, NodeRecord*, PodKeyHash> pods_;
  std::vector<uint32_t> touched_;
  std::vector<uint32_t> freed_;
  uint64_t event_ = 1;   // what the ledger hears of, counted
  uint64_t change_ = 0;  // changes of nodes, counted
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

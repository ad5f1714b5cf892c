#pragma once
// The scheduler loop: one thread that owns the cluster state, the queue, the profiles and their
// plugins.
//
//   reflectors, binders --post()--> inbox --> loop: state, queue, plugins' events
//   loop: pop -> PreFilter .. Permit -> assume --> binder threads: PreBind, Bind, PostBind
//   --post()--> inbox
//
// Life: create(), start reflectors for wanted_kinds(), run() on a thread of its own, stop().
// Nothing is scheduled before pods, nodes and every wanted kind were listed once; plugins then hear
// of nodes first, then of kinds, then of pods. While a kind is not followed, pods that rest on it
// wait; while pods or nodes are not, all do (lost_kinds.hpp).

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "framework/base/flat_map.hpp"
#include "framework/base/result.hpp"
#include "framework/cluster/cluster_state.hpp"
#include "framework/cycle/class_cache.hpp"
#include "framework/cycle/diagnosis.hpp"
#include "framework/cycle/lost_kinds.hpp"
#include "framework/cycle/nominator.hpp"
#include "framework/cycle/profiles_policy.hpp"
#include "framework/metrics/registry.hpp"
#include "framework/port/api_writer.hpp"
#include "framework/port/inbox.hpp"
#include "framework/queue/scheduling_queue.hpp"
#include "framework/runtime/environment.hpp"
#include "framework/runtime/framework.hpp"
#include "framework/runtime/host_backend.hpp"
#include "framework/runtime/prepared_plugins.hpp"

namespace plimsoll {

class BinderPool;
struct ExplainRequest;
struct ExplainedQueuePlace;
struct ExplainedRejector;
struct Explanation;
class Modules;
class QueueMetrics;
struct StateSnapshot;
class SymbolTable;

struct SchedulerOptions {
  QueueConfig queue;
  std::vector<ProfileSpec> profiles;  // at least one; the queue is shared
  unsigned binder_threads = 16;       // PreBind plugins may block
  // Pods on their way from Permit to being bound. So many, and no further pod is taken from the
  // queue: decisions do not run ahead of an API server that cannot follow, what is urgent does not
  // wait behind a long line of bindings, and memory is bounded. Groups that wait on Permit do not
  // count.
  size_t max_unbound = 1024;
  ClassCacheOptions classes;
  bool standby = false;                  // schedule nothing before lead() is called
  metrics::Registry* metrics = nullptr;  // null: nothing is measured; outlives the scheduler
  // Milliseconds since the epoch, never falling; any thread. Null: the machine's clock. One that
  // the caller moves must be followed by a message: the loop sleeps by the machine's.
  std::function<int64_t()> clock;
};

// A further kind that plugins asked for.
struct WantedKind {
  std::string group;
  std::string version;
  std::string plural;
  // "<plural>.<version>.<group>", as in messages and events; of the core group only the plural.
  [[nodiscard]] std::string resource() const {
    return group.empty() ? plural : plural + "." + version + "." + group;
  }
};

// Totals since the start; a copy.
struct SchedulerStats {
  uint64_t attempts = 0;
  uint64_t scheduled = 0;
  uint64_t unschedulable = 0;
  uint64_t errors = 0;
  uint64_t bind_errors = 0;
  std::map<std::string, uint64_t> malformed_objects;  // by kind
  size_t nodes = 0;
  size_t pods = 0;
  size_t assumed_pods = 0;
  SchedulingQueue::Sizes queue{};
  ClassCache::Stats classes;
  size_t waiting_on_permit = 0;
  size_t binding = 0;   // past Permit and not bound yet
  uint64_t pauses = 0;  // times that pods had to wait in the queue for these; see max_unbound
  size_t inbox = 0;     // messages that are not handled yet
  bool synced = false;
  size_t waiting_for_kinds = 0;  // pods that rest on a kind that is not followed
  bool blind = false;            // pods or nodes are not followed: nothing is decided
};

// A loop that is busy with one message, one pod or one timer for longer than this hangs, most
// likely in a plugin. The longest that is legitimate take seconds, in the largest clusters.
inline constexpr std::chrono::seconds kLoopHangsAfter{30};

class Scheduler final : public Inbox, private HostBackend {
 public:
  // Makes every plugin of every profile. All errors of all profiles, one a line. `modules`,
  // `symbols` and `writer` must outlive the scheduler.
  // `prepared`: plugins that are made already, with the same symbols.
  [[nodiscard]] static Result<std::unique_ptr<Scheduler>> create(
      SchedulerOptions options, const Modules& modules, SymbolTable& symbols, ApiWriter& writer,
      std::unique_ptr<PreparedPlugins> prepared = nullptr);
  ~Scheduler() override;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  [[nodiscard]] const std::vector<WantedKind>& wanted_kinds() const { return wanted_kinds_; }

  // Called on the loop for each kind that a plugin asks for later, from within its callbacks. Set
  // it before run().
  void on_kind_wanted(std::function<void(const WantedKind&)> callback) {
    kind_wanted_ = std::move(callback);
  }

  void post(Message message) override;  // any thread
  // Ends the standby: what was posted before is heard first. Any thread.
  void lead();
  void run();   // the calling thread is the loop until stop()
  void stop();  // any thread, idempotent; binds in flight are waited for by run()
  [[nodiscard]] SchedulerStats stats() const;  // any thread; as of the last turn of the loop
  // How long the loop has been busy with what it does now; nothing while it waits or does not run.
  // Any thread.
  [[nodiscard]] std::chrono::nanoseconds busy_for() const;

  // What would become of a pod, and what is known here. On the loop only: post a Task that calls
  // them. Neither changes anything.
  [[nodiscard]] Explanation explain(const ExplainRequest& request);
  [[nodiscard]] StateSnapshot snapshot(bool with_plugins = false);

 private:
  // One pod on its way from the queue to a node. Lives until its binding has ended.
  struct Attempt;
  struct Columns;
  struct Room;
  using Timers = std::multimap<int64_t, std::function<void()>>;  // by due time
  // What the filters said; rows and results by position.
  struct Evaluation {
    NodeRows feasible;                       // not filled in if `whole`; in room_
    ClassTable* table = nullptr;             // of the pod's class; null: all nodes are walked over
    std::vector<const NodeInfo*> contested;  // with a table: see contested_nodes()
    bool whole = false;                      // the table's feasible nodes are those of this pod
    bool check = false;                      // to be made again without the table
    Diagnosis diagnosis;
    Status status;
    Nominating nominating = Nominating::clear();  // what a failure says about the nomination
  };

  Scheduler(SchedulerOptions options, SymbolTable& symbols, ApiWriter& writer,
            std::unique_ptr<PreparedPlugins> prepared);
  Result<void> make_profiles(const Modules& modules);

  // ---- the loop (scheduler.cpp)
  void begin_step();             // see busy_for()
  bool turn(bool may_schedule);  // handles messages, timers and some pods; false: nothing was done
  void wait_for_work();
  void run_timers();
  void publish_stats();
  void hand_over();  // to the binders what the loop has for them
  void start_metrics();
  void show_gauges() const;  // any thread

  // ---- messages (event_handlers.cpp)
  void handle(Message& message);
  void hold(Message message);
  void handle(PodUpserted& message);
  void handle(PodDeleted& message);
  void handle(NodeUpserted& message);
  void handle(NodeDeleted& message);
  void handle(ObjectUpserted& message);
  void handle(ObjectDeleted& message);
  void handle(KindSynced& message);
  void handle(KindFollowed& message);
  void kind_found(const std::string& resource);
  void handle(ObjectMalformed& message);
  void handle(Task& message);
  // A pod may name resources before a node or a plugin does: then they get their positions.
  [[nodiscard]] PodRef placed(PodRef pod, bool followed);
  void place_resources();
  void assigned_pod(const PodRef& pod);
  void pending_pod(const PodRef& pod);
  void forget_pod(const PodRef& last_known);
  // `node_name`: where it was nominated to; empty: nothing has ended. See move_all for the last.
  void nomination_ended(const PodRef& pod, std::string_view node_name,
                        std::string_view except_uid = {});
  void tell_plugins(uint32_t type, const plimsoll_pod& pod, std::string_view node_name);
  void finish_initial_sync();

  // ---- one attempt (scheduling_cycle.cpp)
  bool schedule_one();
  bool waits_for_kinds(Attempt& attempt);
  [[nodiscard]] size_t unbound() const { return attempts_.size() - waiting_.size(); }
  [[nodiscard]] bool has_room();
  [[nodiscard]] PodRef as_nominated(const PodRef& pod) const;
  void evaluate(Attempt& attempt, Evaluation& result);
  [[nodiscard]] NodeRows all_nodes() const;
  [[nodiscard]] NodeRows named_nodes(const PreFilterOutcome& outcome);
  void spread_verdicts(NodeRows rows, Columns& columns) const;
  void sum_up(NodeRows rows, const Columns& columns, Evaluation& result);
  bool fits_nominated_node(Attempt& attempt, const PreFilterOutcome& outcome, Evaluation& result);
  void run_post_filters(Attempt& attempt, NodeRows rows, std::span<const uint8_t> codes,
                        Evaluation& result);
  const plimsoll_node_info* select(Attempt& attempt, const Evaluation& result, Status& status);

  // ---- from what is known of the pod's class (class_decision.cpp)
  void ask_class(Attempt& attempt, Evaluation& result);
  bool copy_class_verdicts(Attempt& attempt, NodeRows rows, Evaluation& result, Columns& columns);
  void check_verdicts(Attempt& attempt, NodeRows rows, Evaluation& result, Columns& columns);
  bool same_verdicts(Attempt& attempt, NodeRows rows, const Columns& kept, size_t begin,
                     const Columns& afresh);
  const plimsoll_node_info* best_by_class(Attempt& attempt, const Evaluation& result,
                                          NodeRows feasible);
  bool agrees(Attempt& attempt, const Evaluation& result, NodeRows feasible,
              const plimsoll_node_info* best);
  bool same_scores(Attempt& attempt, const Evaluation& result, const Framework::Slot& slot,
                   NodeRows feasible);
  void differs(Attempt& attempt, PluginIndex plugin, const plimsoll_node_info& node,
               std::string_view kept, std::string_view afresh);
  [[nodiscard]] const plimsoll_node_info* best_of(NodeRows rows,
                                                  std::span<const int64_t> totals) const;
  bool reserve_and_permit(Attempt& attempt, const plimsoll_node_info* node);
  void note_rejection(Diagnosis& diagnosis, const Status& status) const;
  void fail_attempt(Attempt& attempt, const Status& status, Diagnosis diagnosis,
                    const Nominating& nominating = Nominating::clear());
  // `nominated`: the API server may have been told of a nomination, or of the end of one, that
  // `pod` does not show yet.
  void report_failure(const plimsoll_pod& pod, bool unschedulable, const std::string& message,
                      const Nominating& nominating = Nominating::clear(), bool nominated = false);

  // ---- Permit (permit_wait.cpp)
  void begin_wait(Attempt& attempt);
  void allow(const std::string& uid, const std::string& plugin);
  void reject(const std::string& uid, const std::string& plugin, const std::string& message);
  void expire(const std::string& uid, const std::string& plugin);
  void end_wait(Attempt& attempt);
  void drop_waiting_pods();

  // ---- binding (binding_cycle.cpp)
  void begin_binding_cycle(Attempt& attempt);
  void write_nomination(Attempt& attempt);
  void proceed(Attempt& attempt);
  void bind(Attempt& attempt);
  void run_binds(Attempt& attempt);  // any thread, as the next two
  void run_post_bind(Attempt& attempt);
  void post_end(Attempt& attempt, Status status);
  void binding_ended(Attempt& attempt, Status status);
  void binding_failed(const std::string& uid, const Status& status,
                      std::optional<Diagnosis> diagnosis = {});
  void undo(Attempt& attempt);

  // ---- for people who ask (explain.cpp)
  [[nodiscard]] Explanation explain_now(const ExplainRequest& request);
  [[nodiscard]] PodRef find_pod(const ExplainRequest& request) const;
  [[nodiscard]] ExplainedQueuePlace queue_place(const QueuedPod& queued);
  [[nodiscard]] std::vector<ExplainedRejector> rejectors_of(const QueuedPod& queued,
                                                            Framework& framework);

  // ---- HostBackend (host.cpp); see there for threads
  const plimsoll_node_info* node_by_name(std::string_view node_name) override;
  const plimsoll_node_info* node_by_slot(uint32_t slot) override;
  uint32_t slot_count() override;
  void touch_node(uint32_t slot, uint32_t aspects) override;
  Result<void> watch(std::string_view group, std::string_view version,
                     std::string_view plural) override;
  void requeue_rejected(std::string_view plugin) override;
  void emit_event(std::string_view scheduler_name, const plimsoll_pod& pod, bool warning,
                  std::string_view reason, std::string_view action, std::string_view note) override;
  void allow_waiting(std::string_view plugin, std::string_view pod_uid) override;
  void reject_waiting(std::string_view plugin, std::string_view pod_uid,
                      std::string_view message) override;
  void post_binding(BindingPost post, std::function<void(Result<void>)> done) override;
  int64_t now_ms() override;
  const plimsoll_pod* pod_by_uid(std::string_view uid) override;
  std::vector<WaitingPod> waiting_pods() override;
  std::unique_ptr<WhatIf> what_if(const CycleContext& cycle, const plimsoll_pod& pod,
                                  uint32_t slot) override;
  void nominate(const plimsoll_pod& pod, std::string_view node_name) override;
  std::vector<const plimsoll_pod*> nominated_pods(std::string_view node_name) override;
  bool cancel_binding(std::string_view pod_uid, std::string_view message) override;
  void activate(std::string_view pod_uid) override;
  void run_on_loop(int64_t delay_ms, std::function<void()> task) override;
  void api_request(PluginRequest request, ApiAnswer done) override;

  Framework* framework_for(const plimsoll_pod& pod);  // null: not one of our schedulerNames

  SchedulerOptions options_;
  ApiWriter& writer_;
  std::unique_ptr<metrics::SchedulerMetrics> metrics_;  // null: nothing is measured
  std::unique_ptr<QueueMetrics> queue_metrics_;         // null: nothing is measured
  std::vector<WantedKind> wanted_kinds_;
  std::function<void(const WantedKind&)> kind_wanted_;
  const std::unique_ptr<PreparedPlugins> prepared_;
  Environment& environment_;
  std::vector<std::unique_ptr<Framework>> frameworks_;
  ProfilesPolicy policy_;

  ClusterState cluster_;
  ClassCache classes_;
  Nominator nominator_;
  SchedulingQueue queue_;
  FlatStringMap<std::unique_ptr<Attempt>> attempts_;  // by UID: waiting on Permit, or binding
  std::unordered_set<std::string> waiting_;           // of these, UIDs that wait on Permit
  std::unordered_map<std::string, std::unordered_set<std::string>>
      known_objects_;  // kind -> "ns/name"
  std::unordered_set<std::string> unsynced_kinds_;
  LostKinds lost_kinds_;
  struct HeldPod {
    PodRef pod;
    uint64_t number;  // in the order in which they came
  };
  // Pods that arrive before the first lists are complete; by UID, which lies in the pod itself.
  std::unordered_map<std::string_view, HeldPod> held_;
  uint64_t held_count_ = 0;
  FlatStringMap<PodRef> unplaced_;  // by UID: pods that name resources of no node
  uint32_t known_resources_ = 0;    // so many names had a position when these were last looked at
  std::vector<uint64_t> last_chosen_;  // by slot: when a node was last chosen, for ties
  uint64_t choices_ = 0;
  std::unique_ptr<Room> room_;  // for one attempt, kept
  Timers timers_;
  Attempt* current_ = nullptr;                      // in its scheduling cycle
  std::vector<std::function<void()>> for_binders_;  // see hand_over()
  const Framework::Post on_binder_;                 // any thread
  int64_t next_flush_ms_ = 0;
  int64_t clock_offset_ms_ = 0;  // from the steady clock to the epoch
  std::atomic<std::thread::id> loop_thread_{};
  std::atomic<std::chrono::nanoseconds::rep> step_began_{0};  // by the steady clock; 0: it waits
  bool started_ = false;  // every plugin was created and started
  bool synced_ = false;
  bool standby_ = false;
  bool paused_ = false;  // there is no room for a further pod; see has_room()
  SchedulerStats counters_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Message> inbox_;  // guarded by mutex_
  // Guarded by mutex_: with so many messages the loop, which sleeps, is to be woken.
  static constexpr size_t kAwake = SIZE_MAX;
  size_t wake_at_ = kAwake;
  bool stopping_ = false;     // guarded by mutex_
  bool stopped_ = false;      // guarded by mutex_
  SchedulerStats published_;  // guarded by mutex_

  std::unique_ptr<BinderPool> binders_;  // stopped before all of the above goes
  metrics::Registry::Collector gauges_;  // last: asks for stats()
};

}  // namespace plimsoll

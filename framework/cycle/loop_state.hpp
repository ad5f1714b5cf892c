#pragma once
// What the parts of the scheduler loop share: the cluster, the queue, the profiles with their
// plugins, the clock, and how a pod's failure is written. Only the loop may touch it, unless noted.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "framework/cluster/cluster_state.hpp"
#include "framework/cycle/groups/group_decision.hpp"
#include "framework/cycle/lost_kinds.hpp"
#include "framework/cycle/profiles_policy.hpp"
#include "framework/cycle/scheduler_options.hpp"
#include "framework/placement/group_trial.hpp"
#include "framework/placement/placer.hpp"
#include "framework/port/api_writer.hpp"
#include "framework/port/inbox.hpp"
#include "framework/queue/scheduling_queue.hpp"
#include "framework/runtime/framework.hpp"
#include "framework/runtime/plugin/environment.hpp"
#include "framework/runtime/plugin/prepared_plugins.hpp"

namespace plimsoll {

struct Attempt;
class GroupConditions;
class QueueMetrics;
class SymbolTable;

using Timers = std::multimap<int64_t, std::function<void()>>;  // by due time

struct LoopState {
  // All but the options and the plugins must outlive the state. `made`: null: the state makes its
  // own.
  LoopState(SchedulerOptions given, SymbolTable& symbols, ApiWriter& api_writer, Inbox& messages,
            std::unique_ptr<PreparedPlugins> made);
  ~LoopState();
  LoopState(const LoopState&) = delete;
  LoopState& operator=(const LoopState&) = delete;

  // Milliseconds since the epoch; it never steps back. Any thread.
  [[nodiscard]] int64_t now_ms() const;
  // The loop is not hanging, see Scheduler::busy_for; and what the step before said is told.
  void begin_step();
  // Whether the caller is a part of an attempt's scheduling cycle. Any thread.
  [[nodiscard]] bool in_attempt() const {
    return loop_thread.load() == std::this_thread::get_id() && current != nullptr;
  }
  // Null: the pod has none of our schedulerNames.
  [[nodiscard]] Framework* framework_for(const plimsoll_pod& pod) const {
    return policy.framework_for(pod);
  }
  // The pod with the nomination that it is going to have.
  [[nodiscard]] PodRef as_nominated(const PodRef& pod) const;
  // Whether an attempt on the pod's group is under way.
  [[nodiscard]] bool is_decided_on(const plimsoll_pod& pod) const {
    return !decided_on.empty() && cluster.group_of(pod).key() == decided_on;
  }
  // Who is evicted with this pod, which has a node.
  [[nodiscard]] VictimUnit unit_of(const plimsoll_pod& pod) const;
  // The kinds that the pod's verdict rests on and that are not followed; nothing: there are none.
  // The pod is woken when they are followed again.
  struct Refusal {
    Status status;
    Diagnosis diagnosis;
  };
  [[nodiscard]] std::optional<Refusal> missing_kinds(const Attempt& attempt);
  // skipPodSchedule: the pod leaves the queue without an attempt. One that is being deleted is
  // told.
  void skip(const plimsoll_pod& pod, const Framework* framework);
  // The pod is assumed on the node, and reserved there. Nothing: it is on a node already, by
  // another way, and nothing has changed. What a plugin rejected is to be undone.
  [[nodiscard]] std::optional<Status> reserve(Attempt& attempt, const plimsoll_node_info* node);
  // Success or Wait, or why not; then it is to be undone.
  [[nodiscard]] Status permit(Attempt& attempt, const plimsoll_node_info* node);
  // Unreserve, and the pod is assumed no more.
  void undo(Attempt& attempt);
  // Of a pod that is in the queue.
  void nominate(const PodRef& pod, const Nominating& nominating);
  // The attempt failed, and the queue knows: what becomes of the nomination, and what is written.
  // `why`: in place of what the verdict says. `entry_uid`: of the pod that stands for the pod's
  // group in the queue; empty: it has none.
  void attempt_failed(const Attempt& attempt, const PodRef& pod, const Status& status,
                      const Diagnosis& diagnosis, const Nominating& nominating,
                      std::string_view why = {}, std::string_view entry_uid = {});
  // Puts the pod on its node before the API server confirms it, and takes it off again; plugins
  // that count assumed pods hear of it. False: nothing changed.
  bool assume(const PodRef& pod, uint32_t slot);
  // The assumed pod with these amounts (plimsoll_claim_amount); false: it is not assumed.
  bool add_amounts(std::string_view pod_uid, const plimsoll_list& amounts);
  bool forget(const plimsoll_pod& assumed);
  // `node_name`: where it was nominated to; empty: nothing has ended. See move_all for the last.
  void nomination_ended(const PodRef& pod, std::string_view node_name,
                        std::string_view except_uid = {});
  // status.nominatedNodeName, in the place of what is to be written there before; empty: none.
  // Nothing waits for it: if Bind comes first, a writer drops it, or the API server refuses it for
  // its old resource version.
  void write_nomination(const plimsoll_pod& pod, std::string_view node_name);
  // Event, condition, counters. `nominated`: the API server may have been told of a nomination, or
  // of the end of one, that `pod` does not show yet.
  void report_failure(const plimsoll_pod& pod, bool unschedulable, std::string_view why,
                      const Nominating& nominating = Nominating::clear(), bool nominated = false);
  void emit_event(std::string_view scheduler_name, const plimsoll_pod& pod, bool warning,
                  std::string_view reason, std::string_view action, std::string_view note);

  const SchedulerOptions options;
  ApiWriter& writer;
  const std::shared_ptr<GroupConditions> group_conditions;
  Inbox& inbox;
  std::unique_ptr<metrics::SchedulerMetrics> metrics;  // null: nothing is measured
  std::unique_ptr<QueueMetrics> queue_metrics;         // null: nothing is measured
  const std::unique_ptr<PreparedPlugins> prepared;
  Environment& environment;
  std::vector<std::unique_ptr<Framework>> frameworks;
  ProfilesPolicy policy;

  ClusterState cluster;
  Nominator nominator;
  Placer placer;
  GroupTrial group_trial;
  GroupDecision group_decision;
  SchedulingQueue queue;
  LostKinds lost_kinds;
  Timers timers;
  SchedulerStats counters;

  // Set while a group is tried: what plugins wake because of its pods, which may all be undone.
  std::vector<ClusterEvent>* requeues_held = nullptr;
  std::string decided_on;         // the group of the attempt that is under way; empty: none is
  std::vector<Message> deferred;  // what was heard of that group, to be handled when it is not
  std::unordered_set<std::string> deferred_pods;  // UIDs of these
  // Since when all that is watched, or may go by that, is deferred until that attempt has ended;
  // nothing: it is not. No timer runs meanwhile either.
  std::optional<std::chrono::steady_clock::time_point> watch_waits_since;
  size_t deferred_of_others = 0;  // messages that are deferred for that alone
  uint64_t nodes_changed = 0;     // how often a node came, went or changed

  std::vector<WantedKind> wanted_kinds;
  std::function<void(const WantedKind&)> kind_wanted;  // hears of those that are asked for late
  std::unordered_set<std::string> unsynced_kinds;
  Attempt* current = nullptr;  // in its scheduling cycle
  bool started = false;        // every plugin was created and started
  bool synced = false;         // the first lists are complete
  bool standby = false;
  std::atomic<std::thread::id> loop_thread{};  // any thread
  std::atomic<std::chrono::nanoseconds::rep> step_began{
      0};  // any thread; steady clock; 0: it waits

 private:
  void start_metrics();

  int64_t clock_offset_ms_ = 0;  // from the steady clock to the epoch
};

}  // namespace plimsoll

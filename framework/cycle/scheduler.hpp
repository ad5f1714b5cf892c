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

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "framework/base/result.hpp"
#include "framework/cycle/scheduler_options.hpp"
#include "framework/metrics/registry.hpp"
#include "framework/port/inbox.hpp"
#include "framework/runtime/plugin/host_backend.hpp"
#include "framework/runtime/plugin/prepared_plugins.hpp"

namespace plimsoll {

class ApiWriter;
struct Attempt;
class Bindings;
struct Diagnosis;
struct ExplainRequest;
struct ExplainedQueuePlace;
struct ExplainedRejector;
class ExtenderWaits;
struct Explanation;
class Framework;
class GroupCycle;
class Intake;
struct LoopState;
class Modules;
struct Nominating;
struct StateChoice;
struct StateSnapshot;
struct Status;
class SymbolTable;

// A loop that is busy with one message, one pod or one timer for longer than this hangs, most
// likely in a plugin. The longest that is legitimate take seconds, in the largest clusters.
inline constexpr std::chrono::seconds kLoopHangsAfter{30};

class Scheduler final : public Inbox {
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

  [[nodiscard]] const std::vector<WantedKind>& wanted_kinds() const;

  // Called on the loop for each kind that a plugin asks for later, from within its callbacks. Set
  // it before run().
  void on_kind_wanted(std::function<void(const WantedKind&)> callback);

  void post(Message message) override;  // any thread
  // Ends the standby: what was posted before is heard first. Any thread.
  void lead();
  // With SchedulerOptions::stepwise: decides on the next pod, once what was posted before is heard.
  // Does nothing if none may be decided on then. Any thread.
  void step();
  void run();  // the calling thread is the loop until stop()
  // Any thread, idempotent. An attempt that takes long is given up, and nothing of it is written;
  // binds in flight are waited for by run().
  void stop();
  [[nodiscard]] SchedulerStats stats() const;  // any thread; as of the last turn of the loop
  // How long the loop has been busy with what it does now; nothing while it waits or does not run.
  // Any thread.
  [[nodiscard]] std::chrono::nanoseconds busy_for() const;

  // What would become of a pod, and what is known here. On the loop only: post a Task that calls
  // them. Neither changes anything.
  [[nodiscard]] Explanation explain(const ExplainRequest& request);
  [[nodiscard]] StateSnapshot snapshot();  // all but what plugins keep
  [[nodiscard]] StateSnapshot snapshot(const StateChoice& choice);

 private:
  struct Parts;

  Scheduler(SchedulerOptions options, SymbolTable& symbols, ApiWriter& writer,
            std::unique_ptr<PreparedPlugins> prepared);
  Result<void> make_profiles(const Modules& modules);

  // ---- the loop (scheduler.cpp)
  bool turn(bool may_schedule);  // handles messages, timers and some pods; false: nothing was done
  void hear(Message& message);
  void wait_for_work();
  [[nodiscard]] int64_t next_due_ms() const;
  void run_timers();
  [[nodiscard]] bool has_room();
  [[nodiscard]] bool stop_asked() const;  // any thread
  void publish_stats();
  void show_gauges() const;  // any thread

  // ---- one attempt (scheduling_cycle.cpp)
  size_t schedule_one();    // how many pods were decided on: of a group several
  void go_on_with_group();  // whose attempt is under way, for a slice
  void end_group();
  void consider(std::unique_ptr<Attempt> attempt);
  bool reserve_and_permit(Attempt& attempt, const plimsoll_node_info* node);
  void fail_attempt(Attempt& attempt, const Status& status, Diagnosis diagnosis,
                    const Nominating& nominating);

  // ---- for people who ask (explain.cpp)
  [[nodiscard]] Explanation explain_now(const ExplainRequest& request);
  [[nodiscard]] PodRef find_pod(const ExplainRequest& request) const;
  [[nodiscard]] ExplainedQueuePlace queue_place(const QueuedPod& queued);
  void add_queue(StateSnapshot& result);
  void add_kinds(StateSnapshot& result) const;
  [[nodiscard]] std::vector<ExplainedRejector> rejectors_of(const QueuedPod& queued,
                                                            Framework& framework);

  const std::unique_ptr<Parts> parts_;
  LoopState& state_;  // as the next two, one of the parts
  Bindings& bindings_;
  Intake& intake_;
  ExtenderWaits* extenders_ = nullptr;  // as well; null: there are no extenders
  std::unique_ptr<GroupCycle> group_;   // whose attempt is under way; null: none
  int64_t next_flush_ms_ = 0;
  bool paused_ = false;  // there is no room for a further pod; see has_room()
  bool step_ = false;    // see step()

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Message> inbox_;  // guarded by mutex_
  // Guarded by mutex_: with so many messages the loop, which sleeps, is to be woken.
  static constexpr size_t kAwake = SIZE_MAX;
  size_t wake_at_ = kAwake;
  bool stopping_ = false;     // guarded by mutex_
  bool stopped_ = false;      // guarded by mutex_
  SchedulerStats published_;  // guarded by mutex_

  metrics::Registry::Collector gauges_;  // last: asks for stats()
};

}  // namespace plimsoll

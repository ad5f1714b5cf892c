#pragma once
// Pods that wait to be scheduled. Kubernetes: pkg/scheduler/backend/queue (SchedulingQueue,
// KEP-4247 queueing hints).
//
//   active         ready, ordered by the QueueSort plugin's key
//   backoff        waiting out a penalty: after a rejection (ordered in windows of 1 s, within one
//                  by the sort key; popped when active is empty), or after an error (never popped
//                  early)
//   unschedulable  rejected, until an event that one of the rejecting plugins cares about; or gated
//                  by PreEnqueue
//   in flight      popped and not done(): events that happen meanwhile are kept, so that no wake-up
//                  is lost
//
// Owned by the scheduler loop; not thread-safe; every time is given by the caller, in milliseconds.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/base/flat_map.hpp"
#include "framework/queue/events.hpp"
#include "framework/queue/indexed_heap.hpp"
#include "framework/queue/queue_observer.hpp"

namespace plimsoll {

using SortKey = std::array<uint8_t, 24>;
using PluginIndex = uint16_t;  // of a plugin in the profile of the pod, as the runtime numbers them
using ProfileIndex = uint16_t;  // of a profile, in the order of the configuration

// A plugin of a profile; ordered by profile, then plugin.
using PluginKey = uint32_t;
[[nodiscard]] constexpr PluginKey plugin_key(ProfileIndex profile, PluginIndex plugin) {
  return PluginKey{profile} << 16 | plugin;
}

enum class QueueHint { kSkip, kQueue };

// What the queue asks the profiles.
class QueuePolicy {
 public:
  virtual ~QueuePolicy() = default;
  // The profile that a pod is scheduled with; it does not change while the pod waits.
  virtual ProfileIndex profile(const plimsoll_pod& pod) = 0;
  // The PreEnqueue plugin that holds the pod back, if any.
  virtual std::optional<PluginIndex> gate(const plimsoll_pod& pod) = 0;
  virtual SortKey sort_key(const plimsoll_pod& pod, int64_t queued_ms) = 0;
  // Who registered this kind of event, ascending. Asked once an event, before any pod is looked at.
  virtual std::vector<PluginKey> interested(const ClusterEvent& event) = 0;
  // What `plugin`, which rejected (or gates) the pod and registered the event, says about it.
  virtual QueueHint hint(const plimsoll_pod& pod, PluginKey plugin, const ClusterEvent& event) = 0;
};

struct QueueConfig {
  int64_t initial_backoff_ms = 1000;
  int64_t max_backoff_ms = 10'000;  // 0: no backoff at all
  int64_t max_in_unschedulable_ms = 5 * 60'000;
};

enum class QueuePlace { kActive, kBackoff, kErrorBackoff, kUnschedulable, kInFlight };

struct QueuedPod {
  // First, in one line of the cache, what a heap of many pods looks at.
  SortKey key{};
  uint64_t sequence = 0;  // order of arrival in its place
  size_t heap_index = 0;
  PodRef pod;
  int64_t queued_ms = 0;           // when it last entered the queue
  int64_t initial_attempt_ms = 0;  // when it first was ready (active), gates aside; 0: never
  int64_t backoff_expiry_ms = -1;  // -1: to be computed
  uint32_t attempts = 0;
  uint32_t unschedulable_count = 0;
  uint32_t consecutive_errors = 0;
  ProfileIndex profile = 0;
  // Why it waits; from the end of an attempt until it is popped again.
  std::set<PluginIndex> rejectors;  // answered Unschedulable...; a plugin that gated it is one
  std::set<PluginIndex> pending;    // answered Pending
  std::optional<PluginIndex> gated_by;
  bool flushed = false;  // WasFlushedFromUnschedulable: no event had woken it
  QueuePlace place = QueuePlace::kActive;
  uint64_t looked_at = 0;                // the last event that it was looked at for
  std::optional<uint64_t> flight_since;  // in flight: the first event after it was popped
  bool departed = false;  // done(), binding: kept for restore(), and unknown to all others
};

class SchedulingQueue {
 public:
  SchedulingQueue(QueuePolicy& policy, QueueConfig config);
  ~SchedulingQueue();

  void observe(QueueObserver* observer) { observer_ = observer; }  // null: nobody; outlives us

  // ---- pods, as the informer tells of them
  // Known UIDs are treated as an update. What is known of the pod then: see entry().
  const QueuedPod& add(PodRef pod, int64_t now_ms);
  void update(PodRef pod, int64_t now_ms);
  void remove(std::string_view uid);
  [[nodiscard]] PodRef find(std::string_view uid) const;  // null: not ours, or gone

  // ---- the cycle
  // The next pod, or null. It is in flight until done() or one of the two calls below.
  QueuedPod* pop();
  // The attempt was rejected by plugins: waits for an event one of them cares about.
  void reject(std::string_view uid, const std::set<PluginIndex>& rejectors,
              const std::set<PluginIndex>& pending, int64_t now_ms);
  // The attempt failed with an error: tried again after a backoff.
  void fail(std::string_view uid, int64_t now_ms);
  // Scheduling has succeeded (binding may still fail: restore()), or the pod is not wanted any
  // more.
  void done(std::string_view uid);
  // A pod whose binding failed after done(): its counters are kept meanwhile, and it waits out an
  // error backoff.
  // `rejectors`: plugins that rejected it while it was bound; none: an error.
  void restore(PodRef pod, const std::set<PluginIndex>& rejectors, int64_t now_ms);
  // A pod that was bound: its counters are dropped.
  void forget(std::string_view uid);

  // ---- events
  // Moves the unschedulable pods that the event may help: it asks those rejecting plugins of each
  // that registered the event (isPodWorthRequeuing). Pods of other rejectors are not visited.
  // `except_uid`: a pod that caused the event itself, by giving back what it had, is not woken by
  // it.
  void move_all(const ClusterEvent& event, int64_t now_ms, std::string_view except_uid = {});
  void activate(std::string_view uid, int64_t now_ms);  // at once, whatever its backoff
  // Moves what waited long enough: backoff over, or unschedulable for too long. Returns when to
  // call it next.
  int64_t flush(int64_t now_ms);
  void flush_backoff(int64_t now_ms);
  void flush_unschedulable(int64_t now_ms);

  // ---- views
  struct Sizes {
    size_t active, backoff, unschedulable, gated, in_flight, in_flight_events;
  };
  [[nodiscard]] Sizes sizes() const;
  [[nodiscard]] std::vector<const QueuedPod*> list(QueuePlace place) const;
  // Calls `visit(const QueuedPod&)` for every pod that waits or is in flight, in no order.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [uid, pod] : pods_) {
      if (!pod->departed) visit(*pod);
    }
  }
  [[nodiscard]] const QueuedPod* entry(std::string_view uid) const;
  [[nodiscard]] int64_t backoff_expiry(QueuedPod& pod) const;

 private:
  enum class Strategy { kSkip, kAfterBackoff, kImmediately };
  struct ByKey {
    bool operator()(const QueuedPod& a, const QueuedPod& b) const;
  };
  struct ByExpiryWindow {
    bool operator()(const QueuedPod& a, const QueuedPod& b) const;
  };
  // Why pods are moved while one of these lives: the label of queue_incoming_pods_total.
  class Cause {
   public:
    Cause(SchedulingQueue& queue, std::string_view label)
        : queue_(queue), outer_(std::exchange(queue.cause_, label)) {}
    ~Cause() { queue_.cause_ = outer_; }
    Cause(const Cause&) = delete;
    Cause& operator=(const Cause&) = delete;

   private:
    SchedulingQueue& queue_;
    std::string_view outer_;
  };
  struct SeenEvent {
    ClusterEvent event;
    std::vector<PluginKey> interested;
  };

  QueuedPod* known(std::string_view uid);
  void count_holders(const QueuedPod& pod, int change) const;  // for the observer
  void drop_oldest_event();
  [[nodiscard]] Strategy worth_requeuing(const QueuedPod& pod, const SeenEvent& seen);
  [[nodiscard]] static bool is_interested(const SeenEvent& seen, const QueuedPod& pod,
                                          PluginIndex plugin);
  void move(const std::vector<QueuedPod*>& pods, SeenEvent seen, int64_t now_ms);
  template <typename Visit>
  void for_each_rejector(const QueuedPod& pod, Visit visit);
  [[nodiscard]] bool backing_off(QueuedPod& pod, int64_t now_ms) const;
  void requeue(QueuedPod& pod, Strategy strategy, int64_t now_ms);
  void count_failure(QueuedPod& pod, const std::set<PluginIndex>& rejectors,
                     const std::set<PluginIndex>& pending, int64_t now_ms);
  void requeue_after_attempt(QueuedPod& pod, uint64_t flight_since, int64_t now_ms);
  void take_out(QueuedPod& pod);
  void put(QueuedPod& pod, QueuePlace place);
  void put_active(QueuedPod& pod, int64_t now_ms);
  bool passes_gates(QueuedPod& pod);
  void begin_flight(QueuedPod& pod);
  uint64_t end_flight(QueuedPod& pod);  // the first event that happened after it was popped
  void remember(SeenEvent seen);
  void prune_events();

  QueuePolicy& policy_;
  QueueConfig config_;
  QueueObserver* observer_ = nullptr;
  std::string_view cause_;  // empty: a pod only changes its place within a queue
  FlatStringMap<std::unique_ptr<QueuedPod>> pods_;  // waiting, in flight, and departed
  IndexedHeap<QueuedPod, ByKey> active_;
  IndexedHeap<QueuedPod, ByExpiryWindow> backoff_;
  IndexedHeap<QueuedPod, ByExpiryWindow> error_backoff_;
  using BySequence = std::map<uint64_t, QueuedPod*>;
  BySequence unschedulable_;
  // The unschedulable pods by those whose hints can move them: the gating plugin of a gated pod,
  // every rejecting plugin of the others.
  std::unordered_map<PluginKey, BySequence> waiting_for_;
  size_t gated_ = 0;      // of the unschedulable pods
  size_t in_flight_ = 0;  // pods
  // When those were popped that are in flight, as the next event's number then, and how many were
  // popped before one and the same. In order; the first is of a pod that is in flight.
  std::deque<std::pair<uint64_t, size_t>> flight_starts_;
  std::deque<SeenEvent> events_;  // since the oldest pod in flight was popped
  uint64_t events_begin_ = 0;
  uint64_t looks_ = 0;  // events that pods were looked at for
  uint64_t sequence_ = 0;
  int64_t next_unschedulable_flush_ms_ = 0;
};

}  // namespace plimsoll

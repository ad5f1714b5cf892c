#pragma once
// Pods that wait to be scheduled. Kubernetes: pkg/scheduler/backend/queue (SchedulingQueue,
// KEP-4247 queueing hints).
//
//   active         ready, ordered by the QueueSort plugin's key
//   backoff        waiting for a backoff to end. After a rejection: ordered by expiry in windows of
//                  1 s, within a window by the sort key; popped early when active is empty. After
//                  an error: never popped early
//   unschedulable  rejected, and waiting for an event that one of the rejecting plugins registered;
//                  or gated by PreEnqueue
//   in flight      popped and not done(). Events that happen meanwhile are kept, so that the pod
//                  misses none
//
// The pods of a group that wait are one entry of the queue (group_entries.cpp): it is in one of
// these places, and so are they. It is gated while the group is not known, while fewer of its pods
// are known than it needs, and while PreEnqueue holds one of them back. It has one backoff. One of
// which some run, but fewer than it needs, goes before others of its priority.
//
// Owned by the scheduler loop; not thread-safe. The caller passes every time, in milliseconds.

#include <algorithm>
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

#include "framework/api/group_name.hpp"
#include "framework/api/objects.hpp"
#include "framework/base/flat_map.hpp"
#include "framework/queue/events.hpp"
#include "framework/queue/indexed_heap.hpp"
#include "framework/queue/queue_observer.hpp"

namespace plimsoll {

using SortKey = std::array<uint8_t, 24>;
using PluginIndex = uint16_t;   // a plugin of the pod's profile, as the runtime numbers them
using ProfileIndex = uint16_t;  // a profile, in the order of the configuration

// A plugin of a profile; ordered by profile, then plugin.
using PluginKey = uint32_t;
[[nodiscard]] constexpr PluginKey plugin_key(ProfileIndex profile, PluginIndex plugin) {
  return PluginKey{profile} << 16 | plugin;
}

enum class QueueHint { kSkip, kQueue };

// A group as the queue sees it.
struct GroupFacts {
  bool known = false;                 // it is there, and is to stay
  std::optional<int32_t> priority{};  // nothing: that of whichever of its pods has the highest
  size_t needed = 1;                  // pods
  size_t placed = 0;                  // pods that have a node already
  std::string wish{};     // what else it is refused for: another one is worth a try at once
  std::string problem{};  // why it is not known, though it is there
  int64_t since_ms = 0;   // its place among others; 0: by when its first pod came
  int64_t least_backoff_ms = 0;
  bool goes_on = false;  // while some have a node, others need not wait until they are so many

  // So many of its pods wait, or have a node, when the others are to be placed.
  [[nodiscard]] size_t least() const {
    return goes_on && placed > 0 ? std::min(needed, placed + 1) : needed;
  }
  [[nodiscard]] bool runs_in_part() const { return placed > 0 && placed < needed; }
  bool operator==(const GroupFacts&) const = default;
};

// What the queue needs from the profiles.
class QueuePolicy {
 public:
  virtual ~QueuePolicy() = default;
  // The profile that a pod is scheduled with; it does not change while the pod waits.
  virtual ProfileIndex profile(const plimsoll_pod& pod) = 0;
  // The PreEnqueue plugin that gates the pod, if any.
  virtual std::optional<PluginIndex> gate(const plimsoll_pod& pod) = 0;
  // Whether the plugin activates by itself the pods that it gates, so that no event need wake them.
  virtual bool wakes_whom_it_gates(PluginKey /*gate*/) { return false; }
  // The group that the pod's profile places it with.
  virtual GroupName group_of(const plimsoll_pod& /*pod*/) { return {}; }
  // The plugin that holds back the pod's group until it is complete; nothing: the pod is no
  // group's.
  virtual std::optional<PluginIndex> group_gate(const plimsoll_pod& /*pod*/) {
    return std::nullopt;
  }
  // `member`: one of its pods that wait.
  virtual GroupFacts group(const GroupName& /*name*/, const plimsoll_pod& /*member*/) { return {}; }
  virtual SortKey sort_key(const plimsoll_pod& pod, int64_t queued_ms) = 0;
  // The plugins that registered this kind of event, ascending. Called once per event, before any
  // pod is checked.
  virtual std::vector<PluginKey> interested(const ClusterEvent& event) = 0;
  // Whether the hint of `plugin` says Skip to every pod that does not name the event's object.
  virtual bool named_only(PluginKey /*plugin*/, const ClusterEvent& /*event*/) { return false; }
  // The queueing hint of `plugin`, which rejected (or gates) the pod and registered the event.
  virtual QueueHint hint(const plimsoll_pod& pod, PluginKey plugin, const ClusterEvent& event) = 0;
};

struct QueueConfig {
  int64_t initial_backoff_ms = 1000;
  int64_t max_backoff_ms = 10'000;  // 0: no backoff at all
  int64_t max_in_unschedulable_ms = 5 * 60'000;
};

enum class QueuePlace {
  kActive,
  kBackoff,
  kErrorBackoff,
  kUnschedulable,
  kInFlight,
  kInGroup  // where the entry of its group is
};

struct QueuedGroup;

struct QueuedPod {
  // The fields that the heaps read come first, in one cache line.
  SortKey key{};
  uint64_t sequence = 0;  // order of arrival in its QueuePlace
  size_t heap_index = 0;
  PodRef pod;
  int64_t queued_ms = 0;           // when it last entered the queue
  int64_t initial_attempt_ms = 0;  // when it first entered the active queue; 0: never
  int64_t backoff_expiry_ms = -1;  // -1: not computed yet
  uint32_t attempts = 0;
  uint32_t unschedulable_count = 0;
  uint32_t consecutive_errors = 0;
  ProfileIndex profile = 0;
  // Why it waits; set from the end of an attempt until it is popped again.
  std::set<PluginIndex> rejectors;  // answered Unschedulable..., or gated the pod
  std::set<PluginIndex> pending;    // answered Pending
  std::optional<PluginIndex> gated_by;
  int64_t flushed_ms = INT64_MIN / 2;  // when the timeout last moved it, or tried to
  bool flushed = false;  // WasFlushedFromUnschedulable: moved by the timeout, not by an event
  QueuePlace place = QueuePlace::kActive;
  uint64_t looked_at = 0;                // the last event that it was checked for
  std::optional<uint64_t> flight_since;  // in flight: the first event after it was popped
  bool departed = false;  // done(), but binding: kept for restore(); other functions ignore it
  QueuedGroup* group = nullptr;  // of a pod in its group, and of the entry of a group
};

// Why pods of one kind found no place in their group's last attempt.
struct GroupRefusal {
  PodRef pod;
  std::set<PluginIndex> rejectors;
  std::set<PluginIndex> pending;
  bool others = false;  // it stands for pods of other kinds, too
};

struct QueuedGroup {
  // What the group waits for, if it is gated.
  enum class Gate { kNone, kGroup, kQuorum, kMember };
  // Who came into the group during an attempt on it: its Binding failed, if nothing better is
  // known.
  enum class Late { kNobody, kCame, kFailed };

  // Refusals after which one that runs in part is as any other.
  static constexpr uint32_t kMostRefusalsInFront = 5;

  QueuedPod entry;  // its pod is one of the members
  GroupKind kind = GroupKind::kNone;
  std::string ns;
  std::string name;
  std::vector<QueuedPod*> members;       // in any order, each at its heap_index
  std::map<int32_t, size_t> priorities;  // of the members: how many have it
  GroupFacts facts;                      // when they were last asked for
  Gate gate = Gate::kNone;
  const QueuedPod* held = nullptr;     // Gate::kMember: this one
  size_t asked = 0;                    // where in `members` PreEnqueue last held one back
  std::vector<GroupRefusal> refusals;  // of the last attempt
  Late late = Late::kNobody;
  bool gave_back = false;   // devices of its claims, in the last attempt
  bool put_off = false;     // nobody was evicted in the last attempt: news of it waited
  std::string said;         // of that, or of a binding that failed since
  std::string told;         // what the cycle last wrote about it,
  std::string told_to;      // into the object of this UID
  bool keeps_room = false;  // some of its members are nominated, or were
  int64_t failed_ms = 0;    // when no place was last found for it; 0: never, or since
  size_t counted = 0;       // of the members, in the sizes of its place

  [[nodiscard]] GroupName id() const { return {kind, ns, name}; }
  [[nodiscard]] bool is_complete() const {
    return facts.known && members.size() + facts.placed >= facts.least();
  }
};

class SchedulingQueue {
 public:
  SchedulingQueue(QueuePolicy& policy, QueueConfig config);
  ~SchedulingQueue();

  // The observer outlives the queue; null: none.
  void observe(QueueObserver* observer) { observer_ = observer; }

  // ---- pods, as the informer reports them
  // A known UID is treated as an update. Returns the queue's entry of the pod.
  const QueuedPod& add(PodRef pod, int64_t now_ms);
  void update(PodRef pod, int64_t now_ms);
  void remove(std::string_view uid);
  [[nodiscard]] PodRef find(std::string_view uid) const;  // null: not in the queue

  // ---- the cycle
  // The next pod, or null. It is in flight until reject(), fail() or done(). The entry of a group
  // has `group` set: its members stay in it, until reject_group(). No pod may leave the group
  // before that, but by take_member().
  QueuedPod* pop();
  // A member that has found a place leaves the group and is in flight, as if it had been popped.
  void take_member(std::string_view uid);
  // The members that are left had no place; nobody is left: the entry goes. Without refusals the
  // attempt failed with an error. `again`: some were not looked at, and it is tried again at once.
  void reject_group(QueuedGroup& group, std::vector<GroupRefusal> refusals, int64_t now_ms,
                    bool again = false);
  // Plugins rejected the pod: it waits for an event that one of them registered.
  void reject(std::string_view uid, const std::set<PluginIndex>& rejectors,
              const std::set<PluginIndex>& pending, int64_t now_ms);
  // The attempt failed with an error: the pod is tried again after a backoff.
  void fail(std::string_view uid, int64_t now_ms);
  // Scheduling succeeded (binding may still fail: restore()), or the pod need not be scheduled any
  // more.
  void done(std::string_view uid);
  // Binding failed after done(). The pod keeps its counters and waits for an error backoff to end.
  // `rejectors`: the plugins that rejected it during binding; empty: it failed with an error.
  void restore(PodRef pod, const std::set<PluginIndex>& rejectors, int64_t now_ms);
  // The pod is bound: drops its counters.
  void forget(std::string_view uid);

  // ---- events
  // Moves the unschedulable pods that the event may help. For each pod it calls the hints of those
  // rejecting plugins that registered the event (isPodWorthRequeuing). Pods that only other plugins
  // rejected are not visited, nor those that do not name its object where only these may be helped.
  // `except_uid`: the pod that caused the event, by releasing what it had; it is not moved.
  void move_all(const ClusterEvent& event, int64_t now_ms, std::string_view except_uid = {});
  void activate(std::string_view uid, int64_t now_ms);  // at once; ignores the backoff
  // What happened to a pod of a group after its attempt; for people.
  void say(const plimsoll_pod& member, std::string_view what);
  // The group came, changed or went, or another number of its pods has a node.
  void group_changed(const GroupName& name, int64_t now_ms);
  // A member of a group is nominated.
  void keeps_room(const plimsoll_pod& member);
  // Groups whose members keep room that they cannot use: they are not enough any more, or one is
  // held back, and not by a plugin that lets it go by itself. Each once, until it keeps room again.
  [[nodiscard]] std::vector<GroupName> take_idle_groups();
  // Moves pods whose backoff is over and pods that were unschedulable for too long. Returns when to
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
  // Calls `visit(const QueuedPod&)` for every pod that waits or is in flight, in any order.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [uid, pod] : pods_) {
      if (!pod->departed) visit(*pod);
    }
  }
  [[nodiscard]] const QueuedPod* entry(std::string_view uid) const;
  [[nodiscard]] int64_t backoff_expiry(QueuedPod& pod) const;
  // Why the group is gated, in kube-scheduler's words; empty: it is not, or a plugin says why.
  [[nodiscard]] static std::string gate_message(const QueuedGroup& group);
  [[nodiscard]] const QueuedGroup* group(const GroupName& name) const;

 private:
  enum class Strategy { kSkip, kAfterBackoff, kImmediately };
  // A label of queue_incoming_pods_total.
  static constexpr std::string_view kScheduleAttemptFailure = "ScheduleAttemptFailure";
  struct ByKey {
    bool operator()(const QueuedPod& a, const QueuedPod& b) const;
  };
  struct ByExpiryWindow {
    bool operator()(const QueuedPod& a, const QueuedPod& b) const;
  };
  // Sets the label of queue_incoming_pods_total for all pods that are moved while it lives.
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
  [[nodiscard]] Strategy worth_requeuing(const plimsoll_pod& pod, ProfileIndex profile,
                                         const std::set<PluginIndex>& rejectors,
                                         const std::set<PluginIndex>& pending,
                                         const SeenEvent& seen);
  [[nodiscard]] static bool is_interested(const SeenEvent& seen, ProfileIndex profile,
                                          PluginIndex plugin);
  void move(const std::vector<QueuedPod*>& pods, SeenEvent seen, int64_t now_ms);
  template <typename Visit>
  void for_each_rejector(const QueuedPod& pod, Visit visit);
  void index_names(QueuedPod& pod, bool waits);  // of an unschedulable pod, in `naming_`
  [[nodiscard]] bool backing_off(QueuedPod& pod, int64_t now_ms) const;
  void requeue(QueuedPod& pod, Strategy strategy, int64_t now_ms);
  void count_failure(QueuedPod& pod, const std::set<PluginIndex>& rejectors,
                     const std::set<PluginIndex>& pending, int64_t now_ms);
  void requeue_after_attempt(QueuedPod& pod, uint64_t flight_since, int64_t now_ms);
  void take_out(QueuedPod& pod);
  void put(QueuedPod& pod, QueuePlace place);
  void put_active(QueuedPod& pod, int64_t now_ms);
  bool passes_gates(QueuedPod& pod);
  void enter(QueuedPod& pod, int64_t now_ms);  // one that is in no place
  void put_where_it_may(QueuedPod& pod, int64_t now_ms);
  static void take_backoff(QueuedPod& pod, const QueuedPod& from);
  void pull(QueuedPod& pod);  // out of its place, or its group
  [[nodiscard]] SortKey key_of(const QueuedPod& pod, int64_t queued_ms);
  void set_key(QueuedPod& pod);  // it has changed

  // ---- groups (group_entries.cpp)
  [[nodiscard]] static bool is_entry(const QueuedPod& pod);
  [[nodiscard]] bool stays_apart(const QueuedPod& pod);
  [[nodiscard]] bool has_quorum(QueuedGroup& group);
  [[nodiscard]] bool is_idle(const QueuedGroup& group);
  void see_if_idle(QueuedGroup& group);
  [[nodiscard]] std::optional<PluginIndex> group_gate(QueuedGroup& group);
  QueuedGroup& join(QueuedPod& member, int64_t now_ms);  // makes the group if it must
  void arrive(QueuedPod& member, int64_t now_ms);        // one that was not in the queue
  void come_back(QueuedPod& member, Strategy strategy, int64_t now_ms);  // one that had a place
  void leave(QueuedPod& member);
  void enter_afresh(QueuedPod& pod, PodRef now, int64_t now_ms);  // it has another group, or none
  void count_priority(QueuedGroup& group, int32_t priority, bool there);
  void settle(QueuedGroup& group, const QueuedPod& left);  // after leave()
  static void represent(QueuedGroup& group, const QueuedPod& member);
  void update_member(QueuedPod& member, const std::vector<SeenEvent>& seen, int64_t now_ms);
  void count_members(QueuedPod& entry, bool there);
  using FlightStarts = std::deque<std::pair<uint64_t, size_t>>;
  void begin_flight(QueuedPod& pod, uint64_t since);
  [[nodiscard]] FlightStarts::iterator flight_start(uint64_t since);
  [[nodiscard]] uint64_t next_event() const { return events_begin_ + events_.size(); }
  uint64_t end_flight(QueuedPod& pod);  // returns the first event after the pod was popped
  void remember(SeenEvent seen);
  void prune_events();

  QueuePolicy& policy_;
  QueueConfig config_;
  QueueObserver* observer_ = nullptr;
  std::string_view cause_;  // empty: the pod stays in its queue and only its position changes
  FlatStringMap<std::unique_ptr<QueuedPod>> pods_;      // waiting, in flight, and departed
  FlatStringMap<std::unique_ptr<QueuedGroup>> groups_;  // with members, by GroupName::key
  std::set<std::string> idle_groups_;                   // by key: see take_idle_groups
  IndexedHeap<QueuedPod, ByKey> active_;
  IndexedHeap<QueuedPod, ByExpiryWindow> backoff_;
  IndexedHeap<QueuedPod, ByExpiryWindow> error_backoff_;
  using BySequence = std::map<uint64_t, QueuedPod*>;
  BySequence unschedulable_;
  // The unschedulable pods by the plugins whose hints can move them: for a gated pod the gating
  // plugin, unless that wakes it, for any other pod every rejecting plugin.
  std::unordered_map<PluginKey, BySequence> waiting_for_;
  // The unschedulable pods by the objects that they name (named_objects in events.hpp). Under the
  // empty text those that any object may help: entries of groups, whose pods name what they name,
  // and gated pods that others rejected.
  FlatStringMap<BySequence> naming_;
  size_t gated_ = 0;      // of the unschedulable pods
  Sizes further_{};       // members of groups beyond the first of each
  size_t in_flight_ = 0;  // pods
  // When the pods in flight were popped: the number that the next event had at that time, and how
  // many pods were popped before that event. Ascending; the first entry has a pod in flight.
  FlightStarts flight_starts_;
  std::deque<SeenEvent> events_;  // since the oldest pod in flight was popped
  uint64_t events_begin_ = 0;
  uint64_t looks_ = 0;  // events that pods were checked for
  uint64_t sequence_ = 0;
  int64_t next_unschedulable_flush_ms_ = 0;
};

}  // namespace plimsoll

#pragma once
// What a scheduler is made with, and what it counts.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/extenders/extender.hpp"
#include "framework/metrics/registry.hpp"
#include "framework/placement/class_cache.hpp"
#include "framework/placement/group_trial.hpp"
#include "framework/queue/scheduling_queue.hpp"
#include "framework/runtime/plugin/profile_spec.hpp"

namespace plimsoll {

class ExtenderClient;

// Which pods get an event `Scheduled`. It is one of the two writes that a bound pod costs.
enum class ScheduledEvents : uint8_t {
  kAlways,  // as kube-scheduler
  kWaited,  // pods that were not bound at their first attempt
  kNever
};

struct SchedulerOptions {
  QueueConfig queue;
  std::vector<ProfileSpec> profiles;  // at least one; the queue is shared
  unsigned binder_threads = 16;       // PreBind plugins may block
  // Pods on their way from Permit to being bound. So many, and no further pod is taken from the
  // queue: decisions do not run ahead of an API server that cannot follow, what is urgent does not
  // wait behind a long line of bindings, and memory is bounded. Groups that wait on Permit do not
  // count.
  size_t max_unbound = 1024;
  ScheduledEvents scheduled_events = ScheduledEvents::kAlways;
  ClassCacheOptions classes;
  // Those that are not ignorable come first. The client knows them by their positions, and outlives
  // the scheduler.
  std::vector<ExtenderSpec> extenders;
  ExtenderClient* extender_client = nullptr;
  bool standby = false;                  // schedule nothing before lead() is called
  metrics::Registry* metrics = nullptr;  // null: nothing is measured; outlives the scheduler
  // How long a stop waits for binds that left the loop, by the machine's clock.
  std::chrono::milliseconds stop_grace{10'000};
  // Milliseconds since the epoch, never falling; any thread. Null: the machine's clock. One that
  // the caller moves must be followed by a message: the loop sleeps by the machine's.
  std::function<int64_t()> clock;
  // Of the loop's own CPU time, for what is optional in one attempt on a group, see GroupTrial.
  int64_t group_search_ms = GroupTrial::kLongestMs;
  // After so long an attempt on a group pauses, for the loop to do other work. Nothing: never.
  std::optional<std::chrono::nanoseconds> group_slice{};
  // Decides on a pod only when told to: see Scheduler::step().
  bool stepwise = false;
  // Hears of each attempt on a pod, as it begins, with the pod's UID. On the loop; null: nobody.
  std::function<void(std::string_view uid)> on_attempt;
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
  size_t waiting_for_extenders = 0;
  size_t waiting_for_kinds = 0;    // pods that rest on a kind that is not followed
  bool blind = false;              // pods or nodes are not followed: nothing is decided
  bool deciding_on_group = false;  // an attempt on one has paused; its pods count as active
  int64_t next_due_ms = 0;         // of the clock: when a timer or a backoff is looked at next
};

}  // namespace plimsoll

// Groups of pods in the queue: each is one entry, with its pods in it.

#include <algorithm>
#include <utility>

#include "framework/queue/scheduling_queue.hpp"

namespace plimsoll {

bool SchedulingQueue::is_entry(const QueuedPod& pod) {
  return pod.group != nullptr && &pod.group->entry == &pod;
}

const QueuedGroup* SchedulingQueue::group(const GroupName& name) const {
  const auto found = groups_.find(name.key());
  return found == groups_.end() ? nullptr : found->second.get();
}

// A group that has a priority counts with it, whatever its pods say; one that has a time, with
// that, or the time of its last failure: an old one that does not fit lets others pass. What is
// missing of one that runs in part goes first, for a few refusals: those that run are of no use
// without it.
SortKey SchedulingQueue::key_of(const QueuedPod& pod, int64_t queued_ms) {
  if (!is_entry(pod)) return policy_.sort_key(*pod.pod, queued_ms);
  const QueuedGroup& group = *pod.group;
  plimsoll_pod as_group = *pod.pod;
  as_group.priority = group.facts.priority.value_or(group.priorities.rbegin()->first);
  const int64_t since_ms = group.facts.since_ms;
  const bool is_new = pod.unschedulable_count < QueuedGroup::kMostRefusalsInFront;
  if (group.facts.runs_in_part() && is_new) return policy_.sort_key(as_group, 0);
  return policy_.sort_key(as_group,
                          since_ms == 0 ? queued_ms : std::max(since_ms, group.failed_ms));
}

void SchedulingQueue::count_priority(QueuedGroup& group, int32_t priority, bool there) {
  QueuedPod& entry = group.entry;
  const auto counted = group.priorities.try_emplace(priority, 0).first;
  const bool was_highest = std::next(counted) == group.priorities.end();
  counted->second += there ? 1 : -1;
  const bool changed = counted->second == (there ? 1 : 0);
  if (counted->second == 0) group.priorities.erase(counted);
  if (changed && was_highest && !group.priorities.empty()) set_key(entry);
}

void SchedulingQueue::count_members(QueuedPod& entry, bool there) {
  size_t* sum = nullptr;
  switch (entry.place) {
    case QueuePlace::kActive:
      sum = &further_.active;
      break;
    case QueuePlace::kBackoff:
    case QueuePlace::kErrorBackoff:
      sum = &further_.backoff;
      break;
    case QueuePlace::kUnschedulable:
      sum = entry.gated_by ? &further_.gated : &further_.unschedulable;
      break;
    case QueuePlace::kInFlight:
    case QueuePlace::kInGroup:
      return;
  }
  QueuedGroup& group = *entry.group;
  if (there) {
    group.counted = group.members.empty() ? 0 : group.members.size() - 1;
    *sum += group.counted;
  } else {
    *sum -= std::exchange(group.counted, 0);
  }
}

// ---- what gates a group

bool SchedulingQueue::has_quorum(QueuedGroup& group) {
  group.facts = policy_.group(group.id(), *group.entry.pod);
  return group.is_complete();
}

std::string SchedulingQueue::gate_message(const QueuedGroup& group) {
  const bool is_pod_group = group.kind == GroupKind::kPodGroup;
  const std::string needed = std::to_string(group.facts.needed);
  const std::string there = std::to_string(group.members.size() + group.facts.placed);
  switch (group.gate) {
    case QueuedGroup::Gate::kGroup:
      if (!group.facts.problem.empty())
        return "pod group " + group.ns + "/" + group.name + ": " + group.facts.problem;
      if (!is_pod_group) return "PodGroup not found: " + group.ns + "/" + group.name;
      return "waiting for pods's pod group \"" + group.name + "\" to appear in scheduling queue";
    case QueuedGroup::Gate::kQuorum:
      if (!is_pod_group) {
        return "pre-filter pod " + std::string(view(group.entry.pod->meta.name)) +
               " cannot find enough sibling pods, current pods number: " + there +
               ", minMember of group: " + needed;
      }
      return "waiting for minCount pods from a gang to appear in scheduling queue: " + there +
             " of " + needed;
    case QueuedGroup::Gate::kNone:
    case QueuedGroup::Gate::kMember:
      break;
  }
  return "";
}

// ---- room that is kept for a group

void SchedulingQueue::keeps_room(const plimsoll_pod& member) {
  const auto found = groups_.find(policy_.group_of(member).key());
  if (found == groups_.end()) return;
  found->second->keeps_room = true;
  see_if_idle(*found->second);
}

bool SchedulingQueue::is_idle(const QueuedGroup& group) {
  if (!group.is_complete()) return true;
  const auto& gate = group.entry.gated_by;
  return gate && !policy_.wakes_whom_it_gates(plugin_key(group.entry.profile, *gate));
}

void SchedulingQueue::see_if_idle(QueuedGroup& group) {
  if (group.keeps_room && is_idle(group)) idle_groups_.insert(group.id().key());
}

std::vector<GroupName> SchedulingQueue::take_idle_groups() {
  std::vector<GroupName> idle;
  for (const std::string& key : std::exchange(idle_groups_, {})) {
    const auto found = groups_.find(key);
    if (found == groups_.end() || found->second->entry.place == QueuePlace::kInFlight) continue;
    if (!is_idle(*found->second)) continue;
    found->second->keeps_room = false;
    idle.push_back(found->second->id());
  }
  return idle;
}

// The plugin that holds the group back, while its entry is in no place. Who was held last is asked
// first, and then those behind it, so that members who are let go one by one, or leave, cost no
// more than their number.
std::optional<PluginIndex> SchedulingQueue::group_gate(QueuedGroup& group) {
  using Gate = QueuedGroup::Gate;
  if (group.held != nullptr) group.asked = group.held->heap_index;
  group.held = nullptr;
  const bool complete = has_quorum(group);
  group.entry.key = key_of(group.entry, group.entry.queued_ms);
  group.gate = complete ? Gate::kNone : group.facts.known ? Gate::kQuorum : Gate::kGroup;
  if (!complete) return policy_.group_gate(*group.entry.pod);
  for (size_t left = group.members.size(); left > 0; --left, ++group.asked) {
    if (group.asked >= group.members.size()) group.asked = 0;
    const QueuedPod& member = *group.members[group.asked];
    const std::optional<PluginIndex> plugin = policy_.gate(*member.pod);
    if (!plugin) continue;
    group.gate = Gate::kMember;
    group.held = &member;
    represent(group, member);
    return plugin;
  }
  return std::nullopt;
}

void SchedulingQueue::represent(QueuedGroup& group, const QueuedPod& member) {
  // Plugins are numbered by profile: what one of another refused says nothing here.
  if (group.entry.profile != member.profile) {
    group.refusals.clear();
    group.entry.rejectors.clear();
    group.entry.pending.clear();
  }
  group.entry.pod = member.pod;
  group.entry.profile = member.profile;
}

// ---- members come and go

// Whether PreEnqueue holds back only the pod, not its group. Outside scheduling.k8s.io the others
// go without it if they are enough.
bool SchedulingQueue::stays_apart(const QueuedPod& pod) {
  return policy_.group_of(*pod.pod).kind != GroupKind::kPodGroup && policy_.gate(*pod.pod);
}

QueuedGroup& SchedulingQueue::join(QueuedPod& member, int64_t now_ms) {
  const GroupName name = policy_.group_of(*member.pod);
  std::unique_ptr<QueuedGroup>& group = groups_[name.key()];
  if (group == nullptr) {
    group = std::make_unique<QueuedGroup>();
    group->kind = name.kind;
    group->ns = name.ns;
    group->name = name.name;
    group->entry.group = group.get();
    group->entry.place = QueuePlace::kInFlight;
    group->entry.queued_ms = now_ms;
    represent(*group, member);
  }
  count_members(group->entry, false);
  member.place = QueuePlace::kInGroup;
  member.group = group.get();
  member.heap_index = group->members.size();
  group->members.push_back(&member);
  count_members(group->entry, true);
  count_priority(*group, member.pod->priority, true);
  return *group;
}

void SchedulingQueue::arrive(QueuedPod& member, int64_t now_ms) {
  QueuedGroup& group = join(member, now_ms);
  QueuedPod& entry = group.entry;
  if (entry.flight_since) {
    group.late = std::max(group.late, QueuedGroup::Late::kCame);
    return;
  }
  if (entry.place == QueuePlace::kInFlight) {  // the first one
    take_backoff(entry, member);
    return put_where_it_may(entry, now_ms);
  }
  if (entry.place == QueuePlace::kUnschedulable) {
    using Gate = QueuedGroup::Gate;
    const bool may_go = group.gate == Gate::kQuorum ? has_quorum(group) : group.gate == Gate::kNone;
    if (may_go) requeue(entry, Strategy::kAfterBackoff, now_ms);
    return;
  }
  const std::optional<PluginIndex> gate = policy_.gate(*member.pod);
  if (!gate) return;
  take_out(entry);
  count_holders(entry, -1);
  group.gate = QueuedGroup::Gate::kMember;
  group.held = &member;
  represent(group, member);
  entry.gated_by = gate;
  entry.rejectors.insert(*gate);
  count_holders(entry, +1);
  put(entry, QueuePlace::kUnschedulable);
  see_if_idle(group);
}

void SchedulingQueue::leave(QueuedPod& member) {
  QueuedGroup& group = *std::exchange(member.group, nullptr);
  count_members(group.entry, false);
  QueuedPod* last = group.members.back();
  group.members[member.heap_index] = last;
  last->heap_index = member.heap_index;
  group.members.pop_back();
  count_members(group.entry, true);
  count_priority(group, member.pod->priority, false);
}

// What the group was refused for may go with the pod that left.
void SchedulingQueue::settle(QueuedGroup& group, const QueuedPod& left) {
  QueuedPod& entry = group.entry;
  const bool was_held = group.held == &left;
  const bool was_refused =
      entry.place == QueuePlace::kUnschedulable && group.gate == QueuedGroup::Gate::kNone;
  see_if_idle(group);
  if (!group.members.empty() && !was_held && !was_refused && entry.pod != left.pod) return;
  const QueuePlace place = entry.place;
  count_holders(entry, -1);
  take_out(entry);
  if (group.members.empty()) {
    groups_.erase(group.id().key());
    return;
  }
  entry.place = QueuePlace::kInFlight;
  const bool other_profile = entry.profile != group.members.front()->profile;
  represent(group, *group.members.front());
  count_holders(entry, +1);
  if (was_held || other_profile) {
    if (was_held) group.held = nullptr;
    requeue(entry, Strategy::kImmediately, entry.queued_ms);
  } else if (was_refused) {
    requeue(entry, Strategy::kAfterBackoff, entry.queued_ms);
  } else {
    put(entry, place);
  }
}

void SchedulingQueue::update_member(QueuedPod& member, const std::vector<SeenEvent>& seen,
                                    int64_t now_ms) {
  using Gate = QueuedGroup::Gate;
  QueuedGroup& group = *member.group;
  QueuedPod& entry = group.entry;
  if (entry.place != QueuePlace::kUnschedulable) return;
  if (group.gate == Gate::kMember) {
    if (group.held == &member && !policy_.gate(*member.pod))
      requeue(entry, Strategy::kAfterBackoff, now_ms);
    return;
  }
  if (group.gate != Gate::kNone) return;
  for (GroupRefusal& refusal : group.refusals) {
    if (equal(refusal.pod->meta.uid, member.pod->meta.uid)) refusal.pod = member.pod;
  }
  for (const SeenEvent& each : seen) {
    // Its own change, which hints know by its UID; refusals stand for others of its kind.
    const Strategy strategy =
        worth_requeuing(*member.pod, member.profile, entry.rejectors, entry.pending, each);
    if (strategy == Strategy::kSkip) continue;
    const Cause cause(*this, each.event.label);
    return requeue(entry, strategy, now_ms);
  }
}

void SchedulingQueue::group_changed(const GroupName& name, int64_t now_ms) {
  using Gate = QueuedGroup::Gate;
  const auto found = groups_.find(name.key());
  if (found == groups_.end()) return;
  QueuedGroup& group = *found->second;
  QueuedPod& entry = group.entry;
  if (entry.place == QueuePlace::kInFlight) return;
  const GroupFacts before = group.facts;
  const bool complete = has_quorum(group);
  set_key(entry);
  if (entry.place == QueuePlace::kActive) return;
  const bool waited = group.gate == Gate::kGroup || group.gate == Gate::kQuorum;
  const bool other_gate = complete == waited || group.facts.known != before.known;
  const bool asks_less = group.facts.needed < before.needed || group.facts.wish != before.wish;
  if (other_gate || asks_less) requeue(entry, Strategy::kImmediately, now_ms);
}

void SchedulingQueue::say(const plimsoll_pod& member, std::string_view what) {
  const auto found = groups_.find(policy_.group_of(member).key());
  if (found != groups_.end()) found->second->said = what;
}

// ---- attempts

void SchedulingQueue::take_member(std::string_view uid) {
  QueuedPod& member = *known(uid);
  member.initial_attempt_ms = member.group->entry.initial_attempt_ms;
  const uint64_t since = *member.group->entry.flight_since;
  leave(member);
  member.place = QueuePlace::kInFlight;
  begin_flight(member, since);
}

void SchedulingQueue::reject_group(QueuedGroup& group, std::vector<GroupRefusal> refusals,
                                   int64_t now_ms, bool again) {
  const uint64_t flight_since = end_flight(group.entry);
  const QueuedGroup::Late late = std::exchange(group.late, QueuedGroup::Late::kNobody);
  if (late == QueuedGroup::Late::kFailed) refusals.clear();
  if (group.members.empty()) {
    groups_.erase(group.id().key());
    return prune_events();
  }
  represent(group, *group.members.front());
  std::set<PluginIndex> rejectors;
  std::set<PluginIndex> pending;
  for (const GroupRefusal& refusal : refusals) {
    rejectors.insert(refusal.rejectors.begin(), refusal.rejectors.end());
    pending.insert(refusal.pending.begin(), refusal.pending.end());
  }
  const Cause cause(*this, kScheduleAttemptFailure);
  count_failure(group.entry, rejectors, pending, now_ms);
  group.failed_ms = again ? 0 : now_ms;
  group.refusals = std::move(refusals);
  if (late != QueuedGroup::Late::kFailed && (again || late == QueuedGroup::Late::kCame)) {
    requeue(group.entry, Strategy::kImmediately, now_ms);
  } else {
    requeue_after_attempt(group.entry, flight_since, now_ms);
  }
  prune_events();
}

// One that had a place, which came to nothing. If others of the group are about to be tried, it is
// with them; after an error all wait for its backoff, or it would be tried without one for ever.
void SchedulingQueue::come_back(QueuedPod& member, Strategy strategy, int64_t now_ms) {
  GroupRefusal refusal{member.pod, member.rejectors, member.pending};
  count_holders(member, -1);
  member.rejectors.clear();
  member.pending.clear();
  QueuedGroup& group = join(member, now_ms);
  QueuedPod& entry = group.entry;
  // Plugins are numbered by profile: what those of another one said counts as an error.
  if (entry.profile != member.profile) refusal = {member.pod, {}, {}};
  const bool failed = refusal.rejectors.empty() && refusal.pending.empty();
  if (entry.flight_since) {
    group.late =
        std::max(group.late, failed ? QueuedGroup::Late::kFailed : QueuedGroup::Late::kCame);
    return;
  }
  const bool is_due = entry.place == QueuePlace::kActive || entry.place == QueuePlace::kBackoff;
  const bool is_gated = entry.place == QueuePlace::kUnschedulable && entry.gated_by;
  if (entry.place == QueuePlace::kErrorBackoff || (is_due && !failed)) return;
  if (is_gated && (group.gate != QueuedGroup::Gate::kQuorum || !has_quorum(group))) return;
  if (is_gated && !failed) return requeue(entry, Strategy::kAfterBackoff, now_ms);
  std::set<PluginIndex> rejectors = entry.rejectors;
  std::set<PluginIndex> pending = entry.pending;
  if (failed) {
    // The group may be a new entry: what failed before counts.
    entry.consecutive_errors =
        std::max(entry.consecutive_errors + 1, member.consecutive_errors) - 1;
    rejectors.clear();
    pending.clear();
    group.refusals.clear();
  } else {
    rejectors.insert(refusal.rejectors.begin(), refusal.rejectors.end());
    pending.insert(refusal.pending.begin(), refusal.pending.end());
    group.refusals.push_back(std::move(refusal));
  }
  take_out(entry);
  entry.place = QueuePlace::kInFlight;
  count_failure(entry, rejectors, pending, now_ms);
  requeue(entry, failed ? Strategy::kAfterBackoff : strategy, now_ms);
}

}  // namespace plimsoll

#include "plugins/nodedevice/groups/group_keeper.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace plimsoll::devices {
namespace {

using sdk::Pod;
using sdk::Status;
using State = GroupKeeper::Member::State;

constexpr int64_t kDefaultWaitMs = 60'000;  // permitWaitingTimeSeconds of CoschedulingArgs
constexpr int64_t kInitialBackoffMs = 1000;
constexpr int64_t kMaxBackoffMs = 10'000;
constexpr int64_t kApartMs = 1000;  // groups that fail together come back up to this much apart
constexpr int64_t kLookRoundMs = 1000;
constexpr int64_t kSearchMs = 1000;    // between two looks for members that were deleted
constexpr int64_t kGatherMs = 10'000;  // for members that come back
// How long devices of a pod whose binding failed are kept for its next attempt.
constexpr int64_t kHeldAfterFailureMs = 60'000;

std::string member_name(Pod pod) {
  return std::string(pod.ns()) + "/" + std::string(pod.name());
}

}  // namespace

// ---- groups

void GroupKeeper::Group::count(const Member& member, int by) {
  if (member.state == State::kPending) {
    if (member.has_failed) counts_.failed += by;
    return;
  }
  if (member.state == State::kBound) counts_.bound += by;
  if (member.rejected) return;
  counts_.placed += by;
  if (member.waits && !member.released) counts_.waiting += by;
}

std::optional<int> GroupKeeper::Group::wanted() const {
  for (const auto& object : objects)
    if (object) return object->min_member;
  return min_available;
}

std::optional<int> GroupKeeper::Group::needed() const {
  const auto all = wanted();
  if (!all) return all;
  return *all - std::clamp(excused, 0, std::max(*all - known(), 0));
}

const GroupKeeper::Group* GroupKeeper::find(std::string_view key) const {
  const auto found = groups_.find(key);
  return found == groups_.end() ? nullptr : &found->second;
}

GroupKeeper::Group* GroupKeeper::find_mutable(std::string_view key) {
  const auto found = groups_.find(key);
  return found == groups_.end() ? nullptr : &found->second;
}

GroupKeeper::Group& GroupKeeper::note(const GroupRef& ref) {
  if (groups_.size() >= next_clean_up_) drop_empty_groups();
  Group& group = groups_[ref.key];
  group.key = ref.key;
  if (ref.min_available) group.min_available = ref.min_available;
  if (ref.wait_ms > 0) group.wait_ms = ref.wait_ms;
  return group;
}

void GroupKeeper::watch(size_t api) {
  if (kinds_[api].watched) return;
  kinds_[api].watched = true;
  host_.watch(kPodGroupApis[api], kPodGroupVersion, kPodGroupPlural);
}

void GroupKeeper::drop_if_empty(const std::string& key) {
  const Group* group = find(key);
  if (group == nullptr || !group->members.empty()) return;
  for (const auto& object : group->objects)
    if (object) return;
  groups_.erase(key);
}

// Nobody tells of the end of pods that never had a node.
void GroupKeeper::drop_empty_groups() {
  std::vector<std::string> keys;
  for (auto& [key, group] : groups_) {
    forget_missing(group);
    keys.push_back(key);
  }
  for (const std::string& key : keys) drop_if_empty(key);
  next_clean_up_ = std::max<size_t>(64, 2 * groups_.size());
}

// Members without a node that were deleted, or changed their group.
void GroupKeeper::forget_missing(Group& group) {
  for (auto it = group.members.begin(); it != group.members.end();) {
    const auto& [uid, member] = *it;
    if (member.state != State::kPending) {
      ++it;
      continue;
    }
    const Pod pod = host_.pod_by_uid(uid);
    const auto ref = pod ? group_of(pod) : std::nullopt;
    if (ref && ref->key == group.key && !pod.terminating()) {
      ++it;
      continue;
    }
    if (forget_hold(uid, it->second)) host_.requeue_rejected();
    by_pod_.erase(uid);
    it = group.erase(it);
  }
}

// It costs as much as there are members, and many ask: it is not done for each of them.
void GroupKeeper::forget_missing_at_times(Group& group) {
  if (host_.now_ms() < group.next_search_ms) return;
  group.next_search_ms = host_.now_ms() + kSearchMs;
  forget_missing(group);
}

// Time enough has passed for members to come back that had a node.
void GroupKeeper::excuse(const std::string& key) {
  Group* group = find_mutable(key);
  if (group == nullptr) return;
  group->is_gathering = false;
  forget_missing(*group);
  if (group->bound() == 0) return;
  group->excused = group->wanted().value_or(0) - group->known();
  wake(key);
}

// ---- who there is

void GroupKeeper::pod_waits(Pod pod) {
  const auto ref = group_of(pod);
  if (!ref || pod.terminating()) return;
  if (const auto known = by_pod_.find(pod.uid());
      known != by_pod_.end() && known->second != ref->key)
    pod_removed(pod.uid());
  Group& group = note(*ref);
  if (!ref->min_available) watch(ref->api);
  if (group.members.contains(pod.uid())) return;
  group.add(pod.uid());
  by_pod_[std::string(pod.uid())] = ref->key;
  const auto needed = group.needed();
  if (!needed || *needed < 2 || group.known() < *needed) return;
  forget_missing_at_times(group);
  if (group.known() == *needed) wake(ref->key);
}

void GroupKeeper::pod_assigned(Pod pod) {
  const auto ref = group_of(pod);
  const auto known = by_pod_.find(pod.uid());
  if (known != by_pod_.end() && (!ref || known->second != ref->key)) pod_removed(pod.uid());
  if (!ref) return;
  Group& group = note(*ref);
  Member& known_as = group.add(pod.uid());
  by_pod_[std::string(pod.uid())] = ref->key;
  if (forget_hold(pod.uid(), known_as)) host_.requeue_rejected();
  if (known_as.state != State::kBound) group.failures = 0;
  group.change(known_as, [&](Member& member) {
    member = Member();
    member.state = State::kBound;
    member.node = std::string(pod.node_name());
  });
  let_go_if_complete(group);
}

void GroupKeeper::pod_removed(std::string_view uid) {
  const auto known = by_pod_.find(uid);
  if (known == by_pod_.end()) return;
  const std::string key = known->second;
  by_pod_.erase(known);
  Group& group = groups_.at(key);
  const auto member = group.members.find(uid);
  if (forget_hold(uid, member->second)) host_.requeue_rejected();
  group.erase(member);
  if (group.bound() == 0) group.excused = 0;  // who comes now begins anew
  drop_if_empty(key);
}

void GroupKeeper::object_event(const sdk::ObjectEvent& event) {
  for (size_t api = 0; api < kPodGroupApis.size(); ++api) {
    if (event.resource != pod_group_resource(api)) continue;
    if (event.type == sdk::ObjectEvent::kSynced) {
      kinds_[api].listed = true;
      for (const auto& [key, group] : groups_) wake(key);
      return;
    }
    const std::string key = std::string(event.ns) + "/" + std::string(event.name);
    std::optional<PodGroupSpec> spec;
    if (event.type == sdk::ObjectEvent::kUpsert) {
      auto parsed = parse_pod_group(event.json);
      if (parsed)
        spec = *parsed;
      else
        host_.warn("PodGroup " + key + ": " + parsed.error() + "; it counts as absent");
    } else if (find(key) == nullptr) {
      return;
    }
    Group& group = groups_[key];
    group.key = key;
    // Controllers count members in its status: that must not wake anybody.
    if (std::exchange(group.objects[api], spec) == spec && spec) continue;
    if (!group.needed() && group.waiting() > 0) give_up(group, "PodGroup not found");
    let_go_if_complete(group);
    wake(key);
    drop_if_empty(key);
  }
}

// ---- one attempt of a pod

std::optional<std::string> GroupKeeper::refuses(Pod pod) {
  const auto of_pod = by_pod_.find(pod.uid());
  const auto ref = of_pod == by_pod_.end() ? std::nullopt : group_of(pod);
  if (!ref || ref->key != of_pod->second) return std::nullopt;
  if (!ref->problem.empty()) return ref->problem;
  Group& group = groups_.at(ref->key);
  const auto needed = group.needed();
  // coscheduling's word for a name without an object; it does not take the pod for an ordinary one.
  if (!needed)
    return kinds_[ref->api].listed ? "PodGroup not found" : "the PodGroups are not listed yet";
  forget_missing_at_times(group);
  if (group.known() < group.needed()) {
    if (group.bound() > 0 && !std::exchange(group.is_gathering, true))
      host_.run_on_loop(kGatherMs, [this, key = ref->key] { excuse(key); });
    return "cannot find enough sibling pods, current pods number: " +
           std::to_string(group.known()) + ", minMember of group: " + std::to_string(*needed);
  }
  const bool backs_off = host_.now_ms() < group.backoff_until_ms;
  if (backs_off && !group.refusal.empty()) return group.refusal;
  const auto self = group.members.find(pod.uid());
  const bool is_placed = self != group.members.end() && self->second.state != State::kPending;
  if (group.placed() + (is_placed ? 0 : 1) >= *needed) return std::nullopt;
  if (backs_off) return "the pod group failed recently";
  return std::nullopt;
}

void GroupKeeper::found_no_place(Pod pod, const std::string& whole_group) {
  const auto known = by_pod_.find(pod.uid());
  if (known == by_pod_.end() || find(known->second)->complete()) return;
  if (refuses(pod)) return;  // nobody has looked for a place
  // After this attempt: another plugin may yet nominate it.
  ended_.push_back({known->second, std::string(pod.uid()), whole_group});
  host_.run_on_loop(0, [this] { attempts_ended(); });
}

void GroupKeeper::attempts_ended() {
  for (const Ended& attempt : std::exchange(ended_, {})) attempt_ended(attempt);
}

void GroupKeeper::attempt_ended(const Ended& attempt) {
  Group* group = find_mutable(attempt.key);
  if (group == nullptr || group->complete()) return;
  const auto found = group->members.find(attempt.uid);
  if (found == group->members.end() || found->second.state != State::kPending) return;
  if (is_nominated(attempt.uid)) return;  // room is being made for it
  group->change(found->second, [](Member& member) { member.has_failed = true; });
  forget_missing_at_times(*group);
  const bool may_do_without = group->known() - group->failed() >= group->needed().value_or(0);
  if (attempt.whole_group.empty() && may_do_without) {
    if (group->waiting() == 0) try_one(*group);
    return;
  }
  const Pod pod = host_.pod_by_uid(attempt.uid);
  give_up(*group,
          "PodGroup " + attempt.key + " gets rejected due to Pod " +
              (pod ? member_name(pod) : attempt.uid) + " is unschedulable",
          attempt.whole_group);
}

bool GroupKeeper::is_nominated(std::string_view uid) const {
  for (uint32_t slot = 0; slot < host_.slot_count(); ++slot) {
    const sdk::Node node = host_.node(slot);
    if (!node) continue;
    for (const Pod pod : host_.nominated_pods(node.name()))
      if (pod.uid() == uid) return true;
  }
  return false;
}

void GroupKeeper::reserved(Pod pod, std::string_view node) {
  const auto known = by_pod_.find(pod.uid());
  if (known == by_pod_.end()) return;
  Group& group = groups_.at(known->second);
  Member& reserves = group.members.at(std::string(pod.uid()));
  forget_hold(pod.uid(), reserves);
  group.change(reserves, [&](Member& member) {
    member = Member();
    member.state = State::kReserved;
    member.node = std::string(node);
  });
}

Status GroupKeeper::permit(Pod pod, int64_t& timeout_ms) {
  const auto known = by_pod_.find(pod.uid());
  if (known == by_pod_.end()) return {};
  Group& group = groups_.at(known->second);
  if (group.complete()) {
    let_go_if_complete(group);
    return {};
  }
  timeout_ms = group.wait_ms > 0 ? group.wait_ms : kDefaultWaitMs;
  for (const auto& object : group.objects)
    if (object && object->wait_ms > 0) timeout_ms = object->wait_ms;
  group.change(group.members.at(std::string(pod.uid())), [](Member& self) { self.waits = true; });
  // The others come now, not when their turn would be: the less gets in between, the better.
  for (const auto& [uid, member] : group.members)
    if (member.state == State::kPending) host_.activate(uid);
  watch_over();
  return Status::wait();
}

void GroupKeeper::unreserved(Pod pod) {
  const auto known = by_pod_.find(pod.uid());
  if (known == by_pod_.end()) return;
  Group& group = groups_.at(known->second);
  Member& member = group.members.at(std::string(pod.uid()));
  if (member.state == State::kPending) found_no_place(pod);  // another plugin failed to reserve
  if (member.state != State::kReserved) return;
  const Member before = member;
  group.change(member, [](Member& self) { self = Member(); });
  if (before.rejected) return;  // give_up() has seen to the rest
  if (!before.released) {
    give_up(group,
            "PodGroup " + group.key + " gets rejected: its member " + member_name(pod) + " was");
    return;
  }
  // The group runs; this pod alone comes back, and finds its devices.
  if (const Allocation* had = accounts_.allocation_of(pod.uid())) {
    Allocation allocation = *had;
    accounts_.unreserve(pod.uid());
    hold(group.key, pod.uid(), before.node, std::move(allocation));
    member.hold->until_ms = host_.now_ms() + kHeldAfterFailureMs;
    watch_over();
  }
  // Where so many fail that the rest is too few, the next one would wait on Permit and call the
  // others back at once, whatever their own backoff, to fail again.
  const bool alone = group.needed().value_or(1) < 2;
  if (!alone && !group.complete() && host_.now_ms() >= group.backoff_until_ms) back_off(group);
}

// ---- the end of a group's wait

void GroupKeeper::let_go_if_complete(Group& group) {
  if (!group.complete()) return;
  group.backoff_until_ms = 0;
  bool freed = false;
  for (auto& [uid, member] : group.members) {
    if (member.has_failed) group.change(member, [](Member& self) { self.has_failed = false; });
    if (member.state == State::kPending && member.hold && member.hold->until_ms == 0)
      freed = forget_hold(uid, member) || freed;
    if (member.state != State::kReserved || member.released || member.rejected) continue;
    group.change(member, [](Member& self) { self.released = true; });
    if (member.waits) host_.allow_waiting(uid);
  }
  if (freed) host_.requeue_rejected();
}

void GroupKeeper::back_off(Group& group, const std::string& refusal) {
  const int64_t delay = std::min(kInitialBackoffMs << std::min(group.failures, 10), kMaxBackoffMs) +
                        static_cast<int64_t>(std::hash<std::string>{}(group.key) % kApartMs);
  ++group.failures;
  group.refusal = refusal;
  for (auto& [uid, member] : group.members)
    if (member.has_failed) group.change(member, [](Member& self) { self.has_failed = false; });
  group.backoff_until_ms = host_.now_ms() + delay;
  host_.run_on_loop(delay, [this, key = group.key] {
    const Group* left_alone = find(key);
    if (left_alone != nullptr && host_.now_ms() >= left_alone->backoff_until_ms)
      try_one(*left_alone);
  });
}

void GroupKeeper::give_up(Group& group, const std::string& why, const std::string& refusal) {
  back_off(group, refusal);
  for (auto& [uid, member] : group.members) {
    if (!member.waits || member.released || member.rejected) continue;
    group.change(member, [](Member& self) { self.rejected = true; });
    host_.reject_waiting(uid, why);
  }
  if (forget_holds(group)) host_.requeue_rejected();
}

// Tries a member that has no place and was not seen to find none. If it finds one it calls the
// others; else they need not be told again what they were told.
void GroupKeeper::try_one(const Group& group) {
  const auto can = [&](const auto& entry) {
    if (entry.second.state != State::kPending || entry.second.has_failed) return false;
    const Pod pod = host_.pod_by_uid(entry.first);  // nobody tells of those that were deleted
    return pod && !pod.terminating();
  };
  const auto one = std::find_if(group.members.begin(), group.members.end(), can);
  if (one != group.members.end()) host_.activate(one->first);
}

// Tries all members that have no place.
void GroupKeeper::wake(const std::string& key) {
  const Group* group = find(key);
  if (group == nullptr || host_.now_ms() < group->backoff_until_ms) return;
  for (const auto& [uid, member] : group->members)
    if (member.state == State::kPending) host_.activate(uid);
}

// While pods wait on Permit, or devices are held: nobody tells of deleted pods without a node.
void GroupKeeper::watch_over() {
  if (looking_round_) return;
  looking_round_ = true;
  host_.run_on_loop(kLookRoundMs, [this] {
    looking_round_ = false;
    look_round();
  });
}

void GroupKeeper::look_round() {
  bool again = false;
  for (auto& [key, group] : groups_) {
    bool holds = false;
    for (auto& [uid, member] : group.members) {
      if (!member.hold) continue;
      const bool over = member.hold->until_ms != 0 && member.hold->until_ms <= host_.now_ms();
      if (over && forget_hold(uid, member)) host_.requeue_rejected();
      holds = holds || member.hold.has_value();
    }
    const bool waits = group.waiting() > 0;
    if (!holds && !waits) continue;
    forget_missing(group);
    if (waits && !group.complete() && group.known() < group.needed().value_or(0))
      give_up(group, "PodGroup " + key + " gets rejected: it has too few members left");
    again = true;
  }
  if (again) watch_over();
}

// ---- what is held

const GroupKeeper::Group* GroupKeeper::of(Pod pod) const {
  const auto known = by_pod_.find(pod.uid());
  if (known == by_pod_.end()) return nullptr;
  return find(known->second);
}

void GroupKeeper::hold(std::string_view key, std::string_view uid, std::string_view node,
                       Allocation allocation) {
  Group* group = find_mutable(key);
  const auto member = group->members.find(uid);
  if (allocation.empty() || member == group->members.end()) return;
  accounts_.reserve(hold_id(uid), node, std::move(allocation),
                    "pod group " + std::string(key) + " (held)");
  member->second.hold = Hold{std::string(node), 0};
}

void GroupKeeper::drop_hold(std::string_view key, std::string_view uid) {
  Group* group = find_mutable(key);
  if (group == nullptr) return;
  const auto member = group->members.find(uid);
  if (member != group->members.end()) forget_hold(uid, member->second);
}

bool GroupKeeper::forget_hold(std::string_view uid, Member& member) {
  if (!member.hold) return false;
  member.hold.reset();
  accounts_.unreserve(hold_id(uid));
  return true;
}

bool GroupKeeper::forget_holds(Group& group) {
  bool any = false;
  for (auto& [uid, member] : group.members) any = forget_hold(uid, member) || any;
  return any;
}

void GroupKeeper::take_holds(std::string_view key, NodeState& node) const {
  const Group* group = find(key);
  if (group == nullptr) return;
  for (const auto& [uid, member] : group->members)
    if (member.hold && member.hold->node == node.name) accounts_.take_from(node, hold_id(uid));
}

std::string GroupKeeper::explain(std::string_view node) const {
  std::string text;
  for (const auto& [key, group] : groups_) {
    std::map<int, std::set<int32_t>> minors;
    for (const auto& [uid, member] : group.members) {
      if (!member.hold || member.hold->node != node) continue;
      const Allocation* allocation = held(uid);
      if (allocation == nullptr) continue;
      for (const DeviceShare& share : *allocation) minors[share.type].insert(share.minor);
    }
    for (const auto& [type, list] : minors) {
      text += accounts_.types().type(type).name;
      for (const int32_t minor : list) text += " " + std::to_string(minor);
      text += ": held for pod group " + key + ", " + std::to_string(group.placed()) + " of whose " +
              std::to_string(group.needed().value_or(0)) + " pods have a place\n";
    }
  }
  return text;
}

}  // namespace plimsoll::devices

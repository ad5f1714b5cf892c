// GroupKeeper: the attempts of pods, and how a group's wait ends.
#include <algorithm>
#include <functional>
#include <utility>

#include "plugins/nodedevice/accounts/pod_reading.hpp"
#include "plugins/nodedevice/groups/group_keeper.hpp"

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
constexpr int64_t kGatherMs = 10'000;  // for members that come back
// How long devices of a pod whose binding failed are kept for its next attempt.
constexpr int64_t kHeldAfterFailureMs = 60'000;

}  // namespace

// ---- one attempt of a pod

std::optional<std::string> GroupKeeper::refuses(Pod pod) {
  const auto of_pod = by_pod_.find(pod.uid());
  const auto ref = of_pod == by_pod_.end() ? std::nullopt : group_of(pod);
  if (!ref || ref->key != of_pod->second) return std::nullopt;
  Group& group = groups_.at(ref->key);
  forget_missing_at_times(group);
  if (!ref->problem.empty()) return ref->problem;
  const auto needed = group.needed();
  // coscheduling's word for a name without an object; it does not take the pod for an ordinary one.
  if (!needed)
    return kinds_[ref->api].listed ? "PodGroup not found" : "the PodGroups are not listed yet";
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
  const auto same = std::find_if(ended_.begin(), ended_.end(),
                                 [&](const Ended& ended) { return ended.uid == pod.uid(); });
  if (same != ended_.end()) {
    if (!whole_group.empty()) same->whole_group = whole_group;
    return;
  }
  ended_.push_back({known->second, std::string(pod.uid()), whole_group});
  host_.run_on_loop(0, [this] { attempts_ended(); });
}

void GroupKeeper::attempts_ended() {
  if (deciding_) return;
  for (const Ended& attempt : std::exchange(ended_, {})) attempt_ended(attempt);
}

void GroupKeeper::attempt_ended(const Ended& attempt) {
  Group* group = find_mutable(attempt.key);
  if (group == nullptr || group->complete()) return;
  const auto found = group->members.find(attempt.uid);
  if (found == group->members.end() || found->second.state != State::kPending) return;
  if (is_nominated(attempt.uid)) return;  // room is being made for it
  group->change(*found, [](Member& member) { member.has_failed = true; });
  forget_missing_at_times(*group);
  const bool may_do_without = group->known() - group->failed() >= group->needed().value_or(0);
  if (attempt.whole_group.empty() && may_do_without) {
    // Another pod's attempt may be under way, which carries out what is asked of it only if it
    // succeeds.
    if (group->waiting() == 0) {
      host_.run_on_loop(0, [this, key = attempt.key] {
        if (const Group* left = find(key)) try_one(*left);
      });
    }
    return;
  }
  const Pod pod = host_.pod_by_uid(attempt.uid);
  give_up(*group,
          "PodGroup " + attempt.key + " gets rejected due to Pod " +
              (pod ? full_name(pod) : attempt.uid) + " is unschedulable",
          attempt.whole_group);
}

std::vector<Pod> GroupKeeper::without_place(const Group& group) const {
  std::vector<Pod> pods;
  for (const auto& [uid, member] : group.members) {
    if (member.state != State::kPending) continue;
    const Pod pod = host_.pod_by_uid(uid);
    if (pod && !pod.terminating()) pods.push_back(pod);
  }
  return pods;
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
  Entry& reserves = *group.members.find(pod.uid());
  const auto& hold = reserves.second.hold;
  const bool held_elsewhere = hold && hold->node != node;
  if (forget_hold(group, reserves) && held_elsewhere) host_.requeue_rejected();
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
  group.change(*group.members.find(pod.uid()), [](Member& self) { self.waits = true; });
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
  Entry& entry = *group.members.find(pod.uid());
  const Member& member = entry.second;
  // Another plugin failed to reserve. It may forget the member.
  if (member.state == State::kPending) return found_no_place(pod);
  if (member.state != State::kReserved) return;
  const Member before = member;
  group.change(entry, [](Member& self) { self = Member(); });
  if (before.rejected) return;  // give_up() has seen to the rest
  if (!before.released) {
    give_up(group,
            "PodGroup " + group.key + " gets rejected: its member " + full_name(pod) + " was");
    return;
  }
  // The group runs; this pod alone comes back, and finds its devices.
  if (const Allocation* had = accounts_.allocation_of(pod.uid())) {
    Allocation allocation = *had;
    accounts_.unreserve(pod.uid());
    hold(group.key, pod.uid(), before.node, std::move(allocation));
    if (entry.second.hold) entry.second.hold->until_ms = host_.now_ms() + kHeldAfterFailureMs;
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
  for (Entry& entry : group.members) {
    const auto& [uid, member] = entry;
    if (member.has_failed) group.change(entry, [](Member& self) { self.has_failed = false; });
    if (member.state == State::kPending && member.hold && member.hold->until_ms == 0)
      freed = forget_hold(group, entry) || freed;
    if (member.state != State::kReserved || member.released || member.rejected) continue;
    group.change(entry, [](Member& self) { self.released = true; });
    if (member.waits) host_.allow_waiting(uid);
  }
  if (freed) host_.requeue_rejected();
}

void GroupKeeper::back_off(Group& group, const std::string& refusal) {
  const int64_t delay = std::min(kInitialBackoffMs << std::min(group.failures, 10), kMaxBackoffMs) +
                        static_cast<int64_t>(std::hash<std::string>{}(group.key) % kApartMs);
  ++group.failures;
  group.refusal = refusal;
  for (Entry& entry : group.members)
    if (entry.second.has_failed) group.change(entry, [](Member& self) { self.has_failed = false; });
  group.backoff_until_ms = host_.now_ms() + delay;
  host_.run_on_loop(delay, [this, key = group.key] {
    const Group* left_alone = find(key);
    if (left_alone != nullptr && host_.now_ms() >= left_alone->backoff_until_ms)
      try_one(*left_alone);
  });
}

void GroupKeeper::give_up(Group& group, const std::string& why, const std::string& refusal) {
  back_off(group, refusal);
  for (Entry& entry : group.members) {
    const auto& [uid, member] = entry;
    if (!member.waits || member.released || member.rejected) continue;
    group.change(entry, [](Member& self) { self.rejected = true; });
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
    for (Entry& entry : group.members) {
      const std::optional<Hold>& hold = entry.second.hold;
      if (!hold) continue;
      const bool over = hold->until_ms != 0 && hold->until_ms <= host_.now_ms();
      if (over && forget_hold(group, entry)) host_.requeue_rejected();
      holds = holds || hold.has_value();
    }
    const bool waits = group.waiting() > 0;
    if (!holds && !waits) continue;
    forget_missing(group);
    let_go_if_complete(group);
    if (waits && !group.complete() && group.known() < group.needed().value_or(0))
      give_up(group, "PodGroup " + key + " gets rejected: it has too few members left");
    again = true;
  }
  if (again) watch_over();
}

}  // namespace plimsoll::devices

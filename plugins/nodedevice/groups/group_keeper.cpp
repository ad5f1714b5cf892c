#include "plugins/nodedevice/groups/group_keeper.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll::devices {
namespace {

using sdk::Pod;
using State = GroupKeeper::Member::State;

constexpr int64_t kSearchMs = 1000;  // between two looks for members that were deleted

}  // namespace

// ---- groups

const GroupKeeper::Entries& GroupKeeper::Group::on(std::string_view node) const {
  static const Entries kNobody;
  const auto known = by_node_.find(node);
  return known == by_node_.end() ? kNobody : known->second;
}

void GroupKeeper::Group::count(const Entry& entry, int by) {
  const Member& member = entry.second;
  const bool is_pending = member.state == State::kPending;
  if (!is_pending || member.hold) {
    const auto at = by_node_.try_emplace(is_pending ? member.hold->node : member.node).first;
    if (by > 0)
      at->second.insert(&entry);
    else
      at->second.erase(&entry);
    if (at->second.empty()) by_node_.erase(at);
  }
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
  if (known() >= next_clean_up_) drop_empty_groups();
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
  next_clean_up_ = std::max(kFewKnown, 2 * known());
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
    if (forget_hold(group, *it)) host_.requeue_rejected();
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
  if (group.waiting() > 0) let_go_if_complete(group);  // the pod may say that it needs fewer
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
  const bool is_new = !group.members.contains(pod.uid());
  Entry& known_as = group.add(pod.uid());
  by_pod_[std::string(pod.uid())] = ref->key;
  if (forget_hold(group, known_as)) host_.requeue_rejected();
  if (known_as.second.state != State::kBound) group.failures = 0;
  group.change(known_as, [&](Member& member) {
    member = Member();
    member.state = State::kBound;
    member.node = std::string(pod.node_name());
  });
  let_go_if_complete(group);
  // One that others placed may be the last that was missing.
  if (is_new && group.needed() == group.known()) wake(ref->key);
}

void GroupKeeper::pod_removed(std::string_view uid) {
  const auto known = by_pod_.find(uid);
  if (known == by_pod_.end()) return;
  const std::string key = known->second;
  by_pod_.erase(known);
  Group& group = groups_.at(key);
  const auto member = group.members.find(uid);
  if (forget_hold(group, *member)) host_.requeue_rejected();
  group.erase(member);
  if (group.bound() == 0) group.excused = 0;           // who comes now begins anew
  if (group.waiting() > 0) let_go_if_complete(group);  // it may need fewer now
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
  group->change(*member, [&](Member& self) { self.hold = Hold{std::string(node), 0}; });
}

bool GroupKeeper::drop_hold(std::string_view key, std::string_view uid) {
  Group* group = find_mutable(key);
  if (group == nullptr) return false;
  const auto member = group->members.find(uid);
  return member != group->members.end() && forget_hold(*group, *member);
}

bool GroupKeeper::forget_hold(Group& group, Entry& entry) {
  if (!entry.second.hold) return false;
  group.change(entry, [](Member& member) { member.hold.reset(); });
  accounts_.unreserve(hold_id(entry.first));
  return true;
}

bool GroupKeeper::forget_holds(Group& group) {
  bool any = false;
  for (Entry& entry : group.members) any = forget_hold(group, entry) || any;
  return any;
}

void GroupKeeper::take_holds(std::string_view key, NodeState& node) const {
  const Group* group = find(key);
  if (group == nullptr) return;
  for (const Entry* entry : group->on(node.name))
    if (entry->second.hold) accounts_.take_from(node, hold_id(entry->first));
}

std::string GroupKeeper::explain(std::string_view node) const {
  std::string text;
  for (const auto& [key, group] : groups_) {
    std::map<int, std::set<int32_t>> minors;
    for (const Entry* entry : group.on(node)) {
      if (!entry->second.hold) continue;
      const Allocation* allocation = held(entry->first);
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

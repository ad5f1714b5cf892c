#include "plugins/nodedevice/placing/group_placer.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "plugins/nodedevice/accounts/pod_reading.hpp"

namespace plimsoll::devices {
namespace {

using sdk::Node;
using sdk::Pod;
using State = GroupKeeper::Member::State;

constexpr int64_t kMaxScore = 100;
constexpr size_t kMostLooks = 50'000;  // of one pod at nodes, for members of other shapes

bool has(const std::vector<uint32_t>& sorted, uint32_t slot) {
  return std::binary_search(sorted.begin(), sorted.end(), slot);
}

void tidy(std::vector<uint32_t>& slots) {
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
}

int64_t devices_asked(const Seekers& seekers) {
  int64_t count = 0;
  if (seekers.demand != nullptr)
    for (const TypeRequest& request : seekers.demand->request.types) count += request.count;
  return count;
}

bool all_alike(const std::vector<Seekers>& all) {
  return std::all_of(all.begin(), all.end(),
                     [&](const Seekers& seekers) { return seekers.shape == all[0].shape; });
}

size_t members_of(const std::vector<Seekers>& all) {
  size_t count = 0;
  for (const Seekers& seekers : all) count += seekers.uids.size();
  return count;
}

// For how many there is room, of seekers that are all alike: who is placed on one node leaves as
// much of the others.
size_t room_of(const std::vector<Placement>& by_slot) {
  size_t count = 0;
  for (const Placement& placement : by_slot) count += placement.given.size();
  return count;
}

// The best nodes first.
std::vector<uint32_t> in_order(const std::vector<Placement>& by_slot, size_t members) {
  std::vector<uint32_t> slots;
  for (uint32_t slot = 0; slot < by_slot.size(); ++slot)
    if (!by_slot[slot].given.empty()) slots.push_back(slot);
  std::stable_sort(slots.begin(), slots.end(), [&](uint32_t a, uint32_t b) {
    return score_placement(by_slot[a], members, false) >
           score_placement(by_slot[b], members, false);
  });
  return slots;
}

}  // namespace

GroupPlacer::GroupPlacer(const sdk::Host& host, DeviceStore& store, const Allocator& allocator,
                         const DemandReader& demands, const SharingRules& sharing)
    : host_(host),
      store_(store),
      allocator_(allocator),
      demands_(demands),
      sharing_(sharing),
      plans_(host.counter("pod_group_plans_total",
                          "How often all nodes were looked at for room for a pod group", {})) {}

// Null: no device by minor, or something that is not valid.
std::shared_ptr<const PodDemand> GroupPlacer::demand_of(Pod pod) const {
  auto demand = demands_.read(pod);
  return demand != nullptr && demand->request.empty() ? nullptr : demand;
}

// Labels of the node do not allow it to share GPUs there.
bool GroupPlacer::kept_away(Pod pod, const PodDemand& demand, uint32_t slot) const {
  return sharing_.concern(demand.request) &&
         !sharing_.judge(pod.label(kIsolationLabel).value_or(""), slot).ok();
}

Seekers GroupPlacer::seeker(Pod pod, std::shared_ptr<const PodDemand> demand) const {
  Seekers made;
  made.uids.emplace_back(pod.uid());
  made.demand = std::move(demand);
  made.requests.emplace_back(PLIMSOLL_RESOURCE_PODS, 1);
  for (const plimsoll_resource& request : pod.requests()) {
    if (request.index == PLIMSOLL_RESOURCE_PODS) continue;
    made.requests.emplace_back(request.index, request.value);
    made.shape += std::string(sdk::view(request.name)) + "=" + std::to_string(request.value) + ",";
  }
  // Whom it may evict.
  made.shape += std::to_string(pod->priority) + "/" + std::to_string(pod->preemption_policy) + ",";
  made.shape += asked_by(store_.accounts().types(), pod);
  return made;
}

// Who asks for more is harder to place, and comes first. Whoever makes up a group's pods may give
// each a shape of its own: what is looked at for one pod stays bounded, and the others look for
// themselves when it is their turn.
std::vector<Seekers> GroupPlacer::by_shape(
    const std::vector<std::pair<Pod, std::shared_ptr<const PodDemand>>>& pods) const {
  std::map<std::string, Seekers> shapes;
  for (const auto& [pod, demand] : pods) {
    Seekers one = seeker(pod, demand);
    const auto [known, is_new] = shapes.try_emplace(one.shape);
    if (is_new)
      known->second = std::move(one);
    else
      known->second.uids.push_back(std::move(one.uids[0]));
  }
  std::vector<Seekers> all;
  all.reserve(shapes.size());
  for (auto& [shape, seekers] : shapes) all.push_back(std::move(seekers));
  std::stable_sort(all.begin(), all.end(), [](const Seekers& a, const Seekers& b) {
    return devices_asked(a) > devices_asked(b);
  });
  const size_t most = std::clamp<size_t>(kMostLooks / std::max(host_.slot_count(), 1U), 2, 64);
  if (all.size() > most) all.resize(most);
  return all;
}

std::shared_ptr<GroupAttempt> GroupPlacer::look(Pod pod) const {
  const GroupKeeper::Group* group = store_.groups().of(pod);
  if (group == nullptr) return nullptr;
  auto made = std::make_shared<GroupAttempt>();
  made->key = group->key;
  for (const auto& [name, members] : group->by_node()) {
    const Node node = host_.node(name);
    const uint32_t slot = node ? node.slot() : kNoSlot;
    for (const GroupKeeper::Entry* entry : members) {
      const auto& [uid, member] = *entry;
      if (!member.hold) {
        if (!member.rejected) made->fellows.push_back(slot);
        continue;
      }
      made->hold_slots.push_back(slot);
      if (uid == pod.uid()) made->own_slot = slot;
    }
  }
  tidy(made->fellows);
  tidy(made->hold_slots);
  return made;
}

std::shared_ptr<GroupAttempt> GroupPlacer::begin(Pod pod,
                                                 std::shared_ptr<const PodDemand> demand) const {
  auto made = look(pod);
  if (made == nullptr) return nullptr;
  const GroupKeeper::Group& group = *store_.groups().of(pod);
  made->seekers.push_back(seeker(pod, std::move(demand)));
  if (made->own_slot != kNoSlot) return made;
  size_t without_devices = 0;
  size_t held = 0;
  std::vector<std::pair<Pod, std::shared_ptr<const PodDemand>>> others;
  for (const auto& [uid, member] : group.members) {
    if (member.hold) ++held;
    if (member.state != State::kPending || member.hold || uid == pod.uid()) continue;
    const Pod other = host_.pod_by_uid(uid);
    if (!other) continue;
    auto asked = demand_of(other);
    if (asked == nullptr)
      ++without_devices;
    else if (!group.complete())
      others.emplace_back(other, std::move(asked));
  }
  for (Seekers& seekers : by_shape(others)) made->seekers.push_back(std::move(seekers));
  made->by_slot = look_at_all(*made, pod, false);
  // Only of members that are all alike it is certain that there is no other way to place them.
  if (group.complete() || !all_alike(made->seekers)) return made;
  const auto needed = static_cast<size_t>(std::max(group.needed().value_or(0) - group.placed(), 0));
  const size_t accounted = held + without_devices;
  if (room_of(made->by_slot) + accounted >= needed) return made;
  const bool evicts = pod->preemption_policy != PLIMSOLL_PREEMPT_NEVER;
  if (!evicts || room_of(look_at_all(*made, pod, true)) + accounted < needed)
    made->refusal = "not enough devices for all members of the pod group";
  return made;
}

// The node for those for whom nothing is held; `evicting`: without the pods that this one may
// evict.
NodeRoom GroupPlacer::room(const GroupAttempt& group, Node node, const Pod* evicting) const {
  NodeRoom made;
  const NodeState* state = store_.accounts().at_slot(node.slot());
  if (state != nullptr) made.devices = *state;
  made.labels = store_.facts(node.slot()).labels();
  made.free.resize(node->resource_count);
  for (uint32_t i = 0; i < node->resource_count; ++i)
    made.free[i] = node->allocatable[i] - node->requested[i];
  const auto pods = PLIMSOLL_RESOURCE_PODS;
  if (pods < made.free.size()) made.free[pods] = node->allocatable[pods] - node->pod_count;
  if (evicting != nullptr) {
    for (const plimsoll_pod* other : node.pods()) {
      if (other->priority >= (*evicting)->priority) continue;
      store_.accounts().take_from(made.devices, sdk::view(other->meta.uid));
      for (const plimsoll_resource& used : sdk::Resources(other->used))
        if (used.index < made.free.size()) made.free[used.index] += used.value;
      if (pods < made.free.size()) ++made.free[pods];
    }
  }
  if (!has(group.fellows, node.slot())) return made;
  for (const GroupKeeper::Entry* entry : store_.groups().find(group.key)->on(node.name())) {
    if (entry->second.state == State::kPending) continue;
    if (const Allocation* has_it = store_.accounts().allocation_of(entry->first))
      made.near.push_back(*has_it);
  }
  return made;
}

Placement GroupPlacer::place(const GroupAttempt& group, Pod pod, uint32_t slot,
                             std::span<const Seekers> seekers, bool evicting) const {
  const Node node = host_.node(slot);
  const Seekers& first = seekers.front();
  if (!node || node.object().unschedulable != 0) return {};
  if (first.demand != nullptr && kept_away(pod, *first.demand, slot)) return {};
  // Most nodes have no room for even one.
  const NodeState* state = store_.accounts().at_slot(slot);
  const auto may_fit = [&](const Seekers& some) {
    return some.demand == nullptr ||
           allocator_.check(*state, store_.facts(slot).labels(), *some.demand).fits();
  };
  if (!evicting && state != nullptr && std::none_of(seekers.begin(), seekers.end(), may_fit))
    return {};
  return place_together(store_.accounts().types(), allocator_,
                        room(group, node, evicting ? &pod : nullptr), seekers);
}

std::vector<Placement> GroupPlacer::look_at_all(const GroupAttempt& group, Pod pod,
                                                bool evicting) const {
  plans_.add(1);
  std::vector<Placement> by_slot(host_.slot_count());
  for (uint32_t slot = 0; slot < by_slot.size(); ++slot)
    by_slot[slot] = place(group, pod, slot, group.seekers, evicting);
  return by_slot;
}

void GroupPlacer::without_holds(const GroupAttempt& group, NodeState& node) const {
  store_.groups().take_holds(group.key, node);
}

bool GroupPlacer::has_holds(const GroupAttempt& group, uint32_t slot) const {
  return has(group.hold_slots, slot);
}

void GroupPlacer::score(const GroupAttempt& group, sdk::Nodes nodes,
                        std::span<int64_t> scores) const {
  if (scores.empty()) return;
  const auto [lowest, highest] = std::minmax_element(scores.begin(), scores.end());
  const int64_t low = *lowest;
  const int64_t range = std::max<int64_t>(*highest - low, 1);
  const size_t members = members_of(group.seekers);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const uint32_t slot = nodes[i].slot();
    int64_t rank = 0;
    if (group.own_slot != kNoSlot)
      rank = slot == group.own_slot ? kMaxScore : has(group.fellows, slot) ? kMaxScore / 2 : 0;
    else if (slot < group.by_slot.size())
      rank = score_placement(group.by_slot[slot], members, has(group.fellows, slot));
    scores[i] = 20 * rank + kMaxScore * (scores[i] - low) / range;
  }
}

Verdict GroupPlacer::allocate(const GroupAttempt& group, Pod pod, Node node, const Choose& choose,
                              Allocation& allocation) const {
  GroupKeeper& groups = store_.groups();
  const NodeState& real = *store_.accounts().at_slot(node.slot());
  NodeState state = real;
  without_holds(group, state);
  // What is held for it, or for one that asks for the same and takes this one's in exchange.
  const Seekers self = seeker(pod, nullptr);
  const std::string& own_uid = self.uids[0];
  const GroupKeeper::Group& members = *groups.find(group.key);
  std::string taken_from;
  for (const GroupKeeper::Entry* entry : members.on(node.name())) {
    const auto& [uid, member] = *entry;
    if (!member.hold || (!taken_from.empty() && uid != own_uid)) continue;
    const Pod other = host_.pod_by_uid(uid);
    if (uid == own_uid || (other && seeker(other, nullptr).shape == self.shape)) taken_from = uid;
  }
  if (!taken_from.empty()) {
    if (choose(kept_to(state, *groups.held(taken_from)), allocation).fits()) {
      const auto own = members.members.find(own_uid);
      std::string own_node;
      Allocation own_devices;
      if (taken_from != own_uid && own->second.hold) {
        own_node = own->second.hold->node;
        own_devices = *groups.held(own_uid);
      }
      groups.drop_hold(group.key, own_uid);
      groups.drop_hold(group.key, taken_from);
      if (!own_node.empty()) groups.hold(group.key, taken_from, own_node, std::move(own_devices));
      return {};
    }
  }
  // The first one of the group here: its place is the one that it has among all that fit.
  const Placement placement = place(group, pod, node.slot(), group.seekers, false);
  if (!placement.given.empty()) {
    const auto& [seekers, devices] = placement.given[0];
    if (seekers == 0 && !devices.empty() && choose(kept_to(real, devices), allocation).fits())
      return {};
  }
  if (const Verdict verdict = choose(real, allocation); verdict.fits()) return verdict;
  // Only what is held for other members is left: they look for another place.
  return choose(state, allocation);
}

// Takes those who get a place out of `seekers`.
void GroupPlacer::hold_on(const GroupAttempt& group, uint32_t slot, Pod pod,
                          std::vector<Seekers>& seekers) const {
  const NodeState* state = store_.accounts().at_slot(slot);
  if (seekers.empty() || state == nullptr || state->unmanaged()) return;
  Placement placement = place(group, pod, slot, seekers, false);
  if (placement.given.empty()) return;
  const std::string node(host_.node(slot).name());
  for (auto& [i, devices] : placement.given) {
    store_.groups().hold(group.key, seekers[i].uids.back(), node, std::move(devices));
    seekers[i].uids.pop_back();
  }
  std::erase_if(seekers, [](const Seekers& left) { return left.uids.empty(); });
}

void GroupPlacer::hold_for_others(const GroupAttempt& group, Pod pod, Node node) const {
  GroupKeeper& groups = store_.groups();
  const GroupKeeper::Group* members = groups.of(pod);
  if (members == nullptr || members->complete()) return;
  // The first is the pod itself.
  std::vector<Seekers> others(group.seekers.begin() + 1, group.seekers.end());
  std::set<std::string> dropped;
  // What was held on this node may have been taken by the pod, which had its own elsewhere or none.
  const NodeState* state = store_.accounts().at_slot(node.slot());
  if (state != nullptr && has(group.hold_slots, node.slot())) {
    for (const GroupKeeper::Entry* entry : members->on(node.name())) {
      const auto& [uid, member] = *entry;
      if (!member.hold) continue;
      const Allocation& devices = *groups.held(uid);
      const bool lost = std::any_of(devices.begin(), devices.end(), [&](const DeviceShare& share) {
        const DeviceState* device = state->type(share.type).find(share.minor);
        if (device == nullptr || !device->healthy) return true;
        const Amounts& total = device->total;
        for (size_t dim = 0; dim < total.value.size(); ++dim)
          if (device->used.value[dim] > total.value[dim]) return true;
        return false;
      });
      if (!lost) continue;
      const Pod other = host_.pod_by_uid(uid);
      if (other) others.push_back(seeker(other, demand_of(other)));
    }
    for (const Seekers& lost : others)
      for (const std::string& uid : lost.uids)
        if (groups.drop_hold(group.key, uid)) dropped.insert(uid);
  }
  hold_on(group, node.slot(), pod, others);
  for (const uint32_t slot : group.fellows) hold_on(group, slot, pod, others);
  // Further nodes only where this pod could have been: others may be kept away by what is not
  // known here.
  for (const uint32_t slot : in_order(group.by_slot, members_of(group.seekers)))
    if (has(group.feasible, slot)) hold_on(group, slot, pod, others);
  // Who is left among the others has nothing held any more.
  const auto was_dropped = [&](const Seekers& left) {
    return std::any_of(left.uids.begin(), left.uids.end(),
                       [&](const std::string& uid) { return dropped.contains(uid); });
  };
  if (std::any_of(others.begin(), others.end(), was_dropped)) host_.requeue_rejected();
}

}  // namespace plimsoll::devices

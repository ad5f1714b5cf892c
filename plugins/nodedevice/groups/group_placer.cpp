#include "plugins/nodedevice/groups/group_placer.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "plugins/nodedevice/accounts/pod_reading.hpp"

namespace plimsoll::devices {
namespace {

using sdk::Node;
using sdk::Pod;
using State = GroupKeeper::Member::State;

constexpr int64_t kMaxScore = 100;

bool has(const std::vector<uint32_t>& sorted, uint32_t slot) {
  return std::binary_search(sorted.begin(), sorted.end(), slot);
}

void tidy(std::vector<uint32_t>& slots) {
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
}

int64_t devices_asked(const Seeker& seeker) {
  int64_t count = 0;
  if (seeker.demand != nullptr)
    for (const TypeRequest& request : seeker.demand->request.types) count += request.count;
  return count;
}

bool all_alike(std::span<const Seeker> seekers) {
  return std::all_of(seekers.begin(), seekers.end(),
                     [&](const Seeker& seeker) { return seeker.shape == seekers[0].shape; });
}

// For how many there is room, of seekers that are all alike: who is placed on one node leaves as
// much of the others.
int64_t room_of(const std::vector<Placement>& by_slot) {
  int64_t count = 0;
  for (const Placement& placement : by_slot) count += placement.count;
  return count;
}

// The best nodes first.
std::vector<uint32_t> in_order(const std::vector<Placement>& by_slot, size_t seekers) {
  std::vector<uint32_t> slots;
  for (uint32_t slot = 0; slot < by_slot.size(); ++slot)
    if (by_slot[slot].count > 0) slots.push_back(slot);
  std::stable_sort(slots.begin(), slots.end(), [&](uint32_t a, uint32_t b) {
    return score_placement(by_slot[a], seekers, false) >
           score_placement(by_slot[b], seekers, false);
  });
  return slots;
}

// Takes those who got a place out of `seekers`.
void drop_placed(const Placement& placement, std::vector<Seeker>& seekers) {
  std::vector<Seeker> left;
  for (size_t i = 0; i < seekers.size(); ++i)
    if (!placement.gives(i)) left.push_back(std::move(seekers[i]));
  seekers = std::move(left);
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

Seeker GroupPlacer::seeker(Pod pod, std::shared_ptr<const PodDemand> demand) const {
  Seeker made;
  made.uid = std::string(pod.uid());
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

std::shared_ptr<GroupAttempt> GroupPlacer::look(Pod pod) const {
  const GroupKeeper::Group* group = store_.groups().of(pod);
  if (group == nullptr) return nullptr;
  auto made = std::make_shared<GroupAttempt>();
  made->key = group->key;
  const auto slot_of = [&](const std::string& name) {
    const Node node = host_.node(name);
    return node ? node.slot() : kNoSlot;
  };
  for (const auto& [uid, member] : group->members) {
    if (member.state != State::kPending && !member.rejected)
      made->fellows.push_back(slot_of(member.node));
    if (!member.hold) continue;
    made->hold_slots.push_back(slot_of(member.hold->node));
    if (uid == pod.uid()) made->own_slot = made->hold_slots.back();
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
  int without_devices = 0;
  for (const auto& [uid, member] : group.members) {
    if (member.state != State::kPending || member.hold || uid == pod.uid()) continue;
    const Pod other = host_.pod_by_uid(uid);
    if (!other) continue;
    auto asked = demand_of(other);
    if (asked == nullptr)
      ++without_devices;
    else if (!group.complete())
      made->seekers.push_back(seeker(other, std::move(asked)));
  }
  // Who asks for more is harder to place.
  std::stable_sort(
      made->seekers.begin() + 1, made->seekers.end(),
      [](const Seeker& a, const Seeker& b) { return devices_asked(a) > devices_asked(b); });
  made->alike = all_alike(made->seekers);
  made->by_slot = look_at_all(*made, pod, false);
  // Only of members that are all alike it is certain that there is no other way to place them.
  if (group.complete() || !made->alike) return made;
  const auto held = std::count_if(group.members.begin(), group.members.end(),
                                  [](const auto& entry) { return entry.second.hold.has_value(); });
  const int missing =
      group.needed().value_or(0) - group.placed() - static_cast<int>(held) - without_devices;
  if (room_of(made->by_slot) >= missing) return made;
  const bool evicts = pod->preemption_policy != PLIMSOLL_PREEMPT_NEVER;
  if (!evicts || room_of(look_at_all(*made, pod, true)) < missing)
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
  const GroupKeeper::Group* members = store_.groups().find(group.key);
  for (const auto& [uid, member] : members->members) {
    if (member.state == State::kPending || member.node != node.name()) continue;
    if (const Allocation* has_it = store_.accounts().allocation_of(uid))
      made.near.push_back(*has_it);
  }
  return made;
}

Placement GroupPlacer::place(const GroupAttempt& group, Pod pod, uint32_t slot,
                             std::span<const Seeker> seekers, bool alike, bool evicting) const {
  const Node node = host_.node(slot);
  const Seeker& first = seekers.front();
  if (!node || node.object().unschedulable != 0) return {};
  if (first.demand != nullptr && kept_away(pod, *first.demand, slot)) return {};
  // Most nodes have no room for even one.
  const NodeState* state = store_.accounts().at_slot(slot);
  if (!evicting && alike && state != nullptr && first.demand != nullptr &&
      !allocator_.check(*state, store_.facts(slot).labels(), *first.demand).fits())
    return {};
  return place_together(store_.accounts().types(), allocator_,
                        room(group, node, evicting ? &pod : nullptr), seekers, alike);
}

std::vector<Placement> GroupPlacer::look_at_all(const GroupAttempt& group, Pod pod,
                                                bool evicting) const {
  plans_.add(1);
  std::vector<Placement> by_slot(host_.slot_count());
  for (uint32_t slot = 0; slot < by_slot.size(); ++slot)
    by_slot[slot] = place(group, pod, slot, group.seekers, group.alike, evicting);
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
  for (size_t i = 0; i < nodes.size(); ++i) {
    const uint32_t slot = nodes[i].slot();
    int64_t rank = 0;
    if (group.own_slot != kNoSlot)
      rank = slot == group.own_slot ? kMaxScore : has(group.fellows, slot) ? kMaxScore / 2 : 0;
    else if (slot < group.by_slot.size())
      rank = score_placement(group.by_slot[slot], group.seekers.size(), has(group.fellows, slot));
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
  const Seeker self = seeker(pod, nullptr);
  const GroupKeeper::Group& members = *groups.find(group.key);
  const auto held_here = [&](const std::string& uid, const GroupKeeper::Member& member) {
    if (!member.hold || member.hold->node != node.name()) return false;
    if (uid == self.uid) return true;
    const Pod other = host_.pod_by_uid(uid);
    return other && seeker(other, nullptr).shape == self.shape;
  };
  std::string taken_from;
  for (const auto& [uid, member] : members.members)
    if (held_here(uid, member) && (taken_from.empty() || uid == self.uid)) taken_from = uid;
  if (!taken_from.empty()) {
    if (choose(kept_to(state, *groups.held(taken_from)), allocation).fits()) {
      const auto own = members.members.find(self.uid);
      std::string own_node;
      Allocation own_devices;
      if (taken_from != self.uid && own->second.hold) {
        own_node = own->second.hold->node;
        own_devices = *groups.held(self.uid);
      }
      groups.drop_hold(group.key, self.uid);
      groups.drop_hold(group.key, taken_from);
      if (!own_node.empty()) groups.hold(group.key, taken_from, own_node, std::move(own_devices));
      return {};
    }
  }
  // The first one of the group here: its place is the one that it has among all that fit.
  const Placement placement = place(group, pod, node.slot(), group.seekers, group.alike, false);
  if (placement.gives(0) && !placement.given[0]->empty() &&
      choose(kept_to(real, *placement.given[0]), allocation).fits())
    return {};
  if (const Verdict verdict = choose(real, allocation); verdict.fits()) return verdict;
  // Only what is held for other members is left: they look for another place.
  return choose(state, allocation);
}

void GroupPlacer::hold_on(const GroupAttempt& group, uint32_t slot, Pod pod,
                          Seekers& seekers) const {
  const NodeState* state = store_.accounts().at_slot(slot);
  if (seekers.empty() || state == nullptr || state->unmanaged()) return;
  const Placement placement = place(group, pod, slot, seekers, all_alike(seekers), false);
  if (placement.count == 0) return;
  const std::string node(host_.node(slot).name());
  for (size_t i = 0; i < seekers.size(); ++i)
    if (placement.gives(i))
      store_.groups().hold(group.key, seekers[i].uid, node, *placement.given[i]);
  drop_placed(placement, seekers);
}

void GroupPlacer::hold_for_others(const GroupAttempt& group, Pod pod, Node node) const {
  GroupKeeper& groups = store_.groups();
  const GroupKeeper::Group* members = groups.of(pod);
  if (members == nullptr || members->complete()) return;
  Seekers others;
  for (const Seeker& other : group.seekers)
    if (other.uid != pod.uid() && other.demand != nullptr) others.push_back(other);
  std::set<std::string> dropped;
  // What was held on this node may have been taken by the pod, which had its own elsewhere or none.
  const NodeState* state = store_.accounts().at_slot(node.slot());
  if (state != nullptr && has(group.hold_slots, node.slot())) {
    for (const auto& [uid, member] : members->members) {
      if (!member.hold || member.hold->node != node.name()) continue;
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
    for (const Seeker& other : others)
      if (groups.drop_hold(group.key, other.uid)) dropped.insert(other.uid);
  }
  hold_on(group, node.slot(), pod, others);
  for (const uint32_t slot : group.fellows) hold_on(group, slot, pod, others);
  // Further nodes only where this pod could have been: others may be kept away by what is not
  // known here.
  for (const uint32_t slot : in_order(group.by_slot, group.seekers.size()))
    if (has(group.feasible, slot)) hold_on(group, slot, pod, others);
  // Who is left among the others has nothing held any more.
  const auto was_dropped = [&](const Seeker& left) { return dropped.contains(left.uid); };
  if (std::any_of(others.begin(), others.end(), was_dropped)) host_.requeue_rejected();
}

}  // namespace plimsoll::devices

#include "plugins/nodedevice/placing/group_placer.hpp"

#include <algorithm>
#include <utility>

#include "plugins/nodedevice/accounts/pod_reading.hpp"

namespace plimsoll::devices {
namespace {

using sdk::Node;
using sdk::Pod;

constexpr int64_t kMaxScore = 100;
// For pods of all shapes together. Whoever makes up a group's pods may give each a shape of its
// own: those beyond are scored by where the others are.
constexpr size_t kMostLooks = 50'000;

int64_t devices_asked(const Seekers& seekers) {
  int64_t count = 0;
  for (const TypeRequest& request : seekers.demand->request.types) count += request.count;
  return count;
}

Seekers seekers_like(Pod pod, std::shared_ptr<const PodDemand> demand, std::string shape) {
  Seekers made;
  made.demand = std::move(demand);
  made.shape = std::move(shape);
  made.requests.emplace_back(PLIMSOLL_RESOURCE_PODS, 1);
  for (const plimsoll_resource& request : pod.requests())
    if (request.index != PLIMSOLL_RESOURCE_PODS)
      made.requests.emplace_back(request.index, request.value);
  return made;
}

// Allocatable minus requested.
std::vector<int64_t> free_on(Node node) {
  std::vector<int64_t> free(node->resource_count);
  for (uint32_t i = 0; i < node->resource_count; ++i)
    free[i] = node->allocatable[i] - node->requested[i];
  constexpr auto kPods = PLIMSOLL_RESOURCE_PODS;
  if (kPods < free.size()) free[kPods] = node->allocatable[kPods] - node->pod_count;
  return free;
}

}  // namespace

size_t GroupPlan::next(uint32_t slot, size_t shape) const {
  const Spot& spot = spots[slot];
  for (size_t i = 0; i < spot.taken.size(); ++i)
    if (!spot.taken[i] && spot.placement.given[i].seekers == shape) return i;
  return kNothing;
}

GroupPlacer::GroupPlacer(const sdk::Host& host, DeviceStore& store, const Allocator& allocator,
                         const DemandReader& demands)
    : host_(host),
      store_(store),
      allocator_(allocator),
      demands_(demands),
      plans_(host.counter("pod_group_plans_total",
                          "How often all nodes were looked at for room for a pod group", {})) {}

std::string GroupPlacer::shape_of(Pod pod) const {
  std::string shape;
  for (const plimsoll_resource& request : pod.requests())
    shape += std::string(sdk::view(request.name)) + "=" + std::to_string(request.value) + ",";
  return shape + asked_by(store_.accounts().types(), pod);
}

void GroupPlacer::sign(Pod pod, sdk::Sink& sink) const {
  const uint64_t decision = groups_.on(pod);
  if (decision == 0) return;
  sink.put_value(static_cast<int64_t>(decision));
  sink.put_field(shape_of(pod));
}

GroupAttempt GroupPlacer::begin(Pod pod) {
  const uint64_t decision = groups_.on(pod);
  // Somebody may ask about another pod while a decision on a group pauses.
  if (decision == 0) return {};
  if (plan_ == nullptr || plan_->decision != decision) plan_ = make_plan(pod, decision);
  GroupAttempt made{plan_};
  const auto shape = plan_->shapes.find(shape_of(pod));
  if (shape != plan_->shapes.end()) made.shape = shape->second;
  return made;
}

std::shared_ptr<GroupPlan> GroupPlacer::make_plan(Pod pod, uint64_t decision) const {
  plans_.add(1);
  auto plan = std::make_shared<GroupPlan>();
  plan->decision = decision;
  plan->spots.resize(host_.slot_count());
  std::vector<Pod> members;
  groups_.each_member(pod, [&members](Pod member) { members.push_back(member); });
  std::map<std::string, Seekers> shapes;
  std::map<uint32_t, std::vector<Allocation>> near;
  for (const Pod member : members) {
    if (!member.node_name().empty()) {
      const Node node = host_.node(member.node_name());
      if (!node) continue;
      ++plan->spots[node.slot()].fellows;
      if (const Allocation* has = store_.accounts().allocation_of(member.uid()))
        near[node.slot()].push_back(*has);
      continue;
    }
    auto demand = demands_.read(member);
    if (demand == nullptr || demand->request.empty()) continue;
    ++plan->members;
    std::string shape = shape_of(member);
    Seekers& like = shapes[shape];
    if (like.count++ == 0) {
      like = seekers_like(member, std::move(demand), std::move(shape));
      like.count = 1;
    }
  }
  // Who asks for more is harder to place, and comes first.
  std::vector<Seekers> seekers;
  for (auto& [shape, like] : shapes) seekers.push_back(std::move(like));
  std::ranges::stable_sort(seekers, std::greater(), devices_asked);
  const size_t most = std::clamp<size_t>(kMostLooks / std::max(host_.slot_count(), 1U), 2, 64);
  if (seekers.size() > most) seekers.resize(most);
  for (size_t i = 0; i < seekers.size(); ++i) plan->shapes[seekers[i].shape] = i;

  // Equal nodes have room for the same.
  std::map<std::pair<uint32_t, std::vector<int64_t>>, Placement> known;
  for (uint32_t slot = 0; slot < plan->spots.size(); ++slot) {
    const Node node = host_.node(slot);
    if (!node) continue;
    const NodeState* state = store_.accounts().at_slot(slot);
    const auto here = near.find(slot);
    const uint32_t number = here == near.end() ? store_.numbers().of(slot) : 0;
    std::vector<int64_t> free = free_on(node);
    Placement& placement = plan->spots[slot].placement;
    const auto same = number == 0 ? known.end() : known.find({number, free});
    if (same != known.end()) {
      placement = same->second;
    } else {
      NodeRoom room;
      if (state != nullptr) room.devices = *state;
      room.labels = store_.facts(slot).labels();
      room.free = free;
      if (here != near.end()) room.near = std::move(here->second);
      placement = place_together(store_.accounts().types(), allocator_, room, seekers);
      if (number != 0) known.emplace(std::pair(number, std::move(free)), placement);
    }
    plan->spots[slot].taken.resize(placement.given.size());
  }
  return plan;
}

void GroupPlacer::score(const GroupAttempt& group, sdk::Nodes nodes, int64_t most,
                        std::span<int64_t> scores) {
  const GroupPlan& plan = *group.plan;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const uint32_t slot = nodes[i].slot();
    const GroupPlan::Spot& spot = plan.spots[slot];
    int64_t rank = spot.fellows > 0 ? kMaxScore / 2 : 0;
    if (plan.next(slot, group.shape) != GroupPlan::kNothing) {
      rank = spot.reserved > 0 ? kMaxScore
                               : score_placement(spot.placement, plan.members, spot.fellows > 0);
    }
    scores[i] = 20 * rank + kMaxScore * scores[i] / most;
  }
}

const Allocation* GroupPlacer::chosen(const GroupAttempt& group, uint32_t slot) {
  if (group.plan == nullptr) return nullptr;
  const size_t next = group.plan->next(slot, group.shape);
  return next == GroupPlan::kNothing ? nullptr
                                     : &group.plan->spots[slot].placement.given[next].devices;
}

void GroupPlacer::reserved(const GroupAttempt& group, Pod pod, uint32_t slot) {
  if (group.plan == nullptr || group.plan != plan_) return;
  GroupPlan::Spot& spot = plan_->spots[slot];
  const size_t seat = plan_->next(slot, group.shape);
  if (seat != GroupPlan::kNothing) spot.taken[seat] = true;
  ++spot.fellows;
  ++spot.reserved;
  plan_->seats[std::string(pod.uid())] = {slot, seat};
  host_.touch_node(slot);
}

void GroupPlacer::unreserved(Pod pod) {
  if (plan_ == nullptr) return;
  const auto known = plan_->seats.find(pod.uid());
  if (known == plan_->seats.end()) return;
  const auto [slot, seat] = known->second;
  GroupPlan::Spot& spot = plan_->spots[slot];
  if (seat != GroupPlan::kNothing) spot.taken[seat] = false;
  --spot.fellows;
  --spot.reserved;
  plan_->seats.erase(known);
  host_.touch_node(slot);
}

}  // namespace plimsoll::devices

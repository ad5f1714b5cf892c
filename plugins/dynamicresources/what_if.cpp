#include <algorithm>
#include <set>

#include "plugins/dynamicresources/dynamicresources.hpp"

// The part of DynamicResources that is about what-ifs: preemption, and room for nominated pods.
namespace plimsoll::dra {

using sdk::List;
using sdk::Pod;
using sdk::Status;
using sdk::view;

namespace {

bool may_have_devices(const plimsoll_pod& pod) {
  return pod.claims.count != 0 || pod.extended_claim.len != 0;
}

std::vector<ClaimStore::Key> claims_of(Pod pod) {
  std::vector<ClaimStore::Key> keys;
  for (const auto& each : List<plimsoll_pod_claim>(pod->claims)) {
    if (each.claim.len != 0) keys.emplace_back(pod.ns(), view(each.claim));
  }
  if (pod->extended_claim.len != 0) keys.emplace_back(pod.ns(), view(pod->extended_claim));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace

Status DynamicResources::add_pod(plimsoll_cycle& cycle, Pod, Pod added, sdk::Node node) {
  State* state = host_.state<State>(cycle);
  if (state == nullptr) return Status();
  const auto is_it = [&](const Moved& each) { return each.uid == added.uid(); };
  // One that comes back has what it had.
  if (std::erase_if(state->moved, is_it) != 0) return Status();
  std::vector<Given> gets = devices_for(*state, added, node);
  // Also one that gets none by itself: once it is taken away again, it never was there.
  if (may_have_devices(*added.operator->()) || !gets.empty())
    state->moved.push_back({std::string(added.uid()), true, {}, std::move(gets)});
  return Status();
}

Status DynamicResources::remove_pod(plimsoll_cycle& cycle, Pod, Pod removed, sdk::Node) {
  State* state = host_.state<State>(cycle);
  if (state == nullptr) return Status();
  const auto is_it = [&](const Moved& each) { return each.uid == removed.uid(); };
  if (std::erase_if(state->moved, is_it) != 0) return Status();
  std::vector<ClaimStore::Key> claims = claims_of(removed);
  if (!claims.empty())
    state->moved.push_back({std::string(removed.uid()), false, std::move(claims), {}});
  return Status();
}

// A claim loses its devices when nobody is left who has it, unless the pod itself needs it.
std::unique_ptr<ClaimStore::Other> DynamicResources::as_moved(const State& state) const {
  std::vector<std::string_view> away;
  for (const Moved& each : state.moved) {
    if (!each.added) away.push_back(each.uid);
  }
  std::set<ClaimStore::Key> looked_at;
  for (const Wanted& own : state.attempt->claims) looked_at.emplace(own.ns, own.name);
  std::vector<DeviceResult> gone, there;
  for (const Moved& each : state.moved) {
    for (const Given& got : each.gets)
      there.insert(there.end(), got.devices.begin(), got.devices.end());
    for (const ClaimStore::Key& key : each.claims) {
      const ClaimStore::Entry* claim = store_->find(key.first, key.second);
      if (claim == nullptr || !looked_at.insert(key).second || !claim->used_only_by(away)) continue;
      gone.insert(gone.end(), claim->results().begin(), claim->results().end());
    }
  }
  return store_->otherwise(std::move(gone), std::move(there));
}

const DynamicResources::Given* DynamicResources::given(const State& state, const Claim& claim) {
  for (const Moved& each : state.moved) {
    for (const Given& got : each.gets) {
      if (got.claim.first == claim.space && got.claim.second == claim.name) return &got;
    }
  }
  return nullptr;
}

// What a pod that comes to the node takes there, if it has no devices yet: those that it would get.
// A claim that it shares with one that came before has its devices.
std::vector<DynamicResources::Given> DynamicResources::devices_for(const State& state, Pod added,
                                                                   sdk::Node node) const {
  Attempt attempt;
  const std::string problem = each_claim(added, [&](const ClaimStore::Entry& claim) {
    if (!claim.allocated() && !claim.in_flight() && given(state, *claim.asks) == nullptr)
      attempt.asks.push_back(claim.asks.get());
  });
  attempt.extended = extended_of(added);
  if (store_->extended_claim(added.uid())) attempt.extended.clear();
  const std::optional<std::string> which = from_devices(attempt, node);
  if (!problem.empty() || !which) return {};
  Variant made;
  add_asks(attempt, added, *which, made);
  if (made.asks.empty()) return {};
  const std::scoped_lock lock(state.attempt->lock);
  const std::unique_ptr<ClaimStore::Other> moved = as_moved(state);
  const std::unique_ptr<Allocator> allocator = store_->allocator(made.asks);
  const Node here = node_of(node);
  const Outcome outcome = allocator->allocate(here);
  if (outcome.kind != Outcome::Kind::kAllocated) return {};
  std::vector<Allocation> allocations =
      allocator->allocations(outcome, here.name, [] { return "share"; });
  std::vector<Given> gets;
  for (size_t i = 0; i < allocations.size(); ++i) {
    const Claim& of = *made.asks[i];
    // Each pod has its own claim for extended resources.
    gets.push_back({{of.space, &of == &made.claim ? std::string() : of.name},
                    std::move(allocations[i].results)});
  }
  return gets;
}

Status DynamicResources::refused(const State& state, Pod pod, sdk::Node node,
                                 uint32_t reason) const {
  // Zones that come free cannot be foretold.
  const bool may_preempt = args_.order != ClaimArgs::Order::kRequire;
  const auto pods = node.pods();
  if (may_preempt && std::any_of(pods.begin(), pods.end(), [&](const plimsoll_pod* other) {
        return other->priority < pod->priority && may_have_devices(*other);
      }))
    return Status::unschedulable(reason);
  // Its victims are gone; their claims have not given the devices back yet.
  if (state.moved.empty() && view(pod->nominated_node_name) == node.name())
    return Status::pending(reason);
  return Status::unresolvable(reason);
}

}  // namespace plimsoll::dra

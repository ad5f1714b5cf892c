// What resource claims have of the zones (KEP-5517). Drivers give it away, not kubelets: it is
// charged where the claim says, whatever reports show. Where the switch is off pods ask for the
// same once more; then the kubelet's managers are thought to be asked for the rest only.

#include <algorithm>
#include <utility>

#include "plugins/topology/ledger/ledger.hpp"
#include "plugins/topology/record/own_claims.hpp"

namespace plimsoll::topology {
namespace {

bool equal(const std::vector<Charge>& a, const std::vector<Charge>& b) {
  return std::ranges::equal(a, b, [](const Charge& one, const Charge& other) {
    return one.zone_id == other.zone_id && one.resource == other.resource &&
           one.amount == other.amount;
  });
}

}  // namespace

bool Ledger::adds_claims(const plimsoll_pod& pod) {
  return PLIMSOLL_HAS(&pod, claim_amounts) && pod.claim_amounts.count != 0;
}

bool Ledger::tell_of_claims(NodeRecord& node, PodRecord& pod, const plimsoll_pod& object) {
  pod.adds_claims = adds_claims(object);
  if (!node.has_claims(pod.key)) return false;
  ask_for_the_rest(node, pod);
  return true;
}

bool Ledger::has_room(NodeRecord& node, const plimsoll_pod& pod, Inquiry& inquiry) {
  if (ask().judge(node.slot, inquiry).fits()) return true;
  if (!PLIMSOLL_HAS(&pod, claims)) return false;
  std::vector<std::string> names{"pod " + std::string(sdk::view(pod.meta.uid))};
  for (const auto& each : sdk::List<plimsoll_pod_claim>(pod.claims)) {
    names.push_back(std::string(sdk::view(pod.meta.ns)) + "/" + std::string(sdk::view(each.claim)));
  }
  std::vector<std::pair<HeldAt*, NodeRecord::Claims::node_type>> own;
  for (const std::string& name : names) {
    const auto held = holders_.find(name);
    if (held == holders_.end() || held->second.node != &node) continue;
    own.emplace_back(&held->second, node.claims.extract(held->second.claim));
  }
  if (own.empty()) return false;
  const bool fits = ask().judge_changed(node.slot, inquiry, {}, {}, 0).fits();
  for (auto& [held, claim] : own) held->claim = node.claims.insert(std::move(claim));
  return fits;
}

void Ledger::replace(Holding now, std::map<std::string_view, Concerned>& concerned) {
  const PodKey again = now.again.empty() ? PodKey{} : PodKey::of(now.again);
  if (const auto known = holders_.find(now.holder); known != holders_.end()) {
    const auto [node, claim] = known->second;
    if (node->name == now.node && claim->first == again && equal(claim->second, now.charges))
      return;
    Concerned& left = concerned[node->name];
    left.node = node;
    left.ease = Ease::kYes;
    left.pods.insert(claim->first);
    node->claims.erase(claim);
    holders_.erase(known);
  }
  if (now.charges.empty()) return;
  NodeRecord& node = nodes_.made(now.node);
  Concerned& there = concerned[node.name];
  there.node = &node;
  there.pods.insert(again);
  holders_.emplace(now.holder, HeldAt{&node, node.claims.emplace(again, std::move(now.charges))});
}

void Ledger::hold(std::vector<Holding> all, int64_t now_ms) {
  now_ms_ = now_ms;
  std::map<std::string_view, Concerned> concerned;
  for (Holding& each : all) replace(std::move(each), concerned);
  if (concerned.empty()) return;
  ++event_;
  std::vector<NodeRecord*> left;
  for (const auto& [name, change] : concerned) {
    NodeRecord& node = *change.node;
    for (PodRecord& pod : node.pods) {
      if (change.pods.contains(pod.key)) ask_for_the_rest(node, pod);
    }
    planner_.replan(node);
    touch(node, change.ease);
    if (change.ease == Ease::kNo) continue;
    left.push_back(&node);
    if (node.slot != UINT32_MAX) changes_.freed.push_back(node.slot);
  }
  for (NodeRecord* node : left) forget_if_idle(*node);
}

}  // namespace plimsoll::topology

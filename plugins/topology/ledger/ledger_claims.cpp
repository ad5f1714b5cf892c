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

void Ledger::hold(std::string_view holder, std::string_view node_name, std::string_view again,
                  std::vector<Charge> charges, int64_t now_ms) {
  now_ms_ = now_ms;
  const auto known = holders_.find(holder);
  ClaimHeld now{again.empty() ? PodKey{} : PodKey::of(again), std::move(charges)};
  ClaimHeld before;
  NodeRecord* left = known == holders_.end() ? nullptr : known->second;
  if (left != nullptr) {
    const ClaimHeld& has = left->claims.find(holder)->second;
    const bool stays = left->name == node_name && has.again == now.again;
    if (stays && equal(has.charges, now.charges)) return;
    before = std::move(left->claims.extract(left->claims.find(holder)).mapped());
    holders_.erase(known);
  }
  NodeRecord* node = now.charges.empty() ? nullptr : &nodes_.made(node_name);
  if (left == nullptr && node == nullptr) return;
  ++event_;
  const PodKey after = now.again;
  if (node != nullptr) {
    node->claims.emplace(holder, std::move(now));
    holders_.emplace(holder, node);
  }
  const auto change = [&](NodeRecord& at, Ease ease) {
    for (const PodKey& each : {before.again, after}) {
      if (PodRecord* pod = at.find(each)) ask_for_the_rest(at, *pod);
    }
    planner_.replan(at);
    touch(at, ease);
  };
  if (node != nullptr && node != left) change(*node, Ease::kNo);
  if (left == nullptr) return;
  change(*left, Ease::kYes);
  if (left->slot != UINT32_MAX) changes_.freed.push_back(left->slot);
  forget_if_idle(*left);
}

}  // namespace plimsoll::topology

// What resource claims have of the zones (KEP-5517). Drivers give it away, not kubelets: it is
// charged where the claim says, whatever reports show. Where the switch is off pods ask for the
// same once more; then the kubelet's managers are thought to be asked for the rest only.

#include <algorithm>
#include <utility>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/ledger/ledger.hpp"

namespace plimsoll::topology {
namespace {

using kubelet::ContainerDemand;
using kubelet::ContainerKind;
using kubelet::Needs;
using kubelet::PodDemand;

void add(Needs& needs, uint32_t resource, int64_t amount) {
  const auto at = std::ranges::find(needs, resource, &kubelet::Need::resource);
  if (at == needs.end()) {
    needs.push_back({resource, amount});
  } else {
    at->amount = add_amounts(at->amount, amount);
  }
}

int64_t lessen(int64_t& amount, int64_t by) {
  const int64_t gone = std::clamp<int64_t>(by, 0, std::max<int64_t>(amount, 0));
  amount -= gone;
  return gone;
}

// Of one container, and of its limits as much.
void lessen(ContainerDemand& container, kubelet::Need& held) {
  int64_t gone = 0;
  if (held.resource == kubelet::kCpuResource) {
    gone = lessen(container.cpu_milli, held.amount);
    lessen(container.cpu_limit_milli, gone);
  }
  for (kubelet::Need& need : container.memory) {
    if (need.resource != held.resource) continue;
    gone = lessen(need.amount, held.amount);
    if (need.resource == kubelet::kMemoryResource) lessen(container.memory_limit, gone);
  }
  held.amount -= gone;
}

// What a pod asks for besides what its claims have. Whoever asks for less than that does not ask
// for it again. Plain init containers ask before the others.
std::shared_ptr<const PodDemand> rest_of(const PodDemand& asks, const Needs& held) {
  auto rest = std::make_shared<PodDemand>(asks);
  for (const kubelet::Need& one : held) {
    PodDemand less = *rest;
    kubelet::Need left = one;
    for (ContainerDemand& container : less.containers) {
      kubelet::Need all = one;
      lessen(container, container.kind == ContainerKind::kInit ? all : left);
    }
    bool again = left.amount == 0;
    if (one.resource == kubelet::kCpuResource)
      again = lessen(less.pod_cpu_milli, one.amount) == one.amount || again;
    for (kubelet::Need& need : less.pod_memory) {
      if (need.resource == one.resource)
        again = lessen(need.amount, one.amount) == one.amount || again;
    }
    if (again) *rest = std::move(less);
  }
  rest->prepare();
  return rest;
}

// The kubelet's managers are asked for what the pod asks for less what its claims have.
void ask_for_the_rest(const NodeRecord& node, PodRecord& pod) {
  if (!pod.demand) return;
  Needs held;
  for (const auto& [holder, claim] : node.claims) {
    if (pod.adds_claims || claim.again != pod.key) continue;
    for (const Charge& one : claim.charges) add(held, one.resource, one.amount);
  }
  if (held.empty()) {
    if (pod.whole) pod.demand = std::exchange(pod.whole, nullptr);
    return;
  }
  if (!pod.whole) pod.whole = pod.demand;
  pod.demand = rest_of(*pod.whole, held);
  pod.annotated = false;  // the annotation names what claims have, too
  if (!pod.covered) pod.charges.clear();
}

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

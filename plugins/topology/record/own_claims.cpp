#include "plugins/topology/record/own_claims.hpp"

#include <algorithm>
#include <utility>

#include "plugins/topology/base/amount.hpp"

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

// Whoever asks for less than its claims have does not ask for it again. Plain init containers ask
// before the others.
AskedAgain lessened(const PodDemand& asks, const Needs& held) {
  auto rest = std::make_shared<PodDemand>(asks);
  AskedAgain result;
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
    if (!again) continue;
    *rest = std::move(less);
    result.resources.push_back(one.resource);
  }
  if (result.resources.empty()) return result;
  rest->prepare();
  result.rest = std::move(rest);
  return result;
}

}  // namespace

AskedAgain asked_again(const NodeRecord& node, const PodKey& pod, const PodDemand& asks) {
  Needs held;
  const auto [begin, end] = node.claims.equal_range(pod);
  for (auto claim = begin; claim != end; ++claim) {
    for (const Charge& one : claim->second) add(held, one.resource, one.amount);
  }
  return held.empty() ? AskedAgain() : lessened(asks, held);
}

void ask_for_the_rest(const NodeRecord& node, PodRecord& pod) {
  if (!pod.demand) return;
  AskedAgain again;
  if (!pod.adds_claims) again = asked_again(node, pod.key, *pod.asks());
  if (again.rest == nullptr) {
    if (pod.whole) pod.demand = std::exchange(pod.whole, nullptr);
    return;
  }
  if (!pod.whole) pod.whole = pod.demand;
  pod.demand = std::move(again.rest);
  pod.annotated = false;  // the annotation names what claims have, too
  if (!pod.covered) pod.charges.clear();
}

}  // namespace plimsoll::topology

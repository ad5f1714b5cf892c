// A pod beside bindings under way, without playing every order in which a kubelet may see them.
//
// If each pod that is on its way, and the new one, finds all it asks for in one zone of the node as
// it was before any of them came, and there is room in these zones for all of them, then each of
// them gets that zone in every order: when its turn comes, zones below have no room for it still,
// since they only lost some, and its own has room whoever came before.

#include <algorithm>

#include "plugins/topology/ledger.hpp"

namespace plimsoll::topology {

// Whether that holds of the pods on their way. Asked once after each change of the node.
bool Ledger::others_land_side_by_side(const NodeRecord& node, const kubelet::Brief& brief) {
  using Beside = NodeRecord::Beside;
  const Beside known = node.beside.load(std::memory_order_relaxed);
  if (known != Beside::kUnknown) return known == Beside::kYes;
  const Since& since = node.since;
  const auto counts = std::span(since.base.counts(), node.model->groups_at);
  std::vector<int64_t> left(counts.begin(), counts.end());
  bool side_by_side = true;
  for (const Step& step : since.steps) {
    const Subject& subject = since.subjects[step.subject];
    side_by_side = step.kind == Step::Kind::kAdmit && !step.optional && subject.held == nullptr;
    if (!side_by_side) break;
    const kubelet::QuickPlan plan(*node.model, *subject.demand);
    const bool plain = plan.is_plain() && plan.has_affinity() && !plan.says_nothing(brief);
    const uint32_t zone = plain ? plan.zone_of(counts.data()) : kubelet::QuickPlan::kNoZone;
    side_by_side = zone != kubelet::QuickPlan::kNoZone;
    if (!side_by_side) break;
    plan.take(left.data(), zone);
  }
  // What is left is what all of them leave, whatever the order.
  side_by_side =
      side_by_side && std::equal(left.begin(), left.end(), since.worlds.front().counts());
  side_by_side =
      side_by_side && std::all_of(left.begin(), left.end(), [](int64_t each) { return each >= 0; });
  node.beside.store(side_by_side ? Beside::kYes : Beside::kNo, std::memory_order_relaxed);
  return side_by_side;
}

// False: it is not that simple.
bool Ledger::lands_side_by_side(const NodeRecord& node, Inquiry& pod) {
  const Since& since = node.since;
  if (since.unbound.empty() || since.blurred || since.open_ended || since.lost != 0) return false;
  if (since.worlds.size() != 1 || pod.scratch.uses_full_lists()) return false;
  const kubelet::QuickPlan& plan = pod.plans.of(*node.model, *pod.demand);
  if (!plan.is_plain() || !plan.has_affinity()) return false;
  const uint32_t zone = plan.zone_of(since.base.counts());
  if (zone == kubelet::QuickPlan::kNoZone) return false;
  if (plan.zone_of(since.worlds.front().counts()) != zone) return false;
  const kubelet::Brief brief(*node.model, since.base);
  return !plan.says_nothing(brief) && others_land_side_by_side(node, brief);
}

}  // namespace plimsoll::topology

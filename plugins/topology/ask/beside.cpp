#include "plugins/topology/ask/beside.hpp"

#include <algorithm>

namespace plimsoll::topology {
namespace {

// Whether that holds of the pods on their way.
bool others_land_side_by_side(const NodeRecord& node, const Since& since,
                              const kubelet::Brief& brief) {
  const auto counts = std::span(since.sure.counts(), node.report.model->groups_at);
  std::vector<int64_t> left(counts.begin(), counts.end());
  bool side_by_side = true;
  for (const auto& [key, demand] : since.under_way) {
    const kubelet::QuickPlan plan(*node.report.model, *demand);
    const bool plain = plan.is_plain() && plan.has_affinity() && !plan.says_nothing(brief);
    const uint32_t zone = plain ? plan.zone_of(counts.data()) : kubelet::QuickPlan::kNoZone;
    side_by_side = zone != kubelet::QuickPlan::kNoZone;
    if (!side_by_side) break;
    plan.take(left.data(), zone);
  }
  // What is left is what all of them leave, whatever the order.
  side_by_side = side_by_side && std::equal(left.begin(), left.end(), since.likely.counts());
  return side_by_side &&
         std::all_of(left.begin(), left.end(), [](int64_t each) { return each >= 0; });
}

// The same of the node as it is: worked out once after each of its changes.
bool others_land_side_by_side(const NodeRecord& node, const kubelet::Brief& brief) {
  using Beside = NodeRecord::Beside;
  const Beside known = node.beside.load(std::memory_order_relaxed);
  if (known != Beside::kUnknown) return known == Beside::kYes;
  const bool side_by_side = others_land_side_by_side(node, node.since, brief);
  node.beside.store(side_by_side ? Beside::kYes : Beside::kNo, std::memory_order_relaxed);
  return side_by_side;
}

}  // namespace

bool lands_side_by_side(const NodeRecord& node, const Since& since, Inquiry& pod) {
  if (since.under_way.empty() || !since.bound.empty() || since.grows != Grows::kNo) return false;
  if (pod.scratch.uses_full_lists()) return false;
  const kubelet::QuickPlan& plan = pod.plans.of(*node.report.model, *pod.demand);
  if (!plan.is_plain() || !plan.has_affinity()) return false;
  const uint32_t zone = plan.zone_of(since.sure.counts());
  if (zone == kubelet::QuickPlan::kNoZone) return false;
  if (plan.zone_of(since.likely.counts()) != zone) return false;
  const kubelet::Brief brief(*node.report.model, since.sure);
  if (plan.says_nothing(brief)) return false;
  return &since == &node.since ? others_land_side_by_side(node, brief)
                               : others_land_side_by_side(node, since, brief);
}

}  // namespace plimsoll::topology

// The end of a decision on a pod that HTTP extenders are interested in: of the nodes that passed
// all filters, those that extenders approved of, with their scores. Kubernetes:
// findNodesThatPassExtenders and the extenders' part of prioritizeNodes.

#include <algorithm>
#include <set>
#include <utility>

#include "framework/placement/placer.hpp"
#include "framework/placement/timing.hpp"

namespace plimsoll {
namespace {

// Reasons are an extender's own words: a message names so many different ones.
constexpr size_t kMostReasons = 32;
constexpr std::string_view kOtherReasons = "node(s) were refused by extenders for other reasons";

struct Rows {
  std::vector<const plimsoll_node_info*> rows;
  std::vector<uint32_t> slots;

  void add(const plimsoll_node_info* row, uint32_t slot) {
    rows.push_back(row);
    slots.push_back(slot);
  }
  [[nodiscard]] NodeRows view(const plimsoll_columns* columns) const {
    return {rows, slots, columns};
  }
};

}  // namespace

void Placer::decide_extended(const PlacementQuery& query, Evaluation& result,
                             Placement& placement) {
  const bool by_class = result.whole && !result.check;
  const NodeRows feasible = by_class ? result.table->feasible() : result.feasible;
  Rows approved;
  Rows refused;
  for (size_t i = 0; i < feasible.size(); ++i) {
    const ExtenderVerdict* said = query.answers->find(*feasible[i]->node);
    if (said == nullptr) {
      placement.to_ask.push_back(cluster_.node_at(feasible.slot(i))->node());
    } else {
      (said->refused ? refused : approved).add(feasible[i], feasible.slot(i));
    }
  }
  if (!approved.rows.empty()) {
    placement.to_ask.clear();  // those it was asked about are enough
    const NodeRows rows = approved.view(&cluster_.columns());
    placement.node = select_extended(query, rows, placement.status);
  } else if (placement.to_ask.empty()) {
    refuse_extended(query, refused.view(&cluster_.columns()), result);
    placement.status = std::move(result.status);
  }
}

const plimsoll_node_info* Placer::select_extended(const PlacementQuery& query, NodeRows approved,
                                                  Status& status) {
  last_chosen_.resize(std::max<size_t>(last_chosen_.size(), cluster_.slot_count()), 0);
  const plimsoll_node_info* chosen = approved.front();
  if (approved.size() > 1) {
    status = timed(query.framework, metrics::Point::kPreScore,
                   [&] { return query.framework.run_pre_score(query.cycle, query.pod, approved); });
    if (!status.ok()) return nullptr;
    ScoreTable& scores = room_.scores;
    status = timed(query.framework, metrics::Point::kScore, [&] {
      return query.framework.run_score(query.cycle, query.pod, approved, scores);
    });
    if (!status.ok()) return nullptr;
    for (size_t i = 0; i < approved.size(); ++i) {
      scores.totals[i] += query.answers->find(*approved[i]->node)->score;
    }
    chosen = best_of(approved, scores.totals);
  }
  last_chosen_[chosen->slot] = ++choices_;
  return chosen;
}

// Extenders refused all that filters passed. PostFilter hears of it as of any refusal.
void Placer::refuse_extended(const PlacementQuery& query, NodeRows refused, Evaluation& result) {
  const NodeRows all = all_nodes();
  if (result.whole && !result.check) {
    result.table->diagnose(result.diagnosis);
    room_.verdicts.codes.resize(all.size());
    result.table->copy_codes(all, room_.verdicts.codes);
  } else if (result.looked_at.size() < all.size()) {
    spread_verdicts(result.looked_at, all, room_.verdicts);
  }
  std::set<std::string_view> told;
  const std::vector<uint32_t>& slots = cluster_.row_slots();  // they rise
  for (size_t i = 0; i < refused.size(); ++i) {
    const ExtenderVerdict& said = *query.answers->find(*refused[i]->node);
    const auto at = std::lower_bound(slots.begin(), slots.end(), refused.slot(i)) - slots.begin();
    room_.verdicts.codes[static_cast<size_t>(at)] =
        said.unresolvable ? PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE : PLIMSOLL_UNSCHEDULABLE;
    if (said.reason.empty()) continue;
    const bool named = told.contains(said.reason) || told.size() < kMostReasons;
    if (named) told.insert(said.reason);
    result.diagnosis.texts.emplace_back(named ? std::string_view(said.reason) : kOtherReasons);
  }
  result.diagnosis.rejectors.insert(query.framework.extender_index());
  result.status.code = Code::kUnschedulable;
  const std::vector<uint8_t> codes = room_.verdicts.codes;  // PostFilter may need the room
  run_post_filters(query, all, codes, result);
  result.status.code = Code::kUnschedulable;
}

}  // namespace plimsoll

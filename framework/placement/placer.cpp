// One decision: from PreFilter to the choice of a node. Kubernetes: schedulePod,
// findNodesThatFitPod, prioritizeNodes and selectHost in pkg/scheduler/schedule_one.go.

#include "framework/placement/placer.hpp"

#include <algorithm>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/base/log.hpp"
#include "framework/placement/timing.hpp"
#include "framework/placement/what_if.hpp"
#include "framework/runtime/score_loops.hpp"

namespace plimsoll {
namespace {

bool has_post_filters(const PlacementQuery& query) {
  return query.post_filter && !query.framework.at(ExtensionPoint::kPostFilter).empty();
}

// Of nodes of the cluster with columns; they rise.
std::span<const uint32_t> slots_of(NodeRows rows) {
  return {rows.abi().slots, rows.size()};
}

bool has_slot(NodeRows rows, uint32_t slot) {
  return std::ranges::binary_search(slots_of(rows), slot);
}

}  // namespace

Placement Placer::decide(const PlacementQuery& query) {
  Evaluation result;
  evaluate(query, result);
  Placement placement;
  if (query.answers != nullptr && result.status.ok()) {
    decide_extended(query, result, placement);
  } else {
    placement.status = std::move(result.status);
    if (placement.status.ok()) placement.node = select(query, result, placement.status);
  }
  placement.diagnosis = std::move(result.diagnosis);
  placement.nominating = std::move(result.nominating);
  return placement;
}

void Placer::evaluate(const PlacementQuery& query, Evaluation& result) {
  const NodeRows all = query.among != nullptr ? *query.among : all_nodes();
  Diagnosis& diagnosis = result.diagnosis;
  diagnosis.node_count = all.size();
  if (all.empty()) {
    result.status.code = Code::kUnschedulableAndUnresolvable;
    result.status.error = kNoNodesMessage;
    return;
  }
  PreFilterOutcome outcome = timed(query.framework, metrics::Point::kPreFilter, [&] {
    return query.framework.run_pre_filter(query.cycle, query.pod);
  });
  for (const PluginIndex plugin : outcome.narrowed_by) diagnosis.rejectors.insert(plugin);
  if (!outcome.status.ok()) {
    result.status = outcome.status;
    if (!outcome.status.rejected()) return;
    diagnosis.pre_filter_message = outcome.status.message(reasons_);
    diagnosis.add_rejector(outcome.status);
    std::vector<uint8_t>& codes = room_.verdicts.codes;
    codes.assign(all.size(), static_cast<uint8_t>(outcome.status.code));
    run_post_filters(query, all, codes, result);
    return;
  }
  if (fits_nominated_node(query, outcome, result)) return;

  const metrics::PointTimer filter_timer(query.framework.metrics(), metrics::Point::kFilter);
  if (!outcome.narrowed) {
    ask_class(query, result);
    result.whole = result.whole && query.among == nullptr;
    if (result.whole && !result.check) {
      filter_timer.end(PLIMSOLL_SUCCESS);
      if (result.table->feasible_count() != 0) return;
      result.table->diagnose(diagnosis);
      result.status.code = Code::kUnschedulable;
      if (!has_post_filters(query)) return;
      std::vector<uint8_t>& codes = room_.verdicts.codes;
      codes.resize(all.size());
      result.table->copy_codes(all, codes);
      run_post_filters(query, all, codes, result);
      return;
    }
  }
  // One verdict for each node that is looked at; what PreFilter leaves out is out for good, and a
  // pod that is pinned to one of many nodes costs no look at the others.
  const NodeRows rows = outcome.narrowed ? named_nodes(outcome, all) : all;
  result.looked_at = rows;
  if (rows.size() < all.size() && outcome.absent_nodes.reason != 0) {
    diagnosis.nodes_by_reason[outcome.absent_nodes.reason] += all.size() - rows.size();
  }
  Columns& columns = room_.verdicts;
  columns.reset(rows.size());
  if (copy_class_verdicts(query, rows, result, columns)) {
    if (result.check) check_verdicts(query, rows, result, columns);
  } else if (!rows.empty()) {
    result.status = run_filters_with_nominated(query.framework, query.cycle, query.pod, rows,
                                               columns.view(), cluster_, nominator_);
  }
  filter_timer.end(static_cast<int32_t>(result.status.code));
  if (!result.status.ok()) return;
  sum_up(rows, columns, result);
  if (!result.feasible.empty()) return;
  result.status.code = Code::kUnschedulable;
  if (outcome.narrowed) spread_verdicts(rows, all, columns);
  run_post_filters(query, all, columns.codes, result);
}

NodeRows Placer::all_nodes() const {
  return {cluster_.rows(), cluster_.row_slots(), &cluster_.columns()};
}

// Those of the nodes that PreFilter left, in slot order.
NodeRows Placer::named_nodes(const PreFilterOutcome& outcome, NodeRows all) {
  std::vector<uint32_t>& slots = room_.named_slots;
  slots.clear();
  for (const std::string& name : outcome.node_names) {
    const NodeInfo* node = cluster_.node(name);
    if (node != nullptr && has_slot(all, node->slot())) slots.push_back(node->slot());
  }
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  room_.named.clear();
  for (const uint32_t slot : slots) room_.named.push_back(cluster_.node_at(slot)->abi());
  return {room_.named, slots, &cluster_.columns()};
}

// From verdicts on some nodes to the codes of all: the others are out for good.
void Placer::spread_verdicts(NodeRows rows, NodeRows all, Columns& columns) {
  const std::span<const uint32_t> slots = slots_of(all);
  std::vector<uint8_t> codes(slots.size(), PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto at = std::lower_bound(slots.begin(), slots.end(), rows.slot(i)) - slots.begin();
    codes[static_cast<size_t>(at)] = columns.codes[i];
  }
  columns.codes = std::move(codes);
}

// The nodes that passed, and why the others did not. Neighbours mostly have the same answer.
void Placer::sum_up(NodeRows rows, const Columns& columns, Evaluation& result) {
  if (all_passed(columns.codes)) {
    result.feasible = rows;
    return;
  }
  Diagnosis& diagnosis = result.diagnosis;
  room_.feasible.resize(rows.size());
  room_.feasible_slots.resize(rows.size());
  size_t feasible = 0;
  uint32_t reason = 0;
  size_t nodes = 0;  // in a row with this reason
  uint8_t code = PLIMSOLL_SUCCESS;
  PluginIndex rejector = kNoPlugin;
  const auto note = [&] {
    if (nodes != 0 && reason != 0) diagnosis.nodes_by_reason[reason] += nodes;
    nodes = 0;
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    if (columns.codes[i] == PLIMSOLL_SUCCESS) {
      room_.feasible[feasible] = rows[i];
      room_.feasible_slots[feasible++] = rows.slot(i);
      continue;
    }
    if (columns.reasons[i] != reason) {
      note();
      reason = columns.reasons[i];
    }
    ++nodes;
    if (columns.codes[i] == code && columns.rejectors[i] == rejector) continue;
    code = columns.codes[i];
    rejector = columns.rejectors[i];
    auto& plugins = code == PLIMSOLL_PENDING ? diagnosis.pending : diagnosis.rejectors;
    if (rejector != kNoPlugin) plugins.insert(rejector);
  }
  note();
  room_.feasible.resize(feasible);
  room_.feasible_slots.resize(feasible);
  result.feasible = {room_.feasible, room_.feasible_slots, rows.columns()};
}

// The node that was cleared for the pod is most likely the only one that takes it: it is looked at
// alone, and if it still does, at no other. Kubernetes: evaluateNominatedNode.
bool Placer::fits_nominated_node(const PlacementQuery& query, const PreFilterOutcome& outcome,
                                 Evaluation& result) {
  const std::string_view name = view(query.pod.nominated_node_name);
  const NodeInfo* node = name.empty() ? nullptr : cluster_.node(name);
  if (node == nullptr) return false;
  if (query.among != nullptr && !has_slot(*query.among, node->slot())) return false;
  if (query.answers != nullptr) {
    const ExtenderVerdict* said = query.answers->find(*node->node());
    if (said != nullptr && said->refused) return false;
  }
  const auto& allowed = outcome.node_names;
  if (outcome.narrowed && std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
    return false;
  }
  const Status status =
      filter_with_nominated(query.framework, query.cycle, query.pod, *node, nominator_);
  if (status.ok()) {
    room_.feasible.assign(1, node->abi());
    room_.feasible_slots.assign(1, node->slot());
    result.feasible = {room_.feasible, room_.feasible_slots, &cluster_.columns()};
    return true;
  }
  if (status.is_error()) {
    log_error("the nominated node could not be looked at",
              {{"pod", full_name(query.pod)}, {"node", name}, {"error", status.message(reasons_)}});
  } else {
    result.diagnosis.add_rejector(status);
  }
  return false;
}

void Placer::run_post_filters(const PlacementQuery& query, NodeRows rows,
                              std::span<const uint8_t> codes, Evaluation& result) {
  if (!has_post_filters(query)) return;
  post_filtering_ = {};
  if (result.table != nullptr && query.nominated_to.empty()) {
    post_filtering_.table = result.table;
    post_filtering_.kept = result.table->dry_runs();
    post_filtering_.look_beyond = result.table->look_beyond();
    post_filtering_.check = result.check;
  }
  const PostFilterOutcome post = timed(query.framework, metrics::Point::kPostFilter, [&] {
    return query.framework.run_post_filters(query.cycle, query.pod, rows, codes);
  });
  result.diagnosis.post_filter_message = post.status.message(reasons_);
  const PluginMask& waiting = query.cycle.pending_in_what_ifs;
  const PluginIndex end = post.status.ok() || waiting.none() ? 0 : kMaxPlugins;
  for (PluginIndex plugin = 0; plugin < end; ++plugin) {
    if (waiting.test(plugin)) result.diagnosis.pending.insert(plugin);
  }
  result.nominating =
      post.override_nomination ? Nominating::to(post.nominated_node) : Nominating::keep();
  end_post_filtering(query, result);
}

const plimsoll_node_info* Placer::select(const PlacementQuery& query, const Evaluation& result,
                                         Status& status) {
  const NodeRows feasible =
      result.whole && !result.check ? result.table->feasible() : result.feasible;
  const plimsoll_node_info* chosen = feasible.front();
  if (feasible.size() > 1) {
    chosen = nullptr;
    status = timed(query.framework, metrics::Point::kPreScore,
                   [&] { return query.framework.run_pre_score(query.cycle, query.pod, feasible); });
    last_chosen_.resize(std::max<size_t>(last_chosen_.size(), cluster_.slot_count()), 0);
    if (!status.ok()) return nullptr;
    status = timed(query.framework, metrics::Point::kScore, [&] {
      if (result.table != nullptr) chosen = best_by_class(query, result, feasible);
      if (chosen != nullptr) return Status();
      ScoreTable& scores = room_.scores;
      Status scored = query.framework.run_score(query.cycle, query.pod, feasible, scores);
      if (scored.ok()) chosen = best_of(feasible, scores.totals);
      return scored;
    });
    if (!status.ok()) return nullptr;
  }
  last_chosen_.resize(std::max<size_t>(last_chosen_.size(), chosen->slot + size_t{1}), 0);
  last_chosen_[chosen->slot] = ++choices_;
  return chosen;
}

// Among equals, the node that was chosen longest ago: pods spread, and the choice is reproducible.
const plimsoll_node_info* Placer::best_of(NodeRows rows, std::span<const int64_t> totals) const {
  const int64_t highest = highest_of(totals.data(), rows.size());
  size_t best = 0;
  uint64_t chosen_at = UINT64_MAX;
  for (size_t i = 0; i < rows.size() && chosen_at != 0; ++i) {  // 0: it never was
    if (totals[i] != highest || last_chosen_[rows.slot(i)] >= chosen_at) continue;
    best = i;
    chosen_at = last_chosen_[rows.slot(i)];
  }
  return rows[best];
}

}  // namespace plimsoll

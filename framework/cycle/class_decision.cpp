// A decision from what is known of the pod's class, and the check of it: some decisions are made
// again without, and where the two differ, the one made afresh counts.

#include <string>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/columns.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/cycle/what_if.hpp"
#include "framework/runtime/score_loops.hpp"

namespace plimsoll {

// Errors of plugins are not told here: the walk over all nodes meets them again, in their order.
void Scheduler::ask_class(Attempt& attempt, Evaluation& result) {
  ClassTable* table = classes_.find(attempt.framework, *attempt.pod);
  if (table == nullptr) return;
  if (!table->update_verdicts(*attempt.cycle, *attempt.pod, cluster_).ok()) return;
  result.table = table;
  result.contested = contested_nodes(*attempt.pod, cluster_, nominator_);
  result.whole = !table->has_fresh_filters() && result.contested.empty();
  result.check = classes_.check_now();
  result.row_by_row = result.check && classes_.check_row_by_row();
}

// The verdicts on all nodes with those that are not kept. False: there is no table, or a plugin
// failed.
bool Scheduler::copy_class_verdicts(Attempt& attempt, NodeRows rows, Evaluation& result,
                                    Columns& columns) {
  if (result.table == nullptr) return false;
  result.table->copy_verdicts(rows, columns.view());
  if (result.whole) return true;
  bool well =
      result.table->run_fresh_filters(*attempt.cycle, *attempt.pod, rows, columns.view()).ok();
  if (well && !result.contested.empty()) {
    Columns& beside = room_->beside;
    beside.reset(rows.size());
    const bool keeps = !result.table->has_fresh_filters() && attempt.nominated_to.empty();
    well = filter_contested(attempt.framework, *attempt.cycle, *attempt.pod, rows, beside.view(),
                            result.contested, cluster_.slot_count(), nominator_,
                            keeps ? &result.table->contested() : nullptr)
               .ok();
    for (size_t i = 0; well && i < rows.size(); ++i) {
      if (beside.codes[i] == PLIMSOLL_SUCCESS) continue;
      columns.codes[i] = beside.codes[i];
      columns.reasons[i] = beside.reasons[i];
      columns.rejectors[i] = beside.rejectors[i];
    }
  }
  if (well) return true;
  columns.reset(rows.size());
  result.table = nullptr;
  return false;
}

void Scheduler::check_verdicts(Attempt& attempt, NodeRows rows, Evaluation& result,
                               Columns& columns) {
  Columns afresh(rows.size());
  const Status status = run_filters_with_nominated(
      attempt.framework, *attempt.cycle, *attempt.pod,
      result.row_by_row ? rows.without_columns() : rows, afresh.view(), cluster_, nominator_);
  bool same = status.ok();
  const auto filters = attempt.framework.at(ExtensionPoint::kFilter);
  for (size_t i = 0; same && i < rows.size(); ++i) {
    same = columns.codes[i] == afresh.codes[i] && columns.reasons[i] == afresh.reasons[i] &&
           columns.rejectors[i] == afresh.rejectors[i];
    if (same) continue;
    // The first of the two that refused is the one that was remembered wrongly.
    PluginIndex suspect = kNoPlugin;
    for (const Framework::Slot& slot : filters) {
      if (slot.plugin != columns.rejectors[i] && slot.plugin != afresh.rejectors[i]) continue;
      suspect = slot.plugin;
      break;
    }
    const auto text = [&](const Columns& from) {
      return code_name(from.codes[i]) + " " + environment_.reasons.message(from.reasons[i]);
    };
    differs(attempt, suspect, *rows[i], text(columns), text(afresh));
  }
  if (same) return;
  result.table = nullptr;
  result.whole = false;
  result.status = status;
  columns = std::move(afresh);
}

// Null: the walk over the feasible nodes has to say.
const plimsoll_node_info* Scheduler::best_by_class(Attempt& attempt, const Evaluation& result,
                                                   NodeRows feasible) {
  ClassTable& table = *result.table;
  const CycleContext& cycle = *attempt.cycle;
  if (!table.update_scores(cycle, *attempt.pod).ok()) return nullptr;
  const plimsoll_node_info* best = nullptr;
  if (result.whole && table.ranks()) {
    if (!table.rank(cycle, *attempt.pod, last_chosen_, best).ok()) return nullptr;
  } else {
    ScoreTable& scores = room_->scores;
    if (!table.score(cycle, *attempt.pod, feasible, scores).ok()) return nullptr;
    best = best_of(feasible, scores.totals);
  }
  if (best != nullptr && result.check && !agrees(attempt, result, feasible, best)) return nullptr;
  return best;
}

bool Scheduler::agrees(Attempt& attempt, const Evaluation& result, NodeRows feasible,
                       const plimsoll_node_info* best) {
  if (result.row_by_row) feasible = feasible.without_columns();
  const bool ranked = result.whole && result.table->ranks();
  std::vector<int64_t> scores(feasible.size());
  std::vector<int64_t> totals(feasible.size());
  for (const Framework::Slot& slot : attempt.framework.at(ExtensionPoint::kScore)) {
    if (attempt.cycle->skip_score.test(slot.plugin)) continue;
    int64_t kept = 0;
    const auto same_as_kept = [&](size_t other, std::string_view what) {
      if (other == feasible.size()) return true;
      const std::string kind(what);
      differs(attempt, slot.plugin, *feasible[other], kind + std::to_string(kept),
              kind + std::to_string(scores[other]));
      return false;
    };
    if (!attempt.framework
             .run_raw_score(slot.plugin, *attempt.cycle, *attempt.pod, feasible, scores)
             .ok() ||
        !same_as_kept(result.table->other_raw(slot.plugin, feasible, scores, kept), "score ") ||
        !attempt.framework
             .run_normalize(slot.plugin, *attempt.cycle, *attempt.pod, feasible, scores)
             .ok()) {
      return false;
    }
    if (ranked && !same_as_kept(result.table->other_normalised(slot.plugin, feasible, scores, kept),
                                "normalised ")) {
      return false;
    }
    add_weighted(scores.data(), scores.size(), slot.weight, totals.data());
  }
  const plimsoll_node_info* walked = best_of(feasible, totals);
  if (walked == best) return true;
  differs(attempt, kNoPlugin, *walked, "another node", "this node");
  return false;
}

void Scheduler::differs(Attempt& attempt, PluginIndex plugin, const plimsoll_node_info& node,
                        std::string_view kept, std::string_view afresh) {
  const std::string name(plugin == kNoPlugin ? "" : attempt.framework.plugin_name(plugin));
  log_error(
      "what was kept of a class of pods differs from what is found afresh; nothing of this "
      "plugin is kept from here on",
      {{"plugin", name},
       {"profile", attempt.framework.scheduler_name()},
       {"pod", full_name(*attempt.pod)},
       {"node", view(node.node->meta.name)},
       {"kept", kept},
       {"afresh", afresh}});
  classes_.note_difference();
  classes_.distrust(attempt.framework, plugin);
}

}  // namespace plimsoll

// A decision from what is known of the pod's class, and the check of it: some decisions are made
// again without, and where the two differ, the one made afresh counts.

#include <algorithm>
#include <string>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/placement/placer.hpp"
#include "framework/placement/what_if.hpp"
#include "framework/runtime/score_loops.hpp"

namespace plimsoll {
namespace {

constexpr size_t kPiece = 2048;  // scores

}  // namespace

// Errors of plugins are not told here: the walk over all nodes meets them again, in their order.
void Placer::ask_class(const PlacementQuery& query, Evaluation& result) {
  ClassTable* table = classes_.find(query.framework, query.pod);
  if (table == nullptr) return;
  if (!table->update_verdicts(query.cycle, query.pod, cluster_).ok()) return;
  result.table = table;
  contested_.find(query.pod, cluster_, nominator_);
  result.whole = !table->has_fresh_filters() && contested_.empty();
  result.check = classes_.check_now();
}

// The verdicts on all nodes with those that are not kept. False: there is no table, or a plugin
// failed.
bool Placer::copy_class_verdicts(const PlacementQuery& query, NodeRows rows, Evaluation& result,
                                 Columns& columns) {
  if (result.table == nullptr) return false;
  result.table->copy_verdicts(rows, columns.view());
  if (result.whole) return true;
  bool well = result.table->run_fresh_filters(query.cycle, query.pod, rows, columns.view()).ok();
  if (well && !contested_.empty()) {
    Columns& beside = room_.beside;
    beside.reset(rows.size());
    const KeptContested kept = result.table->contested();
    well = filter_contested(query.framework, query.cycle, query.pod, rows, beside.view(),
                            contested_, nominator_, query.nominated_to.empty() ? &kept : nullptr)
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

// All nodes by columns, and the next part of them one by one.
void Placer::check_verdicts(const PlacementQuery& query, NodeRows rows, Evaluation& result,
                            Columns& columns) {
  const auto ask = [&](NodeRows about, Columns& out) {
    out.reset(about.size());
    return run_filters_with_nominated(query.framework, query.cycle, query.pod, about, out.view(),
                                      cluster_, nominator_);
  };
  Columns& afresh = room_.afresh;
  Status status = ask(rows, afresh);
  bool same = status.ok() && same_verdicts(query, rows, columns, 0, afresh);
  if (same) {
    const auto [begin, count] = classes_.one_by_one(rows.size());
    const NodeRows part = rows.part(begin, count);
    Columns& beside = room_.beside;
    status = ask(part.without_columns(), beside);
    same = status.ok() && same_verdicts(query, part, columns, begin, beside);
    if (!same && status.ok()) afresh.replace(begin, beside);
  }
  if (same) return;
  result.table = nullptr;
  result.whole = false;
  result.status = status;
  std::swap(columns, afresh);
}

// `afresh` has what was found of `rows` now, `kept` the same from `begin` on.
bool Placer::same_verdicts(const PlacementQuery& query, NodeRows rows, const Columns& kept,
                           size_t begin, const Columns& afresh) {
  if (afresh.is_part_of(kept, begin)) return true;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t at = begin + i;
    if (kept.codes[at] == afresh.codes[i] && kept.reasons[at] == afresh.reasons[i] &&
        kept.rejectors[at] == afresh.rejectors[i]) {
      continue;
    }
    // The first of the two that refused is the one that was remembered wrongly.
    PluginIndex suspect = kNoPlugin;
    for (const Framework::Slot& slot : query.framework.at(ExtensionPoint::kFilter)) {
      if (slot.plugin != kept.rejectors[at] && slot.plugin != afresh.rejectors[i]) continue;
      suspect = slot.plugin;
      break;
    }
    const auto text = [&](const Columns& from, size_t row) {
      return code_name(from.codes[row]) + " " + reasons_.message(from.reasons[row]);
    };
    differs(query, suspect, *rows[i], text(kept, at), text(afresh, i));
    break;
  }
  return false;
}

// Null: the walk over the feasible nodes has to say.
const plimsoll_node_info* Placer::best_by_class(const PlacementQuery& query,
                                                const Evaluation& result, NodeRows feasible) {
  ClassTable& table = *result.table;
  const CycleContext& cycle = query.cycle;
  if (!table.update_scores(cycle, query.pod).ok()) return nullptr;
  const plimsoll_node_info* best = nullptr;
  if (result.whole && table.ranks()) {
    if (!table.rank(cycle, query.pod, last_chosen_, best).ok()) return nullptr;
  } else {
    ScoreTable& scores = room_.scores;
    if (!table.score(cycle, query.pod, feasible, scores).ok()) return nullptr;
    best = best_of(feasible, scores.totals);
  }
  if (best != nullptr && result.check && !agrees(query, result, feasible, best)) return nullptr;
  return best;
}

bool Placer::agrees(const PlacementQuery& query, const Evaluation& result, NodeRows feasible,
                    const plimsoll_node_info* best) {
  std::vector<int64_t>& totals = room_.scores.totals;
  totals.assign(feasible.size(), 0);
  room_.afresh_scores.resize(feasible.size());
  for (const Framework::Slot& slot : query.framework.at(ExtensionPoint::kScore)) {
    if (query.cycle.skip_score.test(slot.plugin)) continue;
    if (!same_scores(query, result, slot, feasible)) return false;
  }
  const plimsoll_node_info* walked = best_of(feasible, totals);
  if (walked == best) return true;
  differs(query, kNoPlugin, *walked, "another node", "this node");
  return false;
}

// Scores of one plugin, compared, and added to the totals. False as well: it failed.
bool Placer::same_scores(const PlacementQuery& query, const Evaluation& result,
                         const Framework::Slot& slot, NodeRows feasible) {
  const Framework& framework = query.framework;
  const ClassTable& table = *result.table;
  const CycleContext& cycle = query.cycle;
  const bool ranked = result.whole && table.ranks();
  const bool kept = table.keeps_score(slot.plugin);
  const std::span<int64_t> all(room_.afresh_scores);
  const auto differ = [&](const plimsoll_node_info& node, std::string_view what, int64_t before,
                          int64_t now) {
    const std::string kind(what);
    differs(query, slot.plugin, node, kind + std::to_string(before), kind + std::to_string(now));
    return false;
  };
  const bool by_row = !kept && classes_.all_one_by_one();
  if (!framework
           .run_raw_score(slot.plugin, cycle, query.pod,
                          by_row ? feasible.without_columns() : feasible, all)
           .ok()) {
    return false;
  }
  if (kept) {
    const auto [begin, count] = classes_.one_by_one(feasible.size());
    const NodeRows part = feasible.part(begin, count);
    std::vector<int64_t>& own = room_.part_scores;
    own.resize(count);
    if (!framework.run_raw_score(slot.plugin, cycle, query.pod, part.without_columns(), own).ok()) {
      return false;
    }
    for (size_t i = 0; i < count; ++i) {
      if (own[i] != all[begin + i]) return differ(*part[i], "score ", all[begin + i], own[i]);
    }
  }
  // A piece at a time, which stays in the processor's cache for all that is done with it; the
  // scores of all nodes are normalised together.
  const bool together = framework.has_normalize(slot.plugin);
  const size_t most = together ? std::max<size_t>(feasible.size(), 1) : kPiece;
  for (size_t begin = 0; begin < feasible.size(); begin += most) {
    const size_t count = std::min(most, feasible.size() - begin);
    const NodeRows piece = feasible.part(begin, count);
    const std::span<int64_t> scores = all.subspan(begin, count);
    int64_t before = 0;
    size_t other = table.other_raw(slot.plugin, piece, scores, before);
    if (other != count) return differ(*piece[other], "score ", before, scores[other]);
    if (!framework.run_normalize(slot.plugin, cycle, query.pod, piece, scores).ok()) {
      return false;
    }
    if (ranked) other = table.other_normalised(slot.plugin, piece, scores, before);
    if (other != count) return differ(*piece[other], "normalised ", before, scores[other]);
    add_weighted(scores.data(), count, slot.weight, room_.scores.totals.data() + begin);
  }
  return true;
}

void Placer::differs(const plimsoll_node_info& node, std::string_view before,
                     std::string_view now) const {
  if (post_filtering_.node != nullptr) return;
  post_filtering_.node = &node;
  post_filtering_.before = before;
  post_filtering_.now = now;
}

// The tables go only now: what is kept was in use.
void Placer::end_post_filtering(const PlacementQuery& query, Evaluation& result) {
  const PostFiltering ended = std::exchange(post_filtering_, {});
  if (ended.node == nullptr) return;
  const PluginIndex plugin = query.framework.at(ExtensionPoint::kPostFilter).front().plugin;
  differs(query, plugin, *ended.node, ended.before, ended.now);
  result.table = nullptr;
}

void Placer::differs(const PlacementQuery& query, PluginIndex plugin,
                     const plimsoll_node_info& node, std::string_view kept,
                     std::string_view afresh) {
  const std::string name(plugin == kNoPlugin ? "" : query.framework.plugin_name(plugin));
  log_error(
      "what was kept of a class of pods differs from what is found afresh; nothing of this "
      "plugin is kept from here on",
      {{"plugin", name},
       {"profile", query.framework.scheduler_name()},
       {"pod", full_name(query.pod)},
       {"node", view(node.node->meta.name)},
       {"kept", kept},
       {"afresh", afresh}});
  classes_.note_difference();
  classes_.distrust(query.framework, plugin);
}

}  // namespace plimsoll

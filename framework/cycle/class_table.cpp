#include "framework/cycle/class_table.hpp"

#include <algorithm>
#include <bit>

namespace plimsoll {
namespace {

// Whether a verdict that rests on these may be kept until one of them changes.
bool can_be_kept(uint32_t aspects) {
  return aspects != 0 && (aspects & PLIMSOLL_ASPECT_CLUSTER) == 0;
}

constexpr uint32_t kEverything = UINT32_MAX;

}  // namespace

ClassTable::ClassTable(const Framework& framework, const PluginMask& fresh)
    : framework_(framework), fresh_(fresh) {}

// ---- verdicts

void ClassTable::begin(const CycleContext& cycle, const ClusterState& cluster) {
  skip_filter_ = cycle.skip_filter;
  filters_.clear();
  fresh_filters_.clear();
  const auto slots = framework_.at(ExtensionPoint::kFilter);
  for (size_t i = 0; i < slots.size(); ++i) {
    const PluginIndex plugin = slots[i].plugin;
    if (cycle.skip_filter.test(plugin)) continue;
    const uint32_t aspects = framework_.filter_aspects(plugin);
    if (fresh_.test(plugin) || !can_be_kept(aspects) || filters_.size() == kMostPlugins) {
      fresh_filters_.push_back({plugin, i});
    } else {
      filters_.push_back({plugin, aspects, i});
    }
  }
  rows_.assign(cluster.slot_count(), {});
  changed_.assign(rows_.size(), kEverything);
  work_.clear();
  for (uint32_t slot = 0; slot < rows_.size(); ++slot) work_.push_back({slot, 0, 0, 0, 0, 0});
  feasible_count_ = 0;
  node_count_ = 0;
  feasible_stale_ = true;
  by_reason_.clear();
  refused_.assign(filters_.size(), 0);
  pending_.assign(filters_.size(), 0);
  scores_known_ = false;
  todo_.clear();
  seen_ = cluster.log_end();
}

void ClassTable::read_log(const ClusterState& cluster) {
  if (rows_.size() < cluster.slot_count()) {
    rows_.resize(cluster.slot_count());
    changed_.resize(rows_.size(), 0);
    for (KeptScore& score : scores_) {
      score.raw.resize(rows_.size());
      score.weighable.resize(rows_.size());
    }
    if (rankable_) ranking_.grow(rows_.size());
  }
  work_.clear();
  for (const uint64_t end = cluster.log_end(); seen_ < end; ++seen_) {
    const NodeChange& change = cluster.log_at(seen_);
    uint32_t& changed = changed_[change.slot];
    if (changed == 0) work_.push_back({change.slot, 0, 0, 0, 0, 0});
    changed |= change.aspects == 0 ? kEverything : change.aspects;
  }
}

bool ClassTable::has_to_run(const Work& work, size_t filter) const {
  if (work.before == kUnknown) return true;
  if (work.before != kFeasible && filter > work.before) return true;  // it was never asked
  return (filters_[filter].aspects & work.changed) != 0;
}

Status ClassTable::update_verdicts(const CycleContext& cycle, const plimsoll_pod& pod,
                                   const ClusterState& cluster) {
  columns_ = &cluster.columns();
  if (!known_ || skip_filter_ != cycle.skip_filter || seen_ < cluster.log_begin()) {
    begin(cycle, cluster);
  } else {
    read_log(cluster);
  }
  known_ = false;  // until all went well
  size_t kept = 0;
  for (const Work& noted : work_) {
    const uint32_t slot = noted.slot;
    const uint32_t changed = std::exchange(changed_[slot], 0U);
    Row& row = rows_[slot];
    const NodeInfo* node = cluster.node_at(slot);
    if (node == nullptr || changed == kEverything) forget(slot);
    if (node == nullptr) continue;
    const bool is_new = row.node == nullptr;
    if (is_new) {
      row.node = node->abi();
      ++node_count_;
    }
    for (size_t i = 0; i < scores_.size(); ++i) {
      if ((scores_[i].aspects & changed) != 0) row.scored &= ~(uint64_t{1} << i);
    }
    work_[kept++] = {slot, changed, is_new ? kUnknown : row.refuser, kFeasible, 0, 0};
  }
  work_.resize(kept);
  for (size_t i = 0; i < filters_.size(); ++i) {
    batch_.clear();
    batch_slots_.clear();
    batch_rows_.clear();
    for (uint32_t at = 0; at < work_.size(); ++at) {
      Work& work = work_[at];
      if (work.after != kFeasible) continue;
      if (has_to_run(work, i)) {
        batch_.push_back(at);
        batch_slots_.push_back(work.slot);
        batch_rows_.push_back(rows_[work.slot].node);
      } else if (work.before == i) {
        work.after = work.before;
        work.code = rows_[work.slot].code;
        work.reason = rows_[work.slot].reason;
      }
    }
    if (batch_.empty()) continue;
    batch_codes_.resize(batch_.size());
    batch_reasons_.resize(batch_.size());
    if (Status status = framework_.run_filter(filters_[i].plugin, cycle, pod,
                                              NodeRows(batch_rows_, batch_slots_, columns_),
                                              batch_codes_, batch_reasons_);
        !status.ok()) {
      return status;
    }
    for (size_t at = 0; at < batch_.size(); ++at) {
      if (batch_codes_[at] == PLIMSOLL_SUCCESS) continue;
      Work& work = work_[batch_[at]];
      work.after = static_cast<uint8_t>(i);
      work.code = batch_codes_[at];
      work.reason = batch_reasons_[at];
    }
  }
  for (const Work& work : work_) take(work);
  known_ = true;
  return {};
}

void ClassTable::take(const Work& work) {
  Row& row = rows_[work.slot];
  if (work.before != kUnknown) leave(row, work.slot, work.after);
  row.refuser = work.after;
  row.code = work.code;
  row.reason = work.reason;
  if (work.after == kFeasible) {
    if (work.before != kFeasible) {
      ++feasible_count_;
      feasible_stale_ = true;
    }
    wants_scores(row, work.slot);
    return;
  }
  if (work.reason != 0) ++by_reason_[work.reason];
  ++(work.code == PLIMSOLL_PENDING ? pending_ : refused_)[work.after];
}

// Takes the row out of the sums; `after` is what it becomes.
void ClassTable::leave(Row& row, uint32_t slot, uint8_t after) {
  if (row.refuser != kFeasible) {
    if (row.reason != 0 && --by_reason_[row.reason] == 0) by_reason_.erase(row.reason);
    --(row.code == PLIMSOLL_PENDING ? pending_ : refused_)[row.refuser];
    return;
  }
  if (after == kFeasible) return;
  --feasible_count_;
  feasible_stale_ = true;
  if (!row.counted) return;
  for (KeptScore& score : scores_) score.uncount(score.raw[slot]);
  row.counted = false;
  ranking_.drop(slot);
}

void ClassTable::forget(uint32_t slot) {
  Row& row = rows_[slot];
  if (row.node == nullptr) return;
  leave(row, slot, kUnknown);
  row.node = nullptr;
  row.scored = 0;
  --node_count_;
}

NodeRows ClassTable::feasible() {
  if (feasible_stale_) {
    feasible_.clear();
    feasible_slots_.clear();
    for (uint32_t slot = 0; slot < rows_.size(); ++slot) {
      const Row& row = rows_[slot];
      if (row.node == nullptr || row.refuser != kFeasible) continue;
      feasible_.push_back(row.node);
      feasible_slots_.push_back(slot);
    }
    feasible_stale_ = false;
  }
  return {feasible_, feasible_slots_, columns_};
}

void ClassTable::diagnose(Diagnosis& diagnosis) const {
  diagnosis.node_count = node_count_;
  for (const auto& [reason, nodes] : by_reason_) diagnosis.nodes_by_reason[reason] += nodes;
  for (size_t i = 0; i < filters_.size(); ++i) {
    if (refused_[i] != 0) diagnosis.rejectors.insert(filters_[i].plugin);
    if (pending_[i] != 0) diagnosis.pending.insert(filters_[i].plugin);
  }
}

void ClassTable::copy_codes(NodeRows rows, std::span<uint8_t> codes) const {
  for (size_t i = 0; i < rows.size(); ++i) codes[i] = rows_[rows.slot(i)].code;
}

void ClassTable::copy_verdicts(NodeRows rows, FilterColumns out) const {
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows_[rows.slot(i)];
    out.codes[i] = row.code;
    out.reasons[i] = row.reason;
    out.rejectors[i] = row.refuser == kFeasible ? kNoPlugin : filters_[row.refuser].plugin;
  }
}

Status ClassTable::run_fresh_filters(const CycleContext& cycle, const plimsoll_pod& pod,
                                     NodeRows rows, FilterColumns inout) const {
  std::vector<size_t> position(framework_.plugin_count(), 0);
  for (const KeptFilter& filter : filters_) position[filter.plugin] = filter.position;
  for (const FreshFilter& filter : fresh_filters_) position[filter.plugin] = filter.position;
  std::vector<size_t> origin;
  std::vector<const plimsoll_node_info*> asked;
  std::vector<uint32_t> slots;
  origin.reserve(rows.size());
  asked.reserve(rows.size());
  slots.reserve(rows.size());
  std::vector<uint8_t> codes;
  std::vector<uint32_t> reasons;
  for (const FreshFilter& filter : fresh_filters_) {
    origin.clear();
    asked.clear();
    slots.clear();
    for (size_t i = 0; i < rows.size(); ++i) {
      const PluginIndex refuser = inout.rejectors[i];
      if (refuser != kNoPlugin && position[refuser] < filter.position) continue;
      origin.push_back(i);
      asked.push_back(rows[i]);
      slots.push_back(rows.slot(i));
    }
    if (asked.empty()) continue;
    codes.resize(asked.size());
    reasons.resize(asked.size());
    if (Status status = framework_.run_filter(
            filter.plugin, cycle, pod, NodeRows(asked, slots, rows.columns()), codes, reasons);
        !status.ok()) {
      return status;
    }
    for (size_t i = 0; i < asked.size(); ++i) {
      if (codes[i] == PLIMSOLL_SUCCESS) continue;
      inout.codes[origin[i]] = codes[i];
      inout.reasons[origin[i]] = reasons[i];
      inout.rejectors[origin[i]] = filter.plugin;
    }
  }
  return {};
}

// ---- scores

void ClassTable::KeptScore::count(int64_t value) {
  if (!normalizes) return;
  if (at_low == 0 && at_high == 0 && !extremes_stale) {
    low = high = value;
    at_low = at_high = 1;
    return;
  }
  if (extremes_stale) return;
  if (value < low) {
    low = value;
    at_low = 0;
  }
  if (value > high) {
    high = value;
    at_high = 0;
  }
  if (value == low) ++at_low;
  if (value == high) ++at_high;
}

void ClassTable::KeptScore::uncount(int64_t value) {
  if (!normalizes || extremes_stale) return;
  if (value == low && --at_low == 0) extremes_stale = true;
  if (value == high && --at_high == 0) extremes_stale = true;
}

void ClassTable::find_extremes(KeptScore& score) const {
  score.extremes_stale = false;
  score.at_low = score.at_high = 0;
  for (size_t slot = 0; slot < rows_.size(); ++slot) {
    if (rows_[slot].counted) score.count(score.raw[slot]);
  }
}

void ClassTable::wants_scores(Row& row, uint32_t slot) {
  if (std::exchange(row.todo, true)) return;
  todo_.push_back(slot);
}

void ClassTable::begin_scores(const CycleContext& cycle) {
  skip_score_ = cycle.skip_score;
  scores_.clear();
  fresh_scores_.clear();
  rankable_ = true;
  for (const Framework::Slot& slot : framework_.at(ExtensionPoint::kScore)) {
    if (cycle.skip_score.test(slot.plugin)) continue;
    const uint32_t aspects = framework_.score_aspects(slot.plugin);
    if (fresh_.test(slot.plugin) || !can_be_kept(aspects) || scores_.size() == kMostPlugins) {
      fresh_scores_.push_back({slot.plugin, slot.weight});
      rankable_ = false;
      continue;
    }
    KeptScore score{};
    score.plugin = slot.plugin;
    score.weight = slot.weight;
    score.aspects = aspects;
    score.normalizes = framework_.has_normalize(slot.plugin);
    score.raw.resize(rows_.size());
    score.weighable.resize(rows_.size());
    if (score.normalizes && !framework_.normalizes_by_extremes(slot.plugin)) rankable_ = false;
    scores_.push_back(std::move(score));
  }
  ranking_.reset(rankable_ ? rows_.size() : 0);
  todo_.clear();
  for (uint32_t slot = 0; slot < rows_.size(); ++slot) {
    Row& row = rows_[slot];
    row.todo = row.counted = false;
    row.scored = 0;
    if (row.node != nullptr && row.refuser == kFeasible) wants_scores(row, slot);
  }
}

Status ClassTable::update_scores(const CycleContext& cycle, const plimsoll_pod& pod) {
  if (!scores_known_ || skip_score_ != cycle.skip_score) begin_scores(cycle);
  scores_known_ = false;  // until all went well
  for (size_t i = 0; i < scores_.size(); ++i) {
    KeptScore& score = scores_[i];
    const uint64_t bit = uint64_t{1} << i;
    batch_.clear();
    batch_rows_.clear();
    for (const uint32_t slot : todo_) {
      const Row& row = rows_[slot];
      if (row.node == nullptr || row.refuser != kFeasible || (row.scored & bit) != 0) continue;
      batch_.push_back(slot);
      batch_rows_.push_back(row.node);
    }
    if (batch_.empty()) continue;
    batch_scores_.resize(batch_.size());
    if (Status status = framework_.run_raw_score(
            score.plugin, cycle, pod, NodeRows(batch_rows_, batch_, columns_), batch_scores_);
        !status.ok()) {
      return status;
    }
    for (size_t at = 0; at < batch_.size(); ++at) {
      const uint32_t slot = batch_[at];
      Row& row = rows_[slot];
      row.scored |= bit;
      if (row.counted && score.raw[slot] != batch_scores_[at]) {
        score.uncount(score.raw[slot]);
        score.count(batch_scores_[at]);
      }
      score.raw[slot] = batch_scores_[at];
    }
  }
  if (!rankable_) {
    for (const uint32_t slot : todo_) rows_[slot].todo = false;
    todo_.clear();
  }
  scores_known_ = true;
  return {};
}

// Of the rows in batch_, or of all that are counted if an extreme moved.
Status ClassTable::normalize(const CycleContext& cycle, const plimsoll_pod& pod, KeptScore& score,
                             bool& all) {
  if (score.extremes_stale) find_extremes(score);
  const bool as_before =
      !score.normalizes || (score.normalized && score.low == score.normalized_low &&
                            score.high == score.normalized_high);
  const auto put = [&](std::span<const uint32_t> slots) {
    batch_rows_.clear();
    batch_scores_.clear();
    for (const uint32_t slot : slots) {
      batch_rows_.push_back(rows_[slot].node);
      batch_scores_.push_back(score.raw[slot]);
    }
  };
  std::vector<uint32_t>& slots = all_;
  if (!as_before && !all) {
    all = true;
    slots.clear();
    for (uint32_t slot = 0; slot < rows_.size(); ++slot) {
      if (rows_[slot].counted) slots.push_back(slot);
    }
  }
  const std::vector<uint32_t>& asked = as_before ? batch_ : slots;
  put(asked);
  if (as_before && score.normalizes && !asked.empty()) {
    // The extremes are among the rows, whoever has them.
    for (const int64_t extreme : {score.low, score.high}) {
      batch_rows_.push_back(rows_[asked.front()].node);
      batch_scores_.push_back(extreme);
    }
  }
  if (Status status =
          framework_.run_normalize(score.plugin, cycle, pod, batch_rows_, batch_scores_);
      !status.ok()) {
    return status;
  }
  for (size_t i = 0; i < asked.size(); ++i) {
    score.weighable[asked[i]] = static_cast<uint8_t>(batch_scores_[i]);
  }
  score.normalized = true;
  score.normalized_low = score.low;
  score.normalized_high = score.high;
  return {};
}

int64_t ClassTable::total(uint32_t slot) const {
  int64_t total = 0;
  for (const KeptScore& score : scores_) total += score.weight * score.weighable[slot];
  return total;
}

Status ClassTable::rank(const CycleContext& cycle, const plimsoll_pod& pod,
                        const std::vector<uint64_t>& last_chosen, const plimsoll_node_info*& best) {
  scores_known_ = false;  // until all went well
  batch_.clear();
  for (const uint32_t slot : todo_) {
    Row& row = rows_[slot];
    row.todo = false;
    if (row.node == nullptr || row.refuser != kFeasible) continue;
    batch_.push_back(slot);
    if (std::exchange(row.counted, true)) continue;
    for (KeptScore& score : scores_) score.count(score.raw[slot]);
  }
  todo_.clear();
  bool all = false;
  for (KeptScore& score : scores_) {
    if (Status status = normalize(cycle, pod, score, all); !status.ok()) return status;
  }
  const auto chosen_at = [&](uint32_t slot) {
    return slot < last_chosen.size() ? last_chosen[slot] : 0;
  };
  if (all || batch_.size() > rows_.size() / 8) {
    for (const uint32_t slot : all ? all_ : batch_) {
      ranking_.set(slot, total(slot), chosen_at(slot));
    }
    ranking_.play_all();
  } else {
    for (const uint32_t slot : batch_) ranking_.put(slot, total(slot), chosen_at(slot));
  }
  scores_known_ = true;
  best = ranking_.best() == NodeRanking::kNone ? nullptr : rows_[ranking_.best()].node;
  return {};
}

Status ClassTable::score(const CycleContext& cycle, const plimsoll_pod& pod, NodeRows rows,
                         ScoreTable& out) const {
  out.totals.assign(rows.size(), 0);
  out.parts.clear();
  std::vector<int64_t> scores(rows.size());
  const auto add = [&](PluginIndex plugin, int64_t weight) {
    Status status = framework_.run_normalize(plugin, cycle, pod, rows, scores);
    for (size_t i = 0; status.ok() && i < rows.size(); ++i) out.totals[i] += weight * scores[i];
    return status;
  };
  for (const KeptScore& kept : scores_) {
    for (size_t i = 0; i < rows.size(); ++i) scores[i] = kept.raw[rows[i]->slot];
    if (Status status = add(kept.plugin, kept.weight); !status.ok()) return status;
  }
  for (const FreshScore& fresh : fresh_scores_) {
    Status status = framework_.run_raw_score(fresh.plugin, cycle, pod, rows, scores);
    if (status.ok()) status = add(fresh.plugin, fresh.weight);
    if (!status.ok()) return status;
  }
  return {};
}

bool ClassTable::keeps_score(PluginIndex plugin) const {
  return std::any_of(scores_.begin(), scores_.end(),
                     [plugin](const KeptScore& score) { return score.plugin == plugin; });
}

size_t ClassTable::other_raw(PluginIndex plugin, NodeRows rows, std::span<const int64_t> afresh,
                             int64_t& kept) const {
  for (size_t i = 0; i < scores_.size(); ++i) {
    if (scores_[i].plugin != plugin) continue;
    const std::vector<int64_t>& raw = scores_[i].raw;
    for (size_t row = 0; row < rows.size(); ++row) {
      const uint32_t slot = rows.slot(row);
      if (slot >= rows_.size() || raw[slot] == afresh[row] || (rows_[slot].scored >> i & 1) == 0) {
        continue;
      }
      kept = raw[slot];
      return row;
    }
  }
  return rows.size();
}

size_t ClassTable::other_normalised(PluginIndex plugin, NodeRows rows,
                                    std::span<const int64_t> afresh, int64_t& kept) const {
  for (const KeptScore& score : scores_) {
    if (score.plugin != plugin) continue;
    for (size_t row = 0; row < rows.size(); ++row) {
      if (score.weighable[rows.slot(row)] == afresh[row]) continue;
      kept = score.weighable[rows.slot(row)];
      return row;
    }
  }
  return rows.size();
}

size_t ClassTable::bytes() const {
  const size_t per_row = sizeof(Row) + sizeof(uint32_t) + sizeof(void*) + sizeof(Work) +
                         scores_.size() * (sizeof(int64_t) + sizeof(uint8_t));
  return sizeof *this + rows_.capacity() * per_row + ranking_.bytes() + contested_.bytes();
}

}  // namespace plimsoll

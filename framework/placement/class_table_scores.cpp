// The scores of a class, and which node is best.

#include <algorithm>
#include <utility>

#include "framework/placement/class_table.hpp"
#include "framework/runtime/score_loops.hpp"

namespace plimsoll {
namespace {

constexpr uint32_t kAllAspects = UINT32_MAX >> 1;
constexpr uint32_t kNoted = ~kAllAspects;  // Room::changed: the slot is in the list

}  // namespace

std::span<const uint32_t> ClassTable::feasible_slots() {
  const NodeRows rows = feasible();
  return {rows.abi().slots, rows.size()};
}

void ClassTable::begin_scores(const CycleContext& cycle) {
  skip_score_ = cycle.skip_score;
  scores_.clear();
  fresh_scores_.clear();
  score_aspects_ = 0;
  rankable_ = true;
  const size_t slots = cluster_->slot_count();
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
    score.raw.reset(slots);
    if (score.normalizes) score.normalised.reset(slots);
    if (score.normalizes && !framework_.normalizes_by_extremes(slot.plugin)) rankable_ = false;
    score_aspects_ |= aspects;
    scores_.push_back(std::move(score));
  }
  flags_.assign(slots, 0);
  todo_.clear();
  ranking_.reset(rankable_ ? slots : 0);
  none_ranked_ = true;
}

// The node's verdict is another, or what it rests on changed.
void ClassTable::note_change(uint32_t slot, uint32_t before, uint32_t after, uint32_t changed) {
  if (!scores_known_) return;
  uint8_t& flags = flags_[slot];
  // While it was not feasible nobody asked for its scores; they may be right nevertheless.
  if (before != kFeasible && (flags & kScored) == 0) changed = kAllAspects;
  if ((changed & score_aspects_) != 0) flags &= static_cast<uint8_t>(~kScored);
  if (after != kFeasible && (flags & kCounted) == 0) return;
  todo_.push_back({slot, changed & kAllAspects});
  // Nobody asked for the best for long: asking about all is as quick as going through the list.
  if (todo_.size() > flags_.size() / 4 + 1024) scores_known_ = false;
}

// One entry for each slot.
void ClassTable::gather_todo() {
  size_t kept = 0;
  for (const Todo& todo : todo_) {
    uint32_t& changed = room_.changed[todo.slot];
    if (changed == 0) todo_[kept++].slot = todo.slot;
    changed |= todo.changed | kNoted;
  }
  todo_.resize(kept);
  for (Todo& todo : todo_) {
    todo.changed = std::exchange(room_.changed[todo.slot], 0U) & kAllAspects;
    if (!feasible_at(todo.slot)) todo.changed = 0;
  }
}

Status ClassTable::update_scores(const CycleContext& cycle, const plimsoll_pod& pod) {
  const bool all = !scores_known_ || skip_score_ != cycle.skip_score;
  scores_known_ = false;  // until all went well
  if (all) {
    begin_scores(cycle);
  } else {
    gather_todo();
  }
  for (KeptScore& score : scores_) {
    NodeRows asked;
    if (all) {
      asked = feasible();
    } else {
      room_.slots.clear();
      room_.rows.clear();
      for (const Todo& todo : todo_) {
        if ((todo.changed & score.aspects) == 0) continue;
        room_.slots.push_back(todo.slot);
        room_.rows.push_back(row_at(todo.slot));
      }
      asked = NodeRows(room_.rows, room_.slots, &cluster_->columns());
    }
    if (asked.empty()) continue;
    room_.scores.resize(asked.size());
    if (Status status = framework_.run_raw_score(score.plugin, cycle, pod, asked, room_.scores);
        !status.ok()) {
      return status;
    }
    take_raw(score, {asked.abi().slots, asked.size()}, room_.scores);
  }
  if (all) {
    for (const uint32_t slot : feasible_slots()) flags_[slot] |= kScored;
  }
  for (Todo& todo : todo_) {
    if (feasible_at(todo.slot)) flags_[todo.slot] |= kScored;
    todo.changed = 0;
  }
  if (!rankable_) todo_.clear();
  scores_known_ = true;
  return {};
}

void ClassTable::take_raw(KeptScore& score, std::span<const uint32_t> slots,
                          std::span<const int64_t> raw) {
  for (size_t i = 0; i < slots.size() && score.normalizes; ++i) {
    if ((flags_[slots[i]] & kCounted) == 0) continue;
    const int64_t before = score.raw[slots[i]];
    if (before == raw[i]) continue;
    score.uncount(before);
    score.count(raw[i]);
  }
  score.raw.set_many(slots, raw);
}

// Of the slots in the room, whose rows are there too with two more for the extremes, or of all that
// are counted if an extreme moved.
Status ClassTable::normalize(const CycleContext& cycle, const plimsoll_pod& pod, KeptScore& score,
                             bool& all) {
  if (score.extremes_stale) score.find_extremes(feasible_slots());
  const bool as_before =
      score.normalized && score.low == score.normalized_low && score.high == score.normalized_high;
  const bool some = !none_ranked_ && (!score.normalizes || as_before);
  all = all || !some;
  const std::span<const uint32_t> slots = some ? room_.slots : feasible_slots();
  if (slots.empty()) return {};
  room_.scores.resize(slots.size());
  score.raw.visit([&](const auto* raw) {
    for (size_t i = 0; i < slots.size(); ++i) room_.scores[i] = raw[slots[i]];
  });
  NodeRows rows = some ? NodeRows(room_.rows.data(), slots.size()) : feasible();
  if (some && score.normalizes) {
    // The extremes are among the rows, whoever has them.
    room_.scores.push_back(score.low);
    room_.scores.push_back(score.high);
    rows = NodeRows(room_.rows);
  }
  if (Status status = framework_.run_normalize(score.plugin, cycle, pod, rows, room_.scores);
      !status.ok()) {
    return status;
  }
  if (!score.normalizes) return {};
  score.normalised.set_many(slots, std::span(room_.scores).first(slots.size()));
  score.normalized = true;
  score.normalized_low = score.low;
  score.normalized_high = score.high;
  return {};
}

// The totals of these, into the room.
void ClassTable::add_up(std::span<const uint32_t> slots) {
  room_.totals.assign(slots.size(), 0);
  for (const KeptScore& score : scores_) {
    score.weighed().visit([&](const auto* values) {
      for (size_t i = 0; i < slots.size(); ++i) {
        room_.totals[i] += score.weight * values[slots[i]];
      }
    });
  }
}

void ClassTable::count_all() {
  for (const uint32_t slot : feasible_slots()) flags_[slot] |= kCounted;
  for (KeptScore& score : scores_) {
    if (score.normalizes) score.find_extremes(feasible_slots());
  }
}

// Leaves the feasible ones in the room.
void ClassTable::count_todo(NodeRanking::LastChosen last_chosen) {
  for (const Todo& todo : todo_) {
    uint8_t& flags = flags_[todo.slot];
    const bool counted = (flags & kCounted) != 0;
    if (feasible_at(todo.slot)) {
      room_.slots.push_back(todo.slot);
      room_.rows.push_back(row_at(todo.slot));
      if (counted) continue;
      flags |= kCounted;
      for (KeptScore& score : scores_) score.count(score.raw[todo.slot]);
    } else if (counted) {
      flags &= static_cast<uint8_t>(~kCounted);
      for (KeptScore& score : scores_) score.uncount(score.raw[todo.slot]);
      ranking_.drop(todo.slot, last_chosen);
    }
  }
  if (!room_.rows.empty()) room_.rows.insert(room_.rows.end(), 2, room_.rows.front());
}

Status ClassTable::rank(const CycleContext& cycle, const plimsoll_pod& pod,
                        const std::vector<uint64_t>& last_chosen, const plimsoll_node_info*& best) {
  scores_known_ = false;  // until all went well
  room_.slots.clear();
  room_.rows.clear();
  if (none_ranked_) {
    count_all();
  } else {
    count_todo(last_chosen);
  }
  todo_.clear();
  bool all = none_ranked_;
  for (KeptScore& score : scores_) {
    if (Status status = normalize(cycle, pod, score, all); !status.ok()) return status;
  }
  none_ranked_ = false;
  const std::span<const uint32_t> slots = all ? feasible_slots() : room_.slots;
  add_up(slots);
  if (all || slots.size() > flags_.size() / 16) {
    ranking_.set_many(slots, room_.totals);
    ranking_.play_all(last_chosen);
  } else {
    for (size_t i = 0; i < slots.size(); ++i) {
      ranking_.put(slots[i], room_.totals[i], last_chosen);
    }
  }
  scores_known_ = true;
  best = ranking_.best() == NodeRanking::kNone ? nullptr : row_at(ranking_.best());
  return {};
}

Status ClassTable::score(const CycleContext& cycle, const plimsoll_pod& pod, NodeRows rows,
                         ScoreTable& out) const {
  out.totals.assign(rows.size(), 0);
  out.parts.clear();
  std::vector<int64_t>& scores = room_.scores;
  scores.resize(rows.size());
  const auto add = [&](PluginIndex plugin, int64_t weight) {
    Status status = framework_.run_normalize(plugin, cycle, pod, rows, scores);
    if (status.ok()) add_weighted(scores.data(), rows.size(), weight, out.totals.data());
    return status;
  };
  for (const KeptScore& kept : scores_) {
    if (!kept.normalizes && kept.add_raw(rows, out.totals.data())) continue;
    kept.raw.visit([&](const auto* raw) {
      for (size_t i = 0; i < rows.size(); ++i) scores[i] = raw[rows.slot(i)];
    });
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
  for (const KeptScore& score : scores_) {
    if (score.plugin != plugin) continue;
    return score.raw.visit([&](const auto* raw) {
      for (size_t row = 0; row < rows.size(); ++row) {
        const uint32_t slot = rows.slot(row);
        if (slot >= flags_.size() || (flags_[slot] & kScored) == 0) continue;
        if (raw[slot] == afresh[row]) continue;
        kept = raw[slot];
        return row;
      }
      return rows.size();
    });
  }
  return rows.size();
}

size_t ClassTable::other_normalised(PluginIndex plugin, NodeRows rows,
                                    std::span<const int64_t> afresh, int64_t& kept) const {
  for (const KeptScore& score : scores_) {
    if (score.plugin != plugin) continue;
    return score.weighed().visit([&](const auto* values) {
      for (size_t row = 0; row < rows.size(); ++row) {
        if (values[rows.slot(row)] == afresh[row]) continue;
        kept = values[rows.slot(row)];
        return row;
      }
      return rows.size();
    });
  }
  return rows.size();
}

}  // namespace plimsoll

#include "framework/placement/class_table.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll {
namespace {

constexpr uint32_t kEverything = UINT32_MAX;

}  // namespace

size_t ClassTable::Room::bytes() const {
  const auto of = [](const auto& items) { return items.capacity() * sizeof items[0]; };
  return of(changed) + of(work) + of(indices) + of(slots) + of(rows) + of(codes) + of(reasons) +
         of(scores) + of(totals);
}

ClassTable::ClassTable(const Framework& framework, const PluginMask& fresh, Room& room)
    : framework_(framework), fresh_(fresh), room_(room), reasons_(framework.reasons()) {}

Status ClassTable::update_verdicts(const CycleContext& cycle, const plimsoll_pod& pod,
                                   const ClusterState& cluster) {
  cluster_ = &cluster;
  if (room_.changed.size() < cluster.slot_count()) room_.changed.resize(cluster.slot_count(), 0);
  const bool anew = !known_ || skip_filter_ != cycle.skip_filter || seen_ < cluster.log_begin() ||
                    reasons_.bytes() > kMostReasonBytes;
  known_ = false;  // until all went well
  if (anew) begin(cycle);
  Status status = anew ? fill(cycle, pod) : replay(cycle, pod);
  known_ = status.ok();
  return status;
}

void ClassTable::begin(const CycleContext& cycle) {
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
  verdict_.reset(cluster_->slot_count());
  verdicts_.assign(kFirstRefusal, {});
  refusals_.clear();
  free_ids_.clear();
  last_refusal_ = 0;
  dry_runs_.reset();
  contested_.clear();
  reasons_.clear();
  feasible_stale_ = true;
  scores_known_ = false;
  seen_ = cluster_->log_end();
}

// All nodes at once; each filter is asked for those that are left.
Status ClassTable::fill(const CycleContext& cycle, const plimsoll_pod& pod) {
  NodeRows open(cluster_->rows(), cluster_->row_slots(), &cluster_->columns());
  node_count_ = open.size();
  for (const uint32_t slot : cluster_->row_slots()) verdict_.set(slot, kFeasible);
  for (size_t filter = 0; filter < filters_.size() && !open.empty(); ++filter) {
    room_.codes.resize(open.size());
    room_.reasons.resize(open.size());
    Status status = framework_.run_filter(filters_[filter].plugin, cycle, pod, open, room_.codes,
                                          room_.reasons);
    if (!status.ok()) return status;
    if (all_passed(room_.codes)) continue;
    room_.rows.resize(node_count_);
    room_.slots.resize(node_count_);
    size_t left = 0;
    for (size_t i = 0; i < open.size(); ++i) {
      const uint32_t slot = open.slot(i);
      if (room_.codes[i] != PLIMSOLL_SUCCESS) {
        verdict_.set(slot, refusal(filter, room_.codes[i], room_.reasons[i]));
        continue;
      }
      room_.rows[left] = open[i];
      room_.slots[left++] = slot;
    }
    open = NodeRows(std::span(room_.rows).first(left), room_.slots, &cluster_->columns());
  }
  feasible_count_ = open.size();
  return {};
}

void ClassTable::grow() {
  const size_t slots = cluster_->slot_count();
  if (verdict_.size() >= slots) return;
  verdict_.resize(slots);
  if (!scores_known_) return;
  flags_.resize(slots);
  for (KeptScore& score : scores_) {
    score.raw.resize(slots);
    if (score.normalizes) score.normalised.resize(slots);
  }
  if (rankable_) ranking_.grow(slots);
}

void ClassTable::read_log() {
  room_.work.clear();
  for (const uint64_t end = cluster_->log_end(); seen_ < end; ++seen_) {
    const NodeChange& change = cluster_->log_at(seen_);
    uint32_t& changed = room_.changed[change.slot];
    if (changed == 0) {
      room_.work.push_back({change.slot, 0, kUnknown, kUnknown});
      if (dry_runs_) dry_runs_->forget(change.slot);
    }
    changed |= change.aspects == 0 ? kEverything : change.aspects;
  }
}

// Only the nodes in the log, and of the filters only those that rest on what changed.
Status ClassTable::replay(const CycleContext& cycle, const plimsoll_pod& pod) {
  grow();
  read_log();
  size_t kept = 0;
  for (const Work& noted : room_.work) {
    const uint32_t slot = noted.slot;
    const uint32_t changed = std::exchange(room_.changed[slot], 0U);
    const bool there = cluster_->node_at(slot) != nullptr;
    auto before = static_cast<uint32_t>(verdict_[slot]);
    if (before != kUnknown && (!there || changed == kEverything)) {
      leave(before);
      verdict_.set(slot, kUnknown);
      note_change(slot, before, kUnknown, kEverything);
      before = kUnknown;
      --node_count_;
    }
    if (!there) continue;
    if (before == kUnknown) ++node_count_;
    room_.work[kept++] = {slot, changed, before, kFeasible};
  }
  room_.work.resize(kept);
  for (size_t filter = 0; filter < filters_.size(); ++filter) {
    if (Status status = judge(cycle, pod, filter); !status.ok()) return status;
  }
  for (const Work& work : room_.work) take(work);
  return {};
}

bool ClassTable::has_to_run(const Work& work, size_t filter) const {
  if (work.before == kUnknown) return true;
  if (work.before != kFeasible && filter > verdicts_[work.before].refuser) {
    return true;  // it was never asked
  }
  return (filters_[filter].aspects & work.changed) != 0;
}

Status ClassTable::judge(const CycleContext& cycle, const plimsoll_pod& pod, size_t filter) {
  room_.indices.clear();
  room_.slots.clear();
  room_.rows.clear();
  for (uint32_t at = 0; at < room_.work.size(); ++at) {
    Work& work = room_.work[at];
    if (work.after != kFeasible) continue;
    if (has_to_run(work, filter)) {
      room_.indices.push_back(at);
      room_.slots.push_back(work.slot);
      room_.rows.push_back(row_at(work.slot));
    } else if (work.before != kFeasible && verdicts_[work.before].refuser == filter) {
      work.after = work.before;
      ++verdicts_[work.after].nodes;
    }
  }
  if (room_.indices.empty()) return {};
  room_.codes.resize(room_.indices.size());
  room_.reasons.resize(room_.indices.size());
  Status status = framework_.run_filter(filters_[filter].plugin, cycle, pod,
                                        NodeRows(room_.rows, room_.slots, &cluster_->columns()),
                                        room_.codes, room_.reasons);
  for (size_t i = 0; status.ok() && i < room_.indices.size(); ++i) {
    if (room_.codes[i] == PLIMSOLL_SUCCESS) continue;
    room_.work[room_.indices[i]].after = refusal(filter, room_.codes[i], room_.reasons[i]);
  }
  return status;
}

// The id of this verdict, with a node more that has it.
uint32_t ClassTable::refusal(size_t filter, uint8_t code, uint32_t reason) {
  const auto refuser = static_cast<uint8_t>(filter);
  if (last_refusal_ != 0) {
    Verdict& last = verdicts_[last_refusal_];
    if (last.nodes != 0 && last.refuser == refuser && last.code == code && last.reason == reason) {
      ++last.nodes;
      return last_refusal_;
    }
  }
  const auto [found, is_new] = refusals_.try_emplace({refuser, code, reason}, 0U);
  uint32_t& id = found->second;
  if (is_new && free_ids_.empty()) {
    id = static_cast<uint32_t>(verdicts_.size());
    verdicts_.push_back({refuser, code, reason, 0});
  } else if (is_new) {
    id = free_ids_.back();
    free_ids_.pop_back();
    verdicts_[id] = {refuser, code, reason, 0};
  }
  if (is_new) reasons_.add(reason);
  ++verdicts_[id].nodes;
  last_refusal_ = id;
  return id;
}

void ClassTable::take(const Work& work) {
  if (work.before != work.after) {
    verdict_.set(work.slot, work.after);
    if (work.after == kFeasible) {
      ++feasible_count_;
      feasible_stale_ = true;
    }
  }
  if (work.before != kUnknown && (work.before != kFeasible || work.after != kFeasible)) {
    leave(work.before);
  }
  note_change(work.slot, work.before, work.after, work.changed);
}

// A node less has this verdict.
void ClassTable::leave(uint32_t verdict) {
  if (verdict == kFeasible) {
    --feasible_count_;
    feasible_stale_ = true;
    return;
  }
  Verdict& left = verdicts_[verdict];
  if (--left.nodes != 0) return;
  refusals_.erase({left.refuser, left.code, left.reason});
  free_ids_.push_back(verdict);
}

NodeRows ClassTable::feasible() {
  if (feasible_count_ == node_count_) {
    feasible_ = {};
    feasible_slots_ = {};
    feasible_stale_ = true;
    return {cluster_->rows(), cluster_->row_slots(), &cluster_->columns()};
  }
  if (feasible_stale_) {
    feasible_.clear();
    feasible_slots_.clear();
    feasible_.reserve(feasible_count_);
    feasible_slots_.reserve(feasible_count_);
    const auto& rows = cluster_->rows();
    const auto& slots = cluster_->row_slots();
    verdict_.visit([&](const auto* verdicts) {
      for (size_t i = 0; i < rows.size(); ++i) {
        if (verdicts[slots[i]] != static_cast<int64_t>(kFeasible)) continue;
        feasible_.push_back(rows[i]);
        feasible_slots_.push_back(slots[i]);
      }
    });
    feasible_stale_ = false;
  }
  return {feasible_, feasible_slots_, &cluster_->columns()};
}

void ClassTable::diagnose(Diagnosis& diagnosis) const {
  diagnosis.node_count = node_count_;
  for (const auto& [key, id] : refusals_) {
    const Verdict& verdict = verdicts_[id];
    if (verdict.reason != 0) diagnosis.nodes_by_reason[verdict.reason] += verdict.nodes;
    auto& plugins = verdict.code == PLIMSOLL_PENDING ? diagnosis.pending : diagnosis.rejectors;
    plugins.insert(filters_[verdict.refuser].plugin);
  }
}

void ClassTable::copy_codes(NodeRows rows, std::span<uint8_t> codes) const {
  verdict_.visit([&](const auto* ids) {
    for (size_t i = 0; i < rows.size(); ++i) {
      codes[i] = verdicts_[static_cast<size_t>(ids[rows.slot(i)])].code;
    }
  });
}

void ClassTable::copy_verdicts(NodeRows rows, FilterColumns inout) const {
  verdict_.visit([&](const auto* ids) {
    for (size_t i = 0, count = rows.size(); i < count; ++i) {
      const auto id = static_cast<size_t>(ids[rows.slot(i)]);
      if (id < kFirstRefusal) continue;
      const Verdict& verdict = verdicts_[id];
      inout.codes[i] = verdict.code;
      inout.reasons[i] = verdict.reason;
      inout.rejectors[i] = filters_[verdict.refuser].plugin;
    }
  });
}

Status ClassTable::run_fresh_filters(const CycleContext& cycle, const plimsoll_pod& pod,
                                     NodeRows rows, FilterColumns inout) const {
  for (const FreshFilter& filter : fresh_filters_) {
    Status status = all_passed(inout.codes) ? run_on_all(filter.plugin, cycle, pod, rows, inout)
                                            : run_on_some(filter, cycle, pod, rows, inout);
    if (!status.ok()) return status;
  }
  return {};
}

// No row is refused so far.
Status ClassTable::run_on_all(PluginIndex plugin, const CycleContext& cycle,
                              const plimsoll_pod& pod, NodeRows rows, FilterColumns out) const {
  Status status = framework_.run_filter(plugin, cycle, pod, rows, out.codes, out.reasons);
  if (!status.ok() || all_passed(out.codes)) return status;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (out.codes[i] != PLIMSOLL_SUCCESS) out.rejectors[i] = plugin;
  }
  return status;
}

// It is not asked about rows that a plugin before it in the profile refuses.
Status ClassTable::run_on_some(const FreshFilter& filter, const CycleContext& cycle,
                               const plimsoll_pod& pod, NodeRows rows, FilterColumns inout) const {
  std::vector<size_t> position(framework_.plugin_count(), 0);
  for (const KeptFilter& each : filters_) position[each.plugin] = each.position;
  for (const FreshFilter& each : fresh_filters_) position[each.plugin] = each.position;
  room_.indices.clear();
  room_.rows.clear();
  room_.slots.clear();
  for (uint32_t i = 0; i < rows.size(); ++i) {
    const PluginIndex refuser = inout.rejectors[i];
    if (refuser != kNoPlugin && position[refuser] < filter.position) continue;
    room_.indices.push_back(i);
    room_.rows.push_back(rows[i]);
    room_.slots.push_back(rows.slot(i));
  }
  if (room_.rows.empty()) return {};
  room_.codes.resize(room_.rows.size());
  room_.reasons.resize(room_.rows.size());
  Status status = framework_.run_filter(filter.plugin, cycle, pod,
                                        NodeRows(room_.rows, room_.slots, rows.columns()),
                                        room_.codes, room_.reasons);
  for (size_t i = 0; status.ok() && i < room_.rows.size(); ++i) {
    if (room_.codes[i] == PLIMSOLL_SUCCESS) continue;
    const uint32_t row = room_.indices[i];
    inout.codes[row] = room_.codes[i];
    inout.reasons[row] = room_.reasons[i];
    inout.rejectors[row] = filter.plugin;
  }
  return status;
}

KeptContested ClassTable::contested() {
  KeptContested kept{contested_, reasons_, {}, {}};
  size_t first = SIZE_MAX;
  for (const FreshFilter& filter : fresh_filters_) {
    kept.fresh.set(filter.plugin);
    first = std::min(first, filter.position);
  }
  for (const KeptFilter& filter : filters_) {
    if (filter.position < first) kept.before.set(filter.plugin);
  }
  return kept;
}

std::unique_ptr<KeptDryRuns>* ClassTable::dry_runs() {
  for (const FreshFilter& filter : fresh_filters_) {
    if (fresh_.test(filter.plugin)) return nullptr;
  }
  for (const Framework::Slot& slot : framework_.at(ExtensionPoint::kPostFilter)) {
    if (fresh_.test(slot.plugin)) return nullptr;
  }
  return &dry_runs_;
}

std::vector<std::string_view> ClassTable::look_beyond() const {
  std::vector<std::string_view> names;
  for (const FreshFilter& filter : fresh_filters_) {
    names.push_back(framework_.plugin_name(filter.plugin));
  }
  return names;
}

size_t ClassTable::bytes() const {
  size_t bytes =
      sizeof *this + verdict_.bytes() + ranking_.bytes() + contested_.bytes() + reasons_.bytes();
  if (dry_runs_) bytes += dry_runs_->bytes();
  for (const KeptScore& score : scores_) bytes += score.raw.bytes() + score.normalised.bytes();
  const auto of = [](const auto& items) { return items.capacity() * sizeof items[0]; };
  return bytes + of(feasible_) + of(feasible_slots_) + of(flags_) + of(todo_) + of(verdicts_);
}

}  // namespace plimsoll

// PreScore, Score, NormalizeScore, Reserve, Unreserve, Permit.

#include <algorithm>

#include "framework/metrics/scheduler_metrics.hpp"
#include "framework/runtime/framework.hpp"
#include "framework/runtime/pieces.hpp"
#include "framework/runtime/plugin_call.hpp"
#include "framework/runtime/score_loops.hpp"

namespace plimsoll {

namespace {

constexpr size_t kPiece = 1024;  // nodes
constexpr int64_t kMaxPermitMs = 15 * 60'000;

}  // namespace

Status Framework::run_pre_score(CycleContext& cycle, const plimsoll_pod& pod, NodeRows feasible) {
  const plimsoll_nodes nodes = feasible.abi();
  cycle.skip_score.reset();
  for (const Slot& slot : at(ExtensionPoint::kPreScore)) {
    if (Status status = go_on(); !status.ok()) return status;
    PluginInstance& run = plugin(slot);
    const int32_t code =
        call_plugin({metrics_.get(), cycle.time_plugins, slot.plugin, metrics::Point::kPreScore},
                    run, run.slots().pre_score, &cycle, &pod, &nodes);
    if (metrics_) metrics_->plugin_evaluation(slot.plugin, metrics::Point::kPreScore, 1);
    if (code == PLIMSOLL_SKIP) {
      cycle.skip_score.set(slot.plugin);
    } else if (code != PLIMSOLL_SUCCESS) {
      return failure(slot.plugin, code, "running PreScore plugin " + in_quotes(run.name()));
    }
  }
  return {};
}

Status Framework::run_raw_score(PluginIndex index, const CycleContext& cycle,
                                const plimsoll_pod& pod, NodeRows rows,
                                std::span<int64_t> scores) const {
  const PluginInstance& run = *plugins_[index];
  std::fill(scores.begin(), scores.end(), int64_t{0});
  for (Pieces pieces(rows.size()); pieces.next();) {
    if (Status status = go_on(); !status.ok()) return status;
    const plimsoll_nodes nodes = rows.part(pieces.begin(), pieces.count()).abi();
    const int32_t code =
        call_plugin({metrics_.get(), cycle.time_plugins, index, metrics::Point::kScore}, run,
                    run.slots().score, &cycle, &pod, &nodes, scores.data() + pieces.begin());
    if (metrics_) metrics_->plugin_evaluation(index, metrics::Point::kScore, pieces.count());
    if (code == PLIMSOLL_SUCCESS) continue;
    return failure(index, code,
                   "running Score plugins: plugin " + in_quotes(run.name()) + " failed with");
  }
  return {};
}

Status Framework::normalize(PluginIndex index, const CycleContext& cycle, const plimsoll_pod& pod,
                            NodeRows rows, std::span<int64_t> scores) const {
  const PluginInstance& run = *plugins_[index];
  if (run.slots().normalize == nullptr) return {};
  const plimsoll_nodes nodes = rows.abi();
  const int32_t code =
      call_plugin({metrics_.get(), cycle.time_plugins, index, metrics::Point::kNormalize}, run,
                  run.slots().normalize, &cycle, &pod, &nodes, scores.data());
  if (code == PLIMSOLL_SUCCESS) return {};
  return failure(
      index, code,
      "running Normalize on Score plugins: plugin " + in_quotes(run.name()) + " failed with");
}

Status Framework::check_range(PluginIndex index, NodeRows rows,
                              std::span<const int64_t> scores) const {
  static_assert(kMinScore == 0);
  if (all_within(scores.data(), scores.size(), kMaxScore)) return {};
  for (size_t i = 0; i < scores.size(); ++i) {
    const int64_t score = scores[i];
    if (score >= kMinScore && score <= kMaxScore) continue;
    return named(error_status("applying score defaultWeights on Score plugins: plugin " +
                              in_quotes(plugins_[index]->name()) + " returns an invalid score " +
                              std::to_string(score) + " for node " +
                              std::string(view(rows[i]->node->meta.name)) +
                              ", it should in the range of [" + std::to_string(kMinScore) + ", " +
                              std::to_string(kMaxScore) + "] after normalizing"),
                 index);
  }
  return {};
}

Status Framework::run_normalize(PluginIndex index, const CycleContext& cycle,
                                const plimsoll_pod& pod, NodeRows rows,
                                std::span<int64_t> scores) const {
  Status status = normalize(index, cycle, pod, rows, scores);
  return status.ok() ? check_range(index, rows, scores) : status;
}

// All plugins score, then all normalize, then all are checked and weighted: whose error a pod gets
// to see depends on it.
Status Framework::run_score(const CycleContext& cycle, const plimsoll_pod& pod, NodeRows feasible,
                            ScoreTable& out, bool parts) const {
  out.totals.assign(feasible.size(), 0);
  out.parts.clear();
  thread_local std::vector<std::vector<int64_t>> columns;  // kept, so that a call allocates nothing
  const auto slots = at(ExtensionPoint::kScore);
  if (columns.size() < slots.size()) columns.resize(slots.size());
  const auto each = [&](const auto& step) {
    for (size_t i = 0; i < slots.size(); ++i) {
      if (cycle.skip_score.test(slots[i].plugin)) continue;
      if (Status status = step(slots[i], columns[i]); !status.ok()) return status;
    }
    return Status();
  };
  Status status = each([&](const Slot& slot, std::vector<int64_t>& scores) {
    scores.resize(feasible.size());
    return run_raw_score(slot.plugin, cycle, pod, feasible, scores);
  });
  if (status.ok()) {
    status = each([&](const Slot& slot, std::vector<int64_t>& scores) {
      return normalize(slot.plugin, cycle, pod, feasible, scores);
    });
  }
  if (!status.ok()) return status;
  // Of a piece at a time all plugins, while its totals are in the cache.
  bool within = true;
  for (size_t begin = 0; begin < feasible.size(); begin += kPiece) {
    const size_t count = std::min(kPiece, feasible.size() - begin);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (cycle.skip_score.test(slots[i].plugin)) continue;
      const int64_t* scores = columns[i].data() + begin;
      within = all_within(scores, count, kMaxScore) && within;
      add_weighted(scores, count, slots[i].weight, out.totals.data() + begin);
    }
  }
  if (within && !parts) return {};
  return each([&](const Slot& slot, std::vector<int64_t>& scores) {
    if (Status checked = check_range(slot.plugin, feasible, scores); !checked.ok()) return checked;
    if (!parts) return Status();
    for (int64_t& score : scores) score *= slot.weight;
    out.parts.push_back({slot.plugin, scores});
    return Status();
  });
}

Status Framework::run_reserve(CycleContext& cycle, const plimsoll_pod& pod,
                              const plimsoll_node_info& node) {
  for (const Slot& slot : at(ExtensionPoint::kReserve)) {
    PluginInstance& run = plugin(slot);
    if (run.slots().reserve == nullptr) continue;  // it only wants to hear of unreserve
    uint32_t reason = 0;
    const int32_t code =
        call_plugin({metrics_.get(), cycle.time_plugins, slot.plugin, metrics::Point::kReserve},
                    run, run.slots().reserve, &cycle, &pod, &node, &reason);
    if (code != PLIMSOLL_SUCCESS) {
      return rejection(slot.plugin, code, reason,
                       "running Reserve plugin " + in_quotes(run.name()));
    }
  }
  return {};
}

void Framework::run_unreserve(CycleContext& cycle, const plimsoll_pod& pod,
                              std::string_view node_name) {
  const auto slots = at(ExtensionPoint::kReserve);
  for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) {
    PluginInstance& run = plugin(*slot);
    if (run.slots().unreserve != nullptr) {
      const metrics::PluginTimer timer(metrics_.get(), cycle.time_plugins, slot->plugin,
                                       metrics::Point::kUnreserve);
      call_slot(run, "Unreserve", run.slots().unreserve, &cycle, &pod, str(node_name));
      timer.end(PLIMSOLL_SUCCESS);
    }
  }
}

PermitOutcome Framework::run_permit(CycleContext& cycle, const plimsoll_pod& pod,
                                    const plimsoll_node_info& node) {
  PermitOutcome out;
  for (const Slot& slot : at(ExtensionPoint::kPermit)) {
    PluginInstance& run = plugin(slot);
    uint32_t reason = 0;
    int64_t timeout_ms = 0;
    const int32_t code =
        call_plugin({metrics_.get(), cycle.time_plugins, slot.plugin, metrics::Point::kPermit}, run,
                    run.slots().permit, &cycle, &pod, &node, &timeout_ms, &reason);
    if (code == PLIMSOLL_WAIT) {
      out.waits.push_back({run.name(), std::clamp(timeout_ms, int64_t{0}, kMaxPermitMs)});
    } else if (code != PLIMSOLL_SUCCESS) {
      out.status =
          rejection(slot.plugin, code, reason, "running Permit plugin " + in_quotes(run.name()));
      out.waits.clear();
      return out;
    }
  }
  if (!out.waits.empty()) out.status.code = Code::kWait;
  return out;
}

}  // namespace plimsoll

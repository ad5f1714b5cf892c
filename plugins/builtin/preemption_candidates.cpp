#include "plugins/builtin/preemption_candidates.hpp"

#include <algorithm>
#include <tuple>

namespace plimsoll::builtin {
namespace {

using namespace sdk;

// A pod that has not started counts as started now.
int64_t start_of(Pod pod, int64_t now_ms) {
  return pod->start_ms != 0 ? pod->start_ms : now_ms;
}

// GetEarliestPodStartTime. The victims come with the highest priority first.
int64_t earliest_start(const std::vector<Pod>& victims, int64_t now_ms) {
  int64_t earliest = start_of(victims.front(), now_ms);
  for (Pod victim : victims) {
    if (victim->priority != victims.front()->priority) break;
    earliest = std::min(earliest, start_of(victim, now_ms));
  }
  return earliest;
}

// Priorities are made positive, so that many victims of a negative priority are not better than few
// of the same.
int64_t sum_of_priorities(const std::vector<Pod>& victims) {
  int64_t sum = 0;
  for (Pod victim : victims) sum += int64_t{victim->priority} + (int64_t{1} << 31);
  return sum;
}

}  // namespace

bool more_important(Pod a, Pod b, int64_t now_ms) {
  if (a->priority != b->priority) return a->priority > b->priority;
  return start_of(a, now_ms) < start_of(b, now_ms);
}

size_t wanted_candidates(size_t nodes, int64_t percentage, int64_t absolute) {
  const auto share = nodes * static_cast<size_t>(percentage) / 100;
  return std::min(std::max(share, static_cast<size_t>(absolute)), nodes);
}

const Candidate& pick_candidate(const std::vector<Candidate>& candidates, int64_t now_ms) {
  const auto badness = [now_ms](const Candidate& candidate) {
    return std::tuple(candidate.violations, candidate.victims.front()->priority,
                      sum_of_priorities(candidate.victims), candidate.victims.size(),
                      -earliest_start(candidate.victims, now_ms));
  };
  return *std::min_element(
      candidates.begin(), candidates.end(),
      [&](const Candidate& a, const Candidate& b) { return badness(a) < badness(b); });
}

PreemptionDryRun::PreemptionDryRun(const Host& host, const DisruptionBudgets& budgets)
    : host_(host),
      budgets_(budgets),
      no_victims_(host.reason("No preemption victims found for incoming pod")) {}

DryRun PreemptionDryRun::run(const plimsoll_cycle& cycle, Pod pod, const std::vector<Node>& nodes,
                             size_t offset, size_t wanted, const plimsoll_columns* columns) const {
  DryRun result;
  std::vector<Candidate> violating;
  std::vector<Node> failing;
  const int64_t now_ms = host_.now_ms();
  const auto look_at = [&](Node node) {
    Candidate candidate;
    const Status status = select_victims(cycle, pod, node, now_ms, candidate);
    if (status.ok()) {
      candidate.slot = node.slot();
      candidate.node = node.name();
      (candidate.violations == 0 ? result.candidates : violating).push_back(std::move(candidate));
    } else if (status.code != PLIMSOLL_ERROR) {
      result.others.push_back({std::string(node.name()), status});
    }
    return status.code != PLIMSOLL_ERROR;
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node node = nodes[(offset + i) % nodes.size()];
    if (columns != nullptr && columns->lowest_priority[node.slot()] >= pod->priority) {
      ++result.passed_over;
      continue;
    }
    if (!look_at(node)) failing.push_back(node);
    if (!result.candidates.empty() && result.candidates.size() + violating.size() >= wanted) break;
  }
  // The calls after a failure have taken the place of its text: ask for it again, last of all.
  for (size_t i = 0; i < failing.size() && !result.failed; ++i) {
    if (!result.candidates.empty() || !violating.empty()) break;
    result.failed = !look_at(failing[i]);
  }
  std::move(violating.begin(), violating.end(), std::back_inserter(result.candidates));
  return result;
}

Status PreemptionDryRun::select_victims(const plimsoll_cycle& cycle, Pod pod, Node node,
                                        int64_t now_ms, Candidate& out) const {
  std::vector<Pod> lower;
  for (const plimsoll_pod* other : node.pods()) {
    if (other->priority < pod->priority) lower.emplace_back(other);
  }
  if (lower.empty()) return Status::unresolvable(no_victims_);
  const WhatIf what_if = host_.what_if(cycle, pod, node.slot());
  if (!what_if) return host_.error("there is no node " + std::string(node.name()));
  for (Pod victim : lower) {
    if (const Status status = what_if.remove_pod(victim); !status.ok()) return status;
  }
  if (const Status status = what_if.filter(); !status.ok()) return status;

  // As many as possible are spared, the most important first, and before them those whose eviction
  // would break a budget.
  const auto by_importance = [now_ms](Pod a, Pod b) { return more_important(a, b, now_ms); };
  std::stable_sort(lower.begin(), lower.end(), by_importance);
  const std::vector<bool> violates = budgets_.violations(lower);
  for (const bool violating : {true, false}) {
    for (size_t i = 0; i < lower.size(); ++i) {
      if (violates[i] != violating) continue;
      if (const Status status = what_if.add_pod(lower[i]); !status.ok()) return status;
      const Status fits = what_if.filter();
      if (fits.ok()) continue;
      if (fits.code == PLIMSOLL_ERROR) return fits;
      if (const Status status = what_if.remove_pod(lower[i]); !status.ok()) return status;
      out.victims.push_back(lower[i]);
      if (violating) ++out.violations;
    }
  }
  if (out.victims.empty()) {
    return host_.error("preemption: expected at least one victim pod on node \"" +
                       std::string(node.name()) + "\"");
  }
  std::stable_sort(out.victims.begin(), out.victims.end(), by_importance);
  return Status::success();
}

}  // namespace plimsoll::builtin

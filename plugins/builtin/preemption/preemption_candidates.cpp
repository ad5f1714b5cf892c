#include "plugins/builtin/preemption/preemption_candidates.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "plugins/builtin/preemption/kept_trials.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

// Budgets and importance are looked at of each of them, for every node.
constexpr size_t kMostVictimsElsewhere = 20'000;

// A pod that has not started counts as started now.
int64_t start_of(Pod pod, int64_t now_ms) {
  return pod->start_ms != 0 ? pod->start_ms : now_ms;
}

CandidateRank rank_of(const std::vector<Pod>& victims, int64_t violations) {
  CandidateRank rank;
  rank.violations = violations;
  rank.highest_priority = victims.front()->priority;
  rank.victims = victims.size();
  rank.earliest_start = INT64_MAX;
  for (Pod victim : victims) {
    // Priorities are made positive, so that many victims of a negative priority are not better than
    // few of the same.
    rank.priorities += int64_t{victim->priority} + (int64_t{1} << 31);
    if (victim->priority != rank.highest_priority) continue;
    if (victim->start_ms == 0) {
      rank.all_started = false;
    } else {
      rank.earliest_start = std::min(rank.earliest_start, victim->start_ms);
    }
  }
  return rank;
}

// GetEarliestPodStartTime.
int64_t earliest_start(const CandidateRank& rank, int64_t now_ms) {
  return rank.all_started ? rank.earliest_start : std::min(rank.earliest_start, now_ms);
}

bool is_better(const CandidateRank& a, const CandidateRank& b, int64_t now_ms) {
  const auto badness = [now_ms](const CandidateRank& rank) {
    return std::tuple(rank.violations, rank.highest_priority, rank.priorities, rank.victims,
                      -earliest_start(rank, now_ms));
  };
  return badness(a) < badness(b);
}

std::string described(const Trial& trial) {
  if (!trial.status.ok()) return "no candidate, for reason " + std::to_string(trial.status.reason);
  std::string text = std::to_string(trial.rank.violations) + " violations, victims";
  for (Pod victim : trial.victims) text += " " + std::string(victim.name());
  return text;
}

}  // namespace

Trial::Trial(std::string node_name, uint32_t node_slot, std::vector<Pod> who, int64_t violations)
    : node(std::move(node_name)),
      slot(node_slot),
      victims(std::move(who)),
      rank(rank_of(victims, violations)) {}

bool Trial::same_as(const Trial& other) const {
  return status.code == other.status.code && status.reason == other.status.reason &&
         rank.violations == other.rank.violations &&
         std::equal(victims.begin(), victims.end(), other.victims.begin(), other.victims.end(),
                    [](Pod a, Pod b) { return &*a == &*b; });
}

bool more_important(Pod a, Pod b, int64_t now_ms) {
  if (a->priority != b->priority) return a->priority > b->priority;
  return start_of(a, now_ms) < start_of(b, now_ms);
}

void add_pods(const VictimUnit& unit, std::vector<Pod>& pods) {
  for (const plimsoll_pod* pod : unit.pods) pods.emplace_back(pod);
}

size_t wanted_candidates(size_t nodes, int64_t percentage, int64_t absolute) {
  const auto share = nodes * static_cast<size_t>(percentage) / 100;
  return std::min(std::max(share, static_cast<size_t>(absolute)), nodes);
}

const Trial& pick_candidate(const Trials& candidates, int64_t now_ms) {
  return **std::min_element(
      candidates.begin(), candidates.end(),
      [now_ms](const Trial* a, const Trial* b) { return is_better(a->rank, b->rank, now_ms); });
}

// The nodes that one run has looked at.
class PreemptionDryRun::Walk {
 public:
  Walk(const PreemptionDryRun& dry_run, const plimsoll_cycle& cycle, Pod pod, const Search& search)
      : dry_run_(dry_run),
        cycle_(cycle),
        pod_(pod),
        now_ms_(dry_run.host_.now_ms()),
        groups_(search.groups),
        keeper_(search.keeper),
        kept_(KeptTrials::of(search.keeper, pod->priority)) {
    if (kept_ == nullptr) return;
    const std::vector<std::string_view> look_beyond = keeper_->look_beyond();
    if (look_beyond.empty()) return;
    affinity_ = search.affinity;
    const bool known = affinity_ != nullptr && look_beyond.size() == 1 &&
                       look_beyond.front() == "InterPodAffinity";
    if (!known) kept_ = nullptr;
  }

  // False: a plugin failed.
  bool look_at(const PotentialNode& at) {
    const uint64_t basis = kept_ == nullptr ? 0 : basis_of(at);
    const Trial* known =
        kept_ == nullptr ? nullptr : kept_->find(at.slot, dry_run_.budgets_, basis);
    if (known == nullptr || keeper_->is_check()) known = try_now(at, known, basis);
    switch (known->status.code) {
      case PLIMSOLL_SUCCESS:
        (known->rank.violations == 0 ? result_.candidates : violating_).push_back(known);
        return true;
      case PLIMSOLL_ERROR:
        return false;
      default:
        result_.others.push_back(known);
        return true;
    }
  }
  void pass_over() { ++result_.passed_over; }
  [[nodiscard]] bool found_any() const {
    return !result_.candidates.empty() || !violating_.empty();
  }
  [[nodiscard]] bool found(size_t wanted) const {
    if (found_any() && victims_elsewhere_ > kMostVictimsElsewhere) return true;
    return !result_.candidates.empty() && result_.candidates.size() + violating_.size() >= wanted;
  }
  DryRun finish(bool failed) {
    auto& candidates = result_.candidates;
    candidates.insert(candidates.end(), violating_.begin(), violating_.end());
    result_.failed = failed;
    return std::move(result_);
  }

 private:
  // What a dry run on the node rests on beyond it.
  [[nodiscard]] uint64_t basis_of(const PotentialNode& at) const {
    if (affinity_ == nullptr) return 0;
    std::vector<Pod> nominated;
    if (keeper_->has_nominated(at.slot)) {
      nominated = dry_run_.host_.nominated_pods(at.node.name());
      std::erase_if(nominated, [this](Pod other) { return other->priority < pod_->priority; });
    }
    return affinity_->of(cycle_, pod_, at.node, nominated);
  }
  const Trial* try_now(const PotentialNode& at, const Trial* known, uint64_t basis) {
    auto trial =
        std::make_unique<Trial>(dry_run_.try_node(cycle_, pod_, at.node, now_ms_, groups_, whole_));
    victims_elsewhere_ +=
        trial->victims.size() - std::min(trial->victims.size(), at.node.pods().size());
    const bool failed = trial->status.code == PLIMSOLL_ERROR;
    if (known != nullptr && !failed && !trial->same_as(*known)) {
      keeper_->differs(*at.node, described(*known), described(*trial));
      known = nullptr;
    }
    if (known != nullptr && !failed) return known;
    // What ends a Pending verdict wakes only pods whose attempt got it.
    const bool lasts = trial->lasts && trial->status.code != PLIMSOLL_PENDING;
    if (known == nullptr && kept_ != nullptr && lasts && !failed) {
      trial->basis = basis;
      keeper_->hold_reason(trial->status.reason);
      return kept_->keep(std::move(trial));
    }
    return result_.own.emplace_back(std::move(trial)).get();
  }

  const PreemptionDryRun& dry_run_;
  const plimsoll_cycle& cycle_;
  Pod pod_;
  int64_t now_ms_;
  const GroupDryRun* groups_;
  const DryRunKeeper* keeper_;
  KeptTrials* kept_;                         // null: nothing is kept
  const AffinityBasis* affinity_ = nullptr;  // null: no filter looks beyond the node
  DryRun result_;
  Trials violating_;
  WholeGroups whole_;
  size_t victims_elsewhere_ = 0;  // those who go with one on the node, of all nodes
};

PreemptionDryRun::PreemptionDryRun(const Host& host, const DisruptionBudgets& budgets)
    : host_(host),
      budgets_(budgets),
      no_victims_(host.reason("No preemption victims found for incoming pod")) {}

DryRun PreemptionDryRun::run(const plimsoll_cycle& cycle, Pod pod,
                             std::span<const PotentialNode> nodes, const Search& search) const {
  Walk walk(*this, cycle, pod, search);
  std::vector<PotentialNode> failing;
  size_t at = nodes.empty() ? 0 : search.offset % nodes.size();
  for (size_t looked_at = 0; looked_at < nodes.size(); ++looked_at) {
    const PotentialNode& node = nodes[at];
    if (++at == nodes.size()) at = 0;
    if (search.columns != nullptr && search.columns->lowest_priority[node.slot] >= pod->priority) {
      walk.pass_over();
      continue;
    }
    if (!walk.look_at(node)) failing.push_back(node);
    if (walk.found(search.wanted)) break;
  }
  // The calls after a failure have taken the place of its text: ask for it again, last of all.
  bool failed = false;
  for (size_t i = 0; i < failing.size() && !failed && !walk.found_any(); ++i) {
    failed = !walk.look_at(failing[i]);
  }
  return walk.finish(failed);
}

Trial PreemptionDryRun::try_node(const plimsoll_cycle& cycle, Pod pod, Node node, int64_t now_ms,
                                 const GroupDryRun* groups, WholeGroups& whole) const {
  std::vector<VictimUnit> own;
  own.reserve(node.pods().size());
  std::vector<UnitHere> lower;
  std::unordered_map<const VictimUnit*, size_t> at;  // in `lower`, of whole groups
  Trial trial;
  for (const plimsoll_pod* other : node.pods()) {
    const bool of_group = groups != nullptr && PLIMSOLL_HAS(other, group) && other->group.len != 0;
    const bool stays = of_group && other->meta.deletion_ms == 0;
    const std::pair name(view(other->meta.ns), view(other->group));
    auto known = stays ? whole.find(name) : whole.end();
    if (known == whole.end()) {
      VictimUnit unit = of_group ? groups->unit_of(*other) : VictimUnit{{other}, other->priority};
      if (unit.is_whole_group && stays) {
        known = whole.emplace(name, std::move(unit)).first;
      } else {
        own.push_back(std::move(unit));
      }
    }
    const VictimUnit& unit = known != whole.end() ? known->second : own.back();
    // Of two pods, one started later than now and one not yet, either is the older one in time.
    if (unit.is_whole_group || other->start_ms > now_ms) trial.lasts = false;
    if (unit.priority >= pod->priority) continue;
    const size_t index =
        known != whole.end() ? at.try_emplace(&unit, lower.size()).first->second : lower.size();
    if (index == lower.size()) lower.push_back({&unit, {}});
    lower[index].here.push_back(other);
  }
  trial.node = node.name();
  trial.slot = node.slot();
  if (lower.empty()) {
    trial.status = Status::unresolvable(no_victims_);
    return trial;
  }
  const WhatIf what_if = host_.what_if(cycle, pod, node.slot());
  trial.status = what_if ? select_victims(what_if, lower, now_ms, trial)
                         : host_.error("there is no node " + trial.node);
  return trial;
}

Status PreemptionDryRun::select_victims(const WhatIf& what_if, std::vector<UnitHere>& lower,
                                        int64_t now_ms, Trial& out) const {
  const auto move = [&](const UnitHere& unit, bool added) {
    for (const plimsoll_pod* pod : unit.here) {
      const Status status = added ? what_if.add_pod(Pod(pod)) : what_if.remove_pod(Pod(pod));
      if (!status.ok()) return status;
    }
    return Status::success();
  };
  for (const UnitHere& unit : lower) {
    if (const Status status = move(unit, false); !status.ok()) return status;
  }
  if (const Status status = what_if.filter(); !status.ok()) return status;

  // As many as possible are spared, the most important first, and before them those whose eviction
  // would break a budget.
  std::ranges::stable_sort(lower, [now_ms](const UnitHere& a, const UnitHere& b) {
    return a.who->more_important_than(*b.who, now_ms);
  });
  std::vector<Pod> pods;
  for (const UnitHere& unit : lower) add_pods(*unit.who, pods);
  const std::vector<bool> violates = budgets_.violations(pods);
  out.budgets = budgets_.mark(pods);
  int64_t violations = 0;
  for (const bool violating : {true, false}) {
    auto broken = violates.begin();
    for (const UnitHere& unit : lower) {
      const auto end = broken + static_cast<ptrdiff_t>(unit.who->pods.size());
      const int64_t breaks = std::count(std::exchange(broken, end), end, true);
      if ((breaks != 0) != violating) continue;
      if (const Status status = move(unit, true); !status.ok()) return status;
      const Status fits = what_if.filter();
      if (fits.ok()) continue;
      if (fits.code == PLIMSOLL_ERROR) return fits;
      if (const Status status = move(unit, false); !status.ok()) return status;
      add_pods(*unit.who, out.victims);
      violations += breaks;
    }
  }
  if (out.victims.empty()) {
    return host_.error("preemption: expected at least one victim pod on node \"" + out.node + "\"");
  }
  std::ranges::stable_sort(out.victims,
                           [now_ms](Pod a, Pod b) { return more_important(a, b, now_ms); });
  out.rank = rank_of(out.victims, violations);
  return Status::success();
}

}  // namespace plimsoll::builtin

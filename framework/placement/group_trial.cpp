#include "framework/placement/group_trial.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "framework/api/lists.hpp"
#include "framework/base/thread_time.hpp"
#include "framework/placement/group_run.hpp"

namespace plimsoll {
namespace {

// So many nodes where evictions would help are enough for a choice; fewer for pods whose nodes are
// all tried again with each member.
constexpr size_t kEnoughRows = 100, kEnoughFreshRows = 16;
// A pod whose grace period has longer to go than this counts as one that stays: whoever makes pods
// chooses it.
constexpr int64_t kLongestGraceMs = 10 * 60'000;
// Each kind keeps what it knows of every node.
size_t most_kinds_to_evict(size_t nodes) {
  return std::clamp(400'000 / (nodes + 1), GroupTrial::kMaxKinds, size_t{512});
}

class EvictionRun {
 public:
  using Eviction = GroupDryRun::Eviction;
  using Outcome = Eviction::Outcome;

  EvictionRun(const GroupDryRun::EvictionQuery& query, const ClusterState& cluster,
              const Nominator& nominator, const GroupTrial::FrameworkOf& framework_of,
              const GroupTrial::UnitOf& unit_of, int64_t longest_ms)
      : query_(query),
        cluster_(cluster),
        nominator_(nominator),
        framework_of_(framework_of),
        unit_of_(unit_of),
        looks_left_(4 * GroupTrial::most_looks(cluster.row_slots().size())),
        looks_for_places_(looks_left_ / 4 * 3),
        most_kinds_(most_kinds_to_evict(cluster.row_slots().size())),
        nodes_(cluster, framework_of, most_kinds_, looks_left_, thread_time_ms() + longest_ms) {}

  Eviction run() {
    Eviction answer;
    if (!begin(nodes_, members_)) {
      answer.outcome = Outcome::kTooMuch;
      return answer;
    }
    std::optional<Plan> plan;
    if (remove_going(nodes_) && in_each_domain([this] { return fits_without_victims(); })) {
      answer.outcome = Outcome::kWaits;
      answer.until_ms = until_ms_;
      return answer;
    }
    nodes_.set_units(find_units());
    if (nodes_.units().empty()) {
      answer.outcome = Outcome::kNoVictims;
      return answer;
    }
    static_cast<void>(in_each_domain([&] {
      find_plan(answer, plan);
      return nodes_.tired();
    }));
    if (!plan && nodes_.tired()) answer.outcome = Outcome::kTooMuch;
    if (!plan || !holds(*plan)) return answer;
    answer.outcome = Outcome::kFound;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (plan->rows[i] == GroupRun::kNoRow) continue;
      answer.places.push_back({members_[i].pod, nodes_.node_at(plan->rows[i]).name()});
    }
    for (const size_t each : plan->victims) answer.victims.push_back(nodes_.units()[each].who);
    std::ranges::stable_sort(answer.victims, [this](const VictimUnit& a, const VictimUnit& b) {
      return a.more_important_than(b, query_.now_ms);
    });
    return answer;
  }

 private:
  struct Member {
    const plimsoll_pod* pod;
    GroupRun::Kind* kind;
    size_t row = GroupRun::kNoRow;
  };
  using Members = std::vector<Member>;
  using Order = std::vector<size_t>;  // of members
  struct Plan {
    size_t placed = 0;
    GroupRun::Cost cost;
    std::vector<size_t> rows;  // by member
    std::vector<size_t> victims;

    [[nodiscard]] bool better_than(const Plan& other) const {
      return placed != other.placed ? placed > other.placed : cost < other.cost;
    }
  };

  // Until `visit` says that it is enough.
  template <typename Visit>
  bool in_each_domain(const Visit& visit) {
    const auto look = [&](const std::span<const uint32_t> slots) {
      rows_.clear();
      const std::vector<uint32_t>& all = cluster_.row_slots();
      for (const uint32_t slot : slots) {
        const auto at = std::ranges::lower_bound(all, slot);
        if (at != all.end() && *at == slot) rows_.push_back(static_cast<size_t>(at - all.begin()));
      }
      for (const Member& member : members_) member.kind->row = 0;
      return !rows_.empty() && visit();
    };
    if (query_.domains.empty()) return look(cluster_.row_slots());
    return std::ranges::any_of(query_.domains, look);
  }

  // False: there are too many kinds.
  bool begin(GroupRun& nodes, Members& members) {
    nodes.leave_room_for_nominated(nominator_, query_.members);
    for (const plimsoll_pod* member : query_.members) {
      GroupRun::Kind* kind = nodes.kind_of(*member);
      if (kind == nullptr) return false;
      members.push_back({member, kind});
    }
    return true;
  }

  // Their room is about to be free. Not for ever: the node's agent may have died.
  bool remove_going(GroupRun& nodes) {
    bool any = false;
    for (size_t row = 0; row < nodes.row_count(); ++row) {
      std::vector<const plimsoll_pod*> going;
      for (const PodRef& pod : nodes.node_at(row).pods()) {
        if (pod->meta.deletion_ms == 0) continue;
        const int64_t left = pod->meta.deletion_ms - query_.now_ms;
        if (left <= -GroupTrial::kLongestWaitMs || left > kLongestGraceMs) continue;
        going.push_back(pod.get());
        until_ms_ = std::min(until_ms_, pod->meta.deletion_ms + GroupTrial::kLongestWaitMs);
      }
      for (const plimsoll_pod* pod : going) nodes.change(*pod, row, false);
      any = any || !going.empty();
    }
    return any;
  }

  bool fits_without_victims() {
    const size_t begin = nodes_.mark();
    const bool fits = place_in(as_given(), false).placed >= query_.needed;
    nodes_.roll_back(begin);
    return fits;
  }

  // Those to be kept first: who breaks a budget, then who is more important.
  std::vector<GroupRun::Unit> find_units() {
    std::vector<GroupRun::Unit> units;
    std::unordered_set<const plimsoll_pod*> seen;
    for (const uint32_t slot : cluster_.row_slots()) {
      for (const PodRef& pod : cluster_.node_at(slot)->pods()) {
        const bool is_alone = !PLIMSOLL_HAS(pod.get(), group) || pod->group.len == 0;
        if (pod->meta.deletion_ms != 0 || (is_alone && pod->priority >= query_.priority)) continue;
        if (seen.contains(pod.get())) continue;
        GroupRun::Unit unit{unit_of_(*pod), {}};
        if (unit.who.is_whole_group) seen.insert(unit.who.pods.begin(), unit.who.pods.end());
        if (unit.who.priority >= query_.priority) continue;
        for (const plimsoll_pod* one : unit.who.pods)
          unit.rows.push_back(nodes_.row_of(view(one->node_name)));
        units.push_back(std::move(unit));
      }
    }
    std::ranges::stable_sort(units, [this](const GroupRun::Unit& a, const GroupRun::Unit& b) {
      return a.who.more_important_than(b.who, query_.now_ms);
    });
    std::vector<const plimsoll_pod*> pods;
    for (const auto& unit : units)
      pods.insert(pods.end(), unit.who.pods.begin(), unit.who.pods.end());
    const std::vector<bool> breaks = query_.breaks(pods);
    size_t at = 0;
    for (auto& unit : units) {
      for (size_t i = 0; i < unit.who.pods.size(); ++i)
        unit.breaks_budget = breaks[at++] || unit.breaks_budget;
    }
    std::stable_partition(units.begin(), units.end(),
                          [](const GroupRun::Unit& unit) { return unit.breaks_budget; });
    return units;
  }

  // ---- places

  Order as_given() const {
    Order order(members_.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
  }

  Order by_size() const {
    const std::vector<double> sizes = sizes_of(query_.members);
    Order order = as_given();
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
    return order;
  }

  // The best of several orders. What comes of the first is told if none is enough.
  void find_plan(Eviction& answer, std::optional<Plan>& best) {
    const size_t begin = nodes_.mark();
    std::vector<Order> tried;
    Order order = as_given();
    for (int round = 0; round <= GroupTrial::kMaxRounds; ++round) {
      if (std::ranges::find(tried, order) == tried.end()) {
        tried.push_back(order);
        Plan plan = place_in(order, true);
        if (round == 0) {
          answer.placed = plan.placed;
          answer.remaining = remaining_;
        }
        if (plan.placed >= query_.needed) {
          spare(order, plan);
          if (!best || plan.better_than(*best)) best = plan;
        }
        nodes_.roll_back(begin);
        while (!nodes_.gone().empty()) nodes_.set_gone(*nodes_.gone().begin(), false, false);
        // Who found none goes first: others have taken the only place that was its.
        std::stable_partition(order.begin(), order.end(),
                              [&](size_t each) { return plan.rows[each] == GroupRun::kNoRow; });
      }
      if (Order sized = by_size(); round == 0 && sized != tried.front()) order = std::move(sized);
      if (nodes_.tired()) break;
    }
  }

  Plan place_in(const Order& order, bool evict) {
    Plan plan;
    remaining_ = order.size();
    for (Member& member : members_) member.row = GroupRun::kNoRow;
    // Kinds that had no place, and after how many changes: rows that are known cost no look.
    std::map<const GroupRun::Kind*, size_t> none;
    for (const size_t each : order) {
      if (plan.placed + remaining_ < query_.needed || nodes_.tired()) break;
      --remaining_;
      Member& member = members_[each];
      if (member.kind->framework == nullptr || !member.kind->framework->go_on().ok()) break;
      if (const auto at = none.find(member.kind); at != none.end() && at->second == nodes_.mark())
        continue;
      size_t row = room_as_it_is(member);
      if (row == GroupRun::kNoRow && evict) row = room_by_eviction(member);
      if (row == GroupRun::kNoRow) {
        none[member.kind] = nodes_.mark();
        continue;
      }
      put(member, row);
      ++plan.placed;
    }
    note(plan);
    return plan;
  }

  void note(Plan& plan) {
    plan.rows.clear();
    for (const Member& member : members_) plan.rows.push_back(member.row);
    plan.victims.clear();
    plan.cost = {};
    for (const size_t each : nodes_.gone()) {
      plan.victims.push_back(each);
      plan.cost.add(nodes_.units()[each]);
    }
  }

  void put(Member& member, size_t row) {
    member.row = row;
    nodes_.change(*member.pod, row, true);
  }

  size_t room_as_it_is(const Member& member) {
    GroupRun::Kind& kind = *member.kind;
    for (size_t i = 0; i < rows_.size() && !nodes_.tired(); ++i) {
      const size_t at = (kind.row + i) % rows_.size();
      if (!nodes_.fits_as_it_is(kind, *member.pod, rows_[at])) continue;
      kind.row = at;
      return rows_[at];
    }
    return GroupRun::kNoRow;
  }

  // Where it costs the least.
  size_t room_by_eviction(const Member& member) {
    GroupRun::Kind& kind = *member.kind;
    size_t best = GroupRun::kNoRow;
    const size_t enough = kind.is_shared ? kEnoughRows : kEnoughFreshRows;
    size_t found = 0;
    for (const size_t row : rows_) {
      if (nodes_.tired()) break;
      if (found >= enough && !nodes_.is_known(kind, row)) continue;
      const GroupRun::Trial& trial = nodes_.trial(kind, *member.pod, row);
      if (!trial.fits) continue;
      if (trial.cost.violations == 0) ++found;
      if (best == GroupRun::kNoRow || trial.cost < kind.trials[best].cost) best = row;
    }
    if (best == GroupRun::kNoRow) return best;
    const std::vector<size_t> evicts = kind.trials[best].evicts;
    for (const size_t each : evicts) nodes_.set_gone(each, true);
    return best;
  }

  // ---- as few as can be

  // Puts victims back: those on whose nodes the members have room beside them, or elsewhere.
  void spare(const Order& order, Plan& plan) {
    const std::set<size_t> gone = nodes_.gone();
    for (const size_t which : gone) {
      if (looks_left_ < looks_for_places_) break;
      const GroupRun::Unit& unit = nodes_.units()[which];
      const size_t before = nodes_.mark();
      const Members places = members_;
      Order moved;
      for (const size_t each : order) {
        const Member& member = members_[each];
        if (member.row == GroupRun::kNoRow) continue;
        const bool beside = std::ranges::find(unit.rows, member.row) != unit.rows.end();
        if (beside || !member.kind->is_shared) moved.push_back(each);
      }
      for (const size_t each : moved) nodes_.change(*members_[each].pod, members_[each].row, false);
      nodes_.set_gone(which, false);
      const bool fits = std::ranges::all_of(moved, [this](size_t each) {
        Member& member = members_[each];
        const bool stays = nodes_.fits_as_it_is(*member.kind, *member.pod, member.row);
        const size_t row = stays ? member.row : room_as_it_is(member);
        if (row != GroupRun::kNoRow) put(member, row);
        return row != GroupRun::kNoRow;
      });
      if (fits) continue;
      nodes_.roll_back(before);
      nodes_.set_gone(which, true, false);
      members_ = places;
    }
    note(plan);
  }

  // The plan from the start, with only its victims gone, in the order in which the group is tried.
  bool holds(const Plan& plan) {
    size_t looks_left = SIZE_MAX;
    GroupRun nodes(cluster_, framework_of_, most_kinds_, looks_left, INT64_MAX);
    Members members;
    if (!begin(nodes, members)) return false;
    remove_going(nodes);
    for (const size_t each : plan.victims) {
      const GroupRun::Unit& unit = nodes_.units()[each];
      for (size_t i = 0; i < unit.rows.size(); ++i) {
        if (unit.rows[i] != GroupRun::kNoRow) nodes.change(*unit.who.pods[i], unit.rows[i], false);
      }
    }
    for (size_t i = 0; i < members.size(); ++i) {
      const size_t row = plan.rows[i];
      if (row == GroupRun::kNoRow) continue;
      if (!nodes.passes(*members[i].kind, *members[i].pod, row)) return false;
      nodes.change(*members[i].pod, row, true);
    }
    return true;
  }

  const GroupDryRun::EvictionQuery& query_;
  const ClusterState& cluster_;
  const Nominator& nominator_;
  const GroupTrial::FrameworkOf& framework_of_;
  const GroupTrial::UnitOf& unit_of_;
  size_t looks_left_;
  const size_t looks_for_places_;  // are not spent on fewer victims
  const size_t most_kinds_;
  GroupRun nodes_;
  Members members_;
  std::vector<size_t> rows_;      // where they may go
  size_t remaining_ = 0;          // members that were not tried
  int64_t until_ms_ = INT64_MAX;  // see Eviction
};

}  // namespace

std::vector<double> sizes_of(std::span<const plimsoll_pod* const> pods) {
  std::map<uint32_t, int64_t> most;  // by resource
  for (const plimsoll_pod* pod : pods) {
    for (const auto& request : items<plimsoll_resource>(pod->requests))
      most[request.index] = std::max(most[request.index], request.value);
  }
  std::vector<double> sizes;
  for (const plimsoll_pod* pod : pods) {
    double& size = sizes.emplace_back(0);
    for (const auto& request : items<plimsoll_resource>(pod->requests)) {
      if (request.value > 0)
        size += static_cast<double>(request.value) / static_cast<double>(most[request.index]);
    }
  }
  return sizes;
}

GroupDryRun::Eviction GroupTrial::evict(const EvictionQuery& query) const {
  if (cluster_.row_slots().empty()) return {};
  return EvictionRun(query, cluster_, nominator_, framework_of_, unit_of_, longest_ms_).run();
}

}  // namespace plimsoll

#include "framework/placement/group_trial.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "framework/api/lists.hpp"
#include "framework/placement/group_run.hpp"

namespace plimsoll {
namespace {

// So many nodes where evictions would help are enough for a choice; fewer for pods whose nodes are
// all tried again with each member.
constexpr size_t kEnoughRows = 100, kEnoughFreshRows = 16;
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
              const GroupTrial::UnitOf& unit_of, Slice& slice, int64_t longest_ms)
      : query_(query),
        cluster_(cluster),
        nominator_(nominator),
        framework_of_(framework_of),
        unit_of_(unit_of),
        slice_(slice),
        looks_left_(4 * GroupTrial::most_looks(cluster.row_slots().size())),
        looks_for_places_(looks_left_ / 4 * 3),
        most_kinds_(most_kinds_to_evict(cluster.row_slots().size())),
        nodes_(cluster, framework_of, most_kinds_, looks_left_, slice,
               slice.worked_ms() + longest_ms) {}

  Routine<Eviction> run() {
    Eviction answer;
    if (!co_await begin(nodes_, members_)) {
      answer.outcome = Outcome::kTooMuch;
      co_return answer;
    }
    if (co_await remove_going(nodes_)) {
      if (const auto plan = co_await fit_without_victims()) {
        answer.outcome = Outcome::kWaits;
        answer.until_ms = until_ms_;
        add_places(*plan, answer);
        co_return answer;
      }
    }
    nodes_.set_units(co_await find_units());
    co_await slice_.pause();
    if (nodes_.units().empty()) {
      answer.outcome = Outcome::kNoVictims;
      co_return answer;
    }
    std::optional<Plan> plan;
    for (const Slots domain : domains()) {
      if (enter(domain)) co_await find_plan(answer, plan);
      if (nodes_.tired()) break;
    }
    if (!plan && nodes_.tired()) answer.outcome = Outcome::kTooMuch;
    if (!plan || !co_await holds(*plan)) co_return answer;
    co_await slice_.pause();
    answer.outcome = Outcome::kFound;
    add_places(*plan, answer);
    for (const size_t each : plan->victims) answer.victims.push_back(nodes_.units()[each].who);
    std::ranges::stable_sort(answer.victims, [this](const VictimUnit& a, const VictimUnit& b) {
      return a.more_important_than(b, query_.now_ms);
    });
    co_return answer;
  }

 private:
  struct Member {
    const plimsoll_pod* pod;
    GroupRun::Kind* kind;
    size_t row = GroupRun::kNoRow;
  };
  using Members = std::vector<Member>;
  using Order = std::vector<size_t>;  // of members
  using Slots = std::span<const uint32_t>;
  struct Plan {
    size_t placed = 0;
    GroupRun::Cost cost;
    std::vector<size_t> rows;  // by member
    std::vector<size_t> victims;

    [[nodiscard]] bool better_than(const Plan& other) const {
      return placed != other.placed ? placed > other.placed : cost < other.cost;
    }
  };

  [[nodiscard]] std::vector<Slots> domains() const {
    if (query_.domains.empty()) return {cluster_.row_slots()};
    return {query_.domains.begin(), query_.domains.end()};
  }
  // Members go to these nodes from now on. False: there are none.
  bool enter(Slots slots) {
    rows_.clear();
    const std::vector<uint32_t>& all = cluster_.row_slots();
    for (const uint32_t slot : slots) {
      const auto at = std::ranges::lower_bound(all, slot);
      if (at != all.end() && *at == slot) rows_.push_back(static_cast<size_t>(at - all.begin()));
    }
    for (const Member& member : members_) member.kind->row = 0;
    return !rows_.empty();
  }

  // False: there are too many kinds.
  Routine<bool> begin(GroupRun& nodes, Members& members) {
    nodes.leave_room_for_nominated(nominator_, query_.members);
    for (const plimsoll_pod* member : query_.members) {
      co_await slice_.pause();
      GroupRun::Kind* kind = nodes.kind_of(*member);
      if (kind == nullptr) co_return false;
      members.push_back({member, kind});
    }
    co_return true;
  }

  // Their room is about to be free.
  Routine<bool> remove_going(GroupRun& nodes) {
    bool any = false;
    for (size_t row = 0; row < nodes.row_count(); ++row) {
      co_await slice_.pause();
      std::vector<const plimsoll_pod*> going;
      for (const PodRef& pod : nodes.node_at(row).pods()) {
        if (!GroupTrial::makes_room(*pod, query_.now_ms)) continue;
        going.push_back(pod.get());
        until_ms_ = std::min(until_ms_, pod->meta.deletion_ms + GroupTrial::kLongestWaitMs);
      }
      for (const plimsoll_pod* pod : going) nodes.change(*pod, row, false);
      any = any || !going.empty();
    }
    co_return any;
  }

  Routine<std::optional<Plan>> fit_without_victims() {
    const Order order = as_given();
    const size_t begin = nodes_.mark();
    for (const Slots domain : domains()) {
      if (!enter(domain)) continue;
      Plan plan = co_await place_in(order, false);
      nodes_.roll_back(begin);
      if (plan.placed >= query_.needed) co_return plan;
    }
    co_return std::nullopt;
  }

  // Those to be kept first: who breaks a budget, then who is more important.
  Routine<std::vector<GroupRun::Unit>> find_units() {
    std::multimap<decltype(VictimUnit().rank(0)), GroupRun::Unit> ranked;
    std::unordered_set<const plimsoll_pod*> seen;
    for (const uint32_t slot : cluster_.row_slots()) {
      co_await slice_.pause();
      for (const PodRef& pod : cluster_.node_at(slot)->pods()) {
        const bool is_alone = !PLIMSOLL_HAS(pod.get(), group) || pod->group.len == 0;
        if (pod->meta.deletion_ms != 0 || (is_alone && pod->priority >= query_.priority)) continue;
        if (seen.contains(pod.get())) continue;
        GroupRun::Unit unit{unit_of_(*pod), {}};
        if (unit.who.is_whole_group) seen.insert(unit.who.pods.begin(), unit.who.pods.end());
        if (unit.who.priority >= query_.priority) continue;
        for (const plimsoll_pod* one : unit.who.pods)
          unit.rows.push_back(nodes_.row_of(view(one->node_name)));
        ranked.emplace(unit.who.rank(query_.now_ms), std::move(unit));
      }
    }
    std::vector<const plimsoll_pod*> pods;
    for (const auto& [rank, unit] : ranked)
      pods.insert(pods.end(), unit.who.pods.begin(), unit.who.pods.end());
    const std::vector<bool> breaks = query_.breaks(pods);
    co_await slice_.pause();
    std::vector<GroupRun::Unit> units;
    std::vector<GroupRun::Unit> others;
    auto next = breaks.begin();
    for (auto& [rank, unit] : ranked) {
      co_await slice_.pause();
      const auto end = next + static_cast<std::ptrdiff_t>(unit.who.pods.size());
      unit.breaks_budget = std::find(next, end, true) != end;
      next = end;
      (unit.breaks_budget ? units : others).push_back(std::move(unit));
    }
    std::ranges::move(others, std::back_inserter(units));
    co_return units;
  }

  // ---- places

  void add_places(const Plan& plan, Eviction& answer) const {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (plan.rows[i] == GroupRun::kNoRow) continue;
      answer.places.push_back({members_[i].pod, nodes_.node_at(plan.rows[i]).name()});
    }
  }

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
  Routine<> find_plan(Eviction& answer, std::optional<Plan>& best) {
    const size_t begin = nodes_.mark();
    std::vector<Order> tried;
    Order order = as_given();
    for (int round = 0; round <= GroupTrial::kMaxRounds; ++round) {
      if (std::ranges::find(tried, order) == tried.end()) {
        tried.push_back(order);
        Plan plan = co_await place_in(order, true);
        if (round == 0) {
          answer.placed = plan.placed;
          answer.remaining = remaining_;
        }
        if (plan.placed >= query_.needed) {
          co_await spare(order, plan);
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

  Routine<Plan> place_in(const Order& order, bool evict) {
    Plan plan;
    remaining_ = order.size();
    for (Member& member : members_) member.row = GroupRun::kNoRow;
    // Kinds that had no place, and after how many changes: rows that are known cost no look.
    std::map<const GroupRun::Kind*, size_t> none;
    for (const size_t each : order) {
      if (plan.placed + remaining_ < query_.needed || nodes_.tired()) break;
      co_await slice_.pause();
      --remaining_;
      Member& member = members_[each];
      if (member.kind->framework == nullptr || !member.kind->framework->go_on().ok()) break;
      if (const auto at = none.find(member.kind); at != none.end() && at->second == nodes_.mark())
        continue;
      size_t row = co_await room_as_it_is(member);
      if (row == GroupRun::kNoRow && evict) row = co_await room_by_eviction(member);
      if (row == GroupRun::kNoRow) {
        none[member.kind] = nodes_.mark();
        continue;
      }
      put(member, row);
      ++plan.placed;
    }
    note(plan);
    co_return plan;
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

  Routine<size_t> room_as_it_is(const Member& member) {
    GroupRun::Kind& kind = *member.kind;
    for (size_t i = 0; i < rows_.size() && !nodes_.tired(); ++i) {
      const size_t at = (kind.row + i) % rows_.size();
      const size_t looks = nodes_.looks();
      const bool fits = nodes_.fits_as_it_is(kind, *member.pod, rows_[at]);
      if (fits) {
        kind.row = at;
        co_return rows_[at];
      }
      if (nodes_.looks() != looks) co_await slice_.pause();
    }
    co_return GroupRun::kNoRow;
  }

  // Where it costs the least.
  Routine<size_t> room_by_eviction(const Member& member) {
    GroupRun::Kind& kind = *member.kind;
    size_t best = GroupRun::kNoRow;
    const size_t enough = kind.is_shared ? kEnoughRows : kEnoughFreshRows;
    size_t found = 0;
    for (const size_t row : rows_) {
      if (nodes_.tired()) break;
      if (found >= enough && !nodes_.is_known(kind, row)) continue;
      const size_t looks = nodes_.looks();
      const GroupRun::Trial& trial = nodes_.trial(kind, *member.pod, row);
      if (nodes_.looks() != looks) co_await slice_.pause();
      if (!trial.fits) continue;
      if (trial.cost.violations == 0) ++found;
      if (best == GroupRun::kNoRow || trial.cost < kind.trials[best].cost) best = row;
    }
    if (best == GroupRun::kNoRow) co_return best;
    const std::vector<size_t> evicts = kind.trials[best].evicts;
    for (const size_t each : evicts) nodes_.set_gone(each, true);
    co_return best;
  }

  // ---- as few as can be

  // Puts victims back: those on whose nodes the members have room beside them, or elsewhere.
  Routine<> spare(const Order& order, Plan& plan) {
    const std::set<size_t> gone = nodes_.gone();
    for (const size_t which : gone) {
      if (looks_left_ < looks_for_places_) break;
      co_await slice_.pause();
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
      bool fits = true;
      for (size_t i = 0; i < moved.size() && fits; ++i) {
        Member& member = members_[moved[i]];
        size_t row = member.row;
        if (!nodes_.fits_as_it_is(*member.kind, *member.pod, row))
          row = co_await room_as_it_is(member);
        fits = row != GroupRun::kNoRow;
        if (fits) put(member, row);
      }
      if (fits) continue;
      nodes_.roll_back(before);
      nodes_.set_gone(which, true, false);
      members_ = places;
    }
    note(plan);
  }

  // The plan from the start, with only its victims gone, in the order in which the group is tried.
  Routine<bool> holds(const Plan& plan) {
    size_t looks_left = SIZE_MAX;
    GroupRun nodes(cluster_, framework_of_, most_kinds_, looks_left, slice_, INT64_MAX);
    Members members;
    if (!co_await begin(nodes, members)) co_return false;
    static_cast<void>(co_await remove_going(nodes));
    for (const size_t each : plan.victims) {
      co_await slice_.pause();
      const GroupRun::Unit& unit = nodes_.units()[each];
      for (size_t i = 0; i < unit.rows.size(); ++i) {
        if (unit.rows[i] != GroupRun::kNoRow) nodes.change(*unit.who.pods[i], unit.rows[i], false);
      }
    }
    for (size_t i = 0; i < members.size(); ++i) {
      const size_t row = plan.rows[i];
      if (row == GroupRun::kNoRow) continue;
      co_await slice_.pause();
      if (!nodes.passes(*members[i].kind, *members[i].pod, row)) co_return false;
      nodes.change(*members[i].pod, row, true);
    }
    co_return true;
  }

  const GroupDryRun::EvictionQuery& query_;
  const ClusterState& cluster_;
  const Nominator& nominator_;
  const GroupTrial::FrameworkOf& framework_of_;
  const GroupTrial::UnitOf& unit_of_;
  Slice& slice_;
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

GroupRun GroupTrial::plan(size_t& looks_left, const Slice& slice) const {
  return {cluster_, framework_of_, kMaxKinds, looks_left, slice, INT64_MAX};
}

Routine<GroupDryRun::Eviction> GroupTrial::evict(const EvictionQuery& query, Slice& slice) const {
  if (cluster_.row_slots().empty()) co_return Eviction();
  Eviction found;
  {
    EvictionRun run(query, cluster_, nominator_, framework_of_, unit_of_, slice, longest_ms_);
    found = co_await run.run();
    co_await slice.pause();
  }
  if (!found.victims.empty()) co_await slice.pause_anyway();  // to ask for all evictions takes long
  co_return found;
}

}  // namespace plimsoll

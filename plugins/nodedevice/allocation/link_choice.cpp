#include "plugins/nodedevice/allocation/link_choice.hpp"

#include <algorithm>
#include <tuple>

namespace plimsoll::devices {
namespace {

using Set = LinkGraph::Set;

// Where a set lies, as choose_by_topology compares; smaller is better.
using Place = std::tuple<int, int, int, int>;  // level, minus used ancestors, zone, PCIe id

Place place_of(const TypeState& state, const Positions& set) {
  const DeviceState& first = state.at(set.front());
  for (const Scope level : {Scope::kPcie, Scope::kNuma, Scope::kNode}) {
    const bool together = std::all_of(set.begin(), set.end(), [&](int position) {
      return same_group(level, first, state.at(position));
    });
    if (together)
      return {static_cast<int>(level), -used_ancestors(state, level, first),
              level == Scope::kNode ? 0 : first.numa, level == Scope::kPcie ? first.pcie : 0};
  }
  return {};
}

int turn_of(const Positions& order, int position) {
  return static_cast<int>(std::find(order.begin(), order.end(), position) - order.begin());
}

class LinkSearch {
 public:
  LinkSearch(const TypeState& state, const TypeLinks& links, const Want& want,
             const Positions& candidates, const Positions& order,
             const std::function<bool(const Positions&)>& accepts)
      : state_(state),
        graph_(*links.graph),
        candidates_(candidates),
        accepts_(accepts),
        by_place_(order.empty()),
        count_(static_cast<size_t>(want.count)),
        widest_(want.scope() == Scope::kUnset ? Scope::kNode : want.scope()) {
    for (const int position : candidates) {
      vertices_.push_back(links.vertex(state.at(position).minor));
      turns_.push_back(turn_of(by_place_ ? candidates : order, position));
    }
    for (const DeviceState& device : state.devices)
      if (device.unused()) unused_.push_back(links.vertex(device.minor));
  }

  Positions exact() {
    for (const int vertex : unused_) free_ |= Set{1} << vertex;
    for (const int vertex : vertices_) free_ |= Set{1} << vertex;
    extend(0, 0);
    return positions(best_);
  }

  Positions grown() {
    for (size_t seed = 0; seed < candidates_.size(); ++seed) {
      set_ = {seed};
      while (set_.size() < count_ && add_best_linked()) continue;
      if (set_.size() < count_) continue;
      std::sort(set_.begin(), set_.end());
      LinkRank rank;
      for (const size_t a : set_)
        for (const size_t b : set_) rank.pairs += a < b ? between(a, b) : 0;
      if (count_ == 1) rank.left = -lost_with(seed);
      consider(rank);
    }
    return positions(best_);
  }

 private:
  using Members = std::vector<size_t>;  // indices of candidates_

  [[nodiscard]] int64_t between(size_t a, size_t b) const {
    return graph_.bandwidth(vertices_[a], vertices_[b]);
  }

  [[nodiscard]] bool may_join(size_t candidate) const {
    return set_.empty() || same_group(widest_, state_.at(candidates_[set_.front()]),
                                      state_.at(candidates_[candidate]));
  }

  void extend(size_t from, Set taken) {
    if (set_.size() == count_) {
      const Set rest = free_ & ~taken;
      consider(
          {graph_.ring(taken), graph_.pair_sum(taken), graph_.offer(rest), graph_.pair_sum(rest)});
      return;
    }
    for (size_t i = from; i + (count_ - set_.size()) <= candidates_.size(); ++i) {
      if (!may_join(i)) continue;
      set_.push_back(i);
      extend(i + 1, taken | Set{1} << vertices_[i]);
      set_.pop_back();
    }
  }

  bool add_best_linked() {
    constexpr size_t kNone = SIZE_MAX;
    size_t best = kNone;
    int64_t best_sum = -1;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if (!may_join(i) || std::find(set_.begin(), set_.end(), i) != set_.end()) continue;
      int64_t sum = 0;
      for (const size_t member : set_) sum += between(i, member);
      if (best != kNone && std::tie(best_sum, turns_[i]) >= std::tie(sum, turns_[best])) continue;
      best = i;
      best_sum = sum;
    }
    if (best == kNone) return false;
    set_.push_back(best);
    return true;
  }

  [[nodiscard]] int64_t lost_with(size_t candidate) const {
    int64_t sum = 0;
    for (const int other : unused_)
      if (other != vertices_[candidate]) sum += graph_.bandwidth(vertices_[candidate], other);
    return sum;
  }

  // Takes set_ if it is better than the best so far.
  void consider(const LinkRank& rank) {
    if (!best_.empty() && rank < best_rank_) return;
    if (!best_.empty() && rank == best_rank_ && !comes_first()) return;
    if (accepts_ && !accepts_(positions(set_))) return;
    best_ = set_;
    best_rank_ = rank;
  }

  // set_ comes before best_, of the same rank.
  [[nodiscard]] bool comes_first() const {
    if (by_place_) {
      const Place here = place_of(state_, positions(set_));
      const Place there = place_of(state_, positions(best_));
      if (here != there) return here < there;
    }
    return turns(set_) < turns(best_);
  }

  [[nodiscard]] std::vector<int> turns(const Members& members) const {
    std::vector<int> all;
    for (const size_t member : members) all.push_back(turns_[member]);
    std::sort(all.begin(), all.end());
    return all;
  }

  [[nodiscard]] Positions positions(const Members& members) const {
    Positions all;
    for (const size_t member : members) all.push_back(candidates_[member]);
    return all;
  }

  const TypeState& state_;
  const LinkGraph& graph_;
  const Positions& candidates_;
  const std::function<bool(const Positions&)>& accepts_;
  const bool by_place_;
  const size_t count_;
  const Scope widest_;
  std::vector<int> vertices_;  // by index of candidates_, like turns_: when it is its turn
  std::vector<int> turns_;
  std::vector<int> unused_;  // vertices
  Set free_ = 0;
  Members set_;
  Members best_;
  LinkRank best_rank_;
};

}  // namespace

bool links_decide(const DeviceType& type, const TypeState& state, const TypeLinks* links,
                  const Want& want, const Positions& candidates) {
  if (links == nullptr || !links->matter() || want.is_shared || want.needs_vf()) return false;
  return std::all_of(candidates.begin(), candidates.end(), [&](int position) {
    const DeviceState& device = state.at(position);
    return takes_all(due_amounts(type, want.per_device, device), device);
  });
}

LinkRank rank_by_links(const TypeState& state, const TypeLinks& links,
                       const std::vector<int32_t>& minors) {
  Set taken = 0;
  for (const int32_t minor : minors) taken |= Set{1} << links.vertex(minor);
  Set rest = 0;
  for (const DeviceState& device : state.devices)
    if (device.unused()) rest |= Set{1} << links.vertex(device.minor);
  rest &= ~taken;
  const LinkGraph& graph = *links.graph;
  return {graph.ring(taken), graph.pair_sum(taken), graph.offer(rest), graph.pair_sum(rest)};
}

Positions choose_by_links(const TypeState& state, const TypeLinks& links, const Want& want,
                          const Positions& candidates, const Positions& order,
                          const std::function<bool(const Positions&)>& accepts) {
  if (static_cast<int64_t>(candidates.size()) < want.count || want.scope() == Scope::kDevice)
    return {};
  LinkSearch search(state, links, want, candidates, order, accepts);
  return links.graph->is_exact() ? search.exact() : search.grown();
}

}  // namespace plimsoll::devices

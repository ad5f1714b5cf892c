#include "plugins/topology/record/places.hpp"

#include <algorithm>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/possible/release.hpp"

namespace plimsoll::topology {
namespace {

constexpr size_t kMostAtOnce = 32;  // pods that came between two reports and are told apart

// A pod that the report counts, and those of its parts whose zones are not known.
struct Counted {
  PodRecord* pod;
  std::vector<ReleasedUnit> units;
};

class Puzzle {
 public:
  explicit Puzzle(NodeRecord& node) : node_(node), zones_(node.report.zones.view()) {
    const size_t cells = size_t{zones_.zone_count} * zones_.resource_count;
    used_.resize(cells);
    for (size_t i = 0; i < cells; ++i) used_[i] = node.report.zones.used(i);
    for (PodRecord& pod : node.pods) count(pod);
    for (GonePod& gone : node.gone) count(gone.pod);
  }

  // The pods hold all that is in use, and no more.
  [[nodiscard]] bool adds_up() const { return is_of(used_, counted_); }

  // False: earlier reports say what this one rules out.
  bool solve() {
    left_ = used_;
    size_t floaters = 0;
    for (const Counted& each : counted_) {
      if (!take(each.pod->shown)) return false;
      if (each.pod->floats) ++floaters;
    }
    if (floaters != node_.floaters) {  // one has gone: what the others hold is not known
      for (const Counted& each : counted_) each.pod->floats = false;
      node_.floating.clear();
      floaters = 0;
    }
    node_.floating.resize(used_.size());
    for (size_t i = 0; i < left_.size(); ++i) left_[i] = add_amounts(left_[i], -node_.floating[i]);
    std::vector<Counted> news;
    for (const Counted& each : counted_) {
      const bool placed = !each.pod->shown.empty() || each.pod->floats;
      if (!placed && !each.units.empty()) news.push_back(each);
    }
    const auto missing = [](int64_t amount) { return amount < 0; };
    if (std::any_of(left_.begin(), left_.end(), missing) || !is_of(left_, news)) return false;
    if (node_.aligns() && news.size() <= kMostAtOnce) {
      while (place_one(news)) continue;
    }
    const auto is_placed = [](const Counted& each) { return each.units.empty(); };
    std::erase_if(news, is_placed);
    if (news.size() == 1) give_rest(*news.front().pod);
    for (const Counted& each : news) {
      if (news.size() > 1) float_off(*each.pod);
    }
    node_.floaters = floaters + (news.size() > 1 ? news.size() : 0);
    for (size_t i = 0; i < left_.size(); ++i) {
      node_.floating[i] = add_amounts(node_.floating[i], left_[i]);
    }
    return true;
  }

 private:
  [[nodiscard]] size_t cell(uint32_t row, uint32_t zone) const {
    return size_t{row} * zones_.zone_count + zone;
  }
  void count(PodRecord& pod) {
    if (!pod.covered || !pod.request) return;
    Counted counted{&pod, released_units(zones_, *pod.request)};
    for (ReleasedUnit& unit : counted.units) {
      std::erase_if(unit.amounts, [&](const auto& part) { return !is_tracked(part.first); });
    }
    std::erase_if(counted.units, [](const ReleasedUnit& unit) { return unit.amounts.empty(); });
    counted_.push_back(std::move(counted));
  }
  // Without a manager zones list a resource of which nothing is ever in use.
  [[nodiscard]] bool is_tracked(uint32_t row) const { return sum_of(used_, row) != 0; }
  [[nodiscard]] int64_t sum_of(const std::vector<int64_t>& cells, uint32_t row) const {
    int64_t sum = 0;
    for (uint32_t zone = 0; zone < zones_.zone_count; ++zone) {
      sum = add_amounts(sum, cells[cell(row, zone)]);
    }
    return sum;
  }
  [[nodiscard]] bool is_of(const std::vector<int64_t>& cells,
                           const std::vector<Counted>& pods) const {
    std::vector<int64_t> sums(zones_.resource_count);
    for (const Counted& each : pods) {
      for (const ReleasedUnit& unit : each.units) {
        for (const auto& [row, amount] : unit.amounts) sums[row] = add_amounts(sums[row], amount);
      }
    }
    for (uint32_t row = 0; row < zones_.resource_count; ++row) {
      if (sums[row] != sum_of(cells, row)) return false;
    }
    return true;
  }
  bool take(const std::vector<Charge>& shown) {
    for (const Charge& one : shown) {
      const uint32_t row = row_of(zones_, one.resource);
      const uint32_t* end = zones_.zone_ids + zones_.zone_count;
      const uint32_t* zone = std::find(zones_.zone_ids, end, one.zone_id);
      if (row == kNoRow || zone == end) return false;
      int64_t& left = left_[cell(row, static_cast<uint32_t>(zone - zones_.zone_ids))];
      left = add_amounts(left, -one.amount);
    }
    return true;
  }
  void move(PodRecord& pod, uint32_t row, uint32_t zone, int64_t amount) {
    left_[cell(row, zone)] -= amount;
    int64_t& shown = charge_at(pod.shown, zones_.zone_ids[zone], zones_.resources[row]).amount;
    shown = add_amounts(shown, amount);
  }
  // Places a part that can be in one zone only.
  bool place_one(std::vector<Counted>& news) {
    for (Counted& each : news) {
      for (auto unit = each.units.begin(); unit != each.units.end(); ++unit) {
        uint32_t zone = 0;
        uint32_t ways = 0;
        for (uint32_t at = 0; at < zones_.zone_count; ++at) {
          if (!has_room(*unit, at)) continue;
          zone = at;
          ++ways;
        }
        if (ways != 1) continue;
        for (const auto& [row, amount] : unit->amounts) move(*each.pod, row, zone, amount);
        each.units.erase(unit);
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool has_room(const ReleasedUnit& unit, uint32_t zone) const {
    return std::all_of(unit.amounts.begin(), unit.amounts.end(), [&](const auto& part) {
      return left_[cell(part.first, zone)] >= part.second;
    });
  }
  void give_rest(PodRecord& pod) {
    for (uint32_t row = 0; row < zones_.resource_count; ++row) {
      for (uint32_t zone = 0; zone < zones_.zone_count; ++zone) {
        const int64_t rest = left_[cell(row, zone)];
        if (rest != 0) move(pod, row, zone, rest);
      }
    }
  }
  void float_off(PodRecord& pod) {
    for (Charge& one : pod.shown) one.amount = -one.amount;
    take(pod.shown);
    pod.shown.clear();
    pod.floats = true;
  }

  NodeRecord& node_;
  const plimsoll_numa_node& zones_;
  std::vector<Counted> counted_;
  std::vector<int64_t> used_;  // by cell, as in plimsoll_numa_node
  std::vector<int64_t> left_;  // that, without the pods whose places are known
};

}  // namespace

void locate_pods(NodeRecord& node) {
  Puzzle puzzle(node);
  node.report.adds_up = puzzle.adds_up();
  if (!node.report.adds_up || puzzle.solve()) return;
  forget_places(node);
  puzzle.solve();
}

void forget_places(NodeRecord& node) {
  const auto forget = [](PodRecord& pod) {
    pod.shown.clear();
    pod.floats = false;
  };
  for (PodRecord& pod : node.pods) forget(pod);
  for (GonePod& gone : node.gone) forget(gone.pod);
  node.floating.clear();
  node.floaters = 0;
}

}  // namespace plimsoll::topology

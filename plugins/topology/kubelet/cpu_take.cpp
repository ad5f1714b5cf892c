#include "plugins/topology/kubelet/cpu_take.hpp"

#include <algorithm>
#include <array>

namespace plimsoll::topology::kubelet {
namespace {

// What CPUs are grouped by.
using Level = uint16_t CpuLayout::Rank::*;
constexpr Level kZone = &CpuLayout::Rank::zone;
constexpr Level kSocket = &CpuLayout::Rank::socket;
constexpr Level kCore = &CpuLayout::Rank::core;
constexpr Level kUncore = &CpuLayout::Rank::uncore;

// The kubelet's cpuAccumulator.
class Accumulator {
 public:
  Accumulator(const CpuLayout& layout, const CpuSet& available, int64_t need)
      : layout_(layout),
        free_(available),
        need_(need),
        zones_first_(layout.sockets() >= layout.zones()) {}

  [[nodiscard]] bool satisfied() const { return need_ < 1; }
  [[nodiscard]] const CpuSet& taken() const { return taken_; }

  void take_full_zones() { take_full(kZone, zones(), 0); }
  // Groups as large as the average one count as full (isSocketFree, isCoreFree).
  void take_full_sockets() { take_full(kSocket, sockets(), layout_.per_socket()); }
  void take_full_cores() { take_full(kCore, cores(), layout_.per_core()); }

  // prefer-align-cpus-by-uncorecache.
  void take_uncores() {
    for (uint16_t uncore : uncores()) {
      if (need_ >= layout_.per_uncore()) take_full_uncores();
      if (satisfied()) return;
      take_part_of_uncore(uncore);
      if (satisfied()) return;
    }
  }

  // distribute-cpus-across-cores: the CPUs of a socket in order, else core by core.
  void take_remaining(bool spread_over_cores) {
    const Level level = spread_over_cores ? kSocket : kCore;
    const auto order = spread_over_cores ? sockets() : cores();
    // A group may be in the order twice; its CPUs are then gone.
    for (uint16_t group : order) {
      const CpuSet members = free_in(level, group);
      members.for_each([&](uint32_t cpu) {
        if (satisfied()) return;
        CpuSet one;
        one.add(cpu);
        take(one);
      });
      if (satisfied()) return;
    }
  }

 private:
  using Groups = std::vector<uint16_t>;

  [[nodiscard]] uint32_t groups(Level level) const {
    if (level == kZone) return 64;
    if (level == kSocket) return layout_.sockets();
    return level == kCore ? layout_.cores() : layout_.uncores();
  }
  [[nodiscard]] std::vector<uint32_t> count(const CpuSet& cpus, Level level) const {
    std::vector<uint32_t> counts(groups(level));
    cpus.for_each([&](uint32_t cpu) { ++counts[layout_.at(cpu).*level]; });
    return counts;
  }
  [[nodiscard]] std::vector<uint32_t> free_by(Level level) const { return count(free_, level); }
  [[nodiscard]] CpuSet free_in(Level level, uint16_t group) const {
    CpuSet out;
    free_.for_each([&](uint32_t cpu) {
      if (layout_.at(cpu).*level == group) out.add(cpu);
    });
    return out;
  }

  // Groups with free CPUs, those with the fewest free first.
  [[nodiscard]] Groups sorted(Level level) const {
    const auto counts = free_by(level);
    Groups out;
    for (uint16_t group = 0; group < counts.size(); ++group) {
      if (counts[group] > 0) out.push_back(group);
    }
    sort_by(counts, out);
    return out;
  }
  static void sort_by(const std::vector<uint32_t>& counts, Groups& groups) {
    std::sort(groups.begin(), groups.end(), [&](uint16_t a, uint16_t b) {
      return counts[a] != counts[b] ? counts[a] < counts[b] : a < b;
    });
  }
  // For each outer group in order, its inner groups sorted by all that is free in them.
  [[nodiscard]] Groups nested(Level outer, const Groups& order, Level inner) const {
    const auto counts = free_by(inner);
    std::vector<Groups> members(groups(outer));
    free_.for_each([&](uint32_t cpu) {
      const CpuLayout::Rank& rank = layout_.at(cpu);
      Groups& list = members[rank.*outer];
      if (std::find(list.begin(), list.end(), rank.*inner) == list.end()) {
        list.push_back(rank.*inner);
      }
    });
    Groups out;
    for (uint16_t group : order) {
      Groups list = members[group];
      sort_by(counts, list);
      out.insert(out.end(), list.begin(), list.end());
    }
    return out;
  }

  [[nodiscard]] Groups zones() const {
    return zones_first_ ? sorted(kZone) : nested(kSocket, sockets(), kZone);
  }
  [[nodiscard]] Groups sockets() const {
    return zones_first_ ? nested(kZone, zones(), kSocket) : sorted(kSocket);
  }
  [[nodiscard]] Groups cores() const {
    return zones_first_ ? nested(kSocket, sockets(), kCore) : nested(kZone, zones(), kCore);
  }
  [[nodiscard]] Groups uncores() const { return nested(kZone, zones(), kUncore); }

  void take(const CpuSet& cpus) {
    taken_ |= cpus;
    free_ -= cpus;
    need_ -= cpus.size();
  }
  // Of the groups that are full (`full` CPUs are free; 0: all of their own) those that are needed
  // whole. Groups were counted before the first is taken.
  void take_full(Level level, const Groups& order, uint32_t full) {
    const auto counts = free_by(level);
    const auto sizes = count(layout_.all(), level);
    for (uint16_t group : order) {
      if (satisfied()) return;
      if (counts[group] != (full == 0 ? sizes[group] : full) || need_ < sizes[group]) continue;
      CpuSet members;
      layout_.all().for_each([&](uint32_t cpu) {
        if (layout_.at(cpu).*level == group) members.add(cpu);
      });
      take(members);
    }
  }
  void take_full_uncores() { take_full(kUncore, uncores(), 0); }
  // takePartialUncore: the lowest cores of the cache, if they give exactly what is needed.
  void take_part_of_uncore(uint16_t uncore) {
    const int64_t per_core = layout_.per_core();
    if (per_core == 0) return;
    const auto wanted = static_cast<size_t>((need_ + per_core - 1) / per_core);
    Groups cores;
    free_in(kUncore, uncore).for_each([&](uint32_t cpu) {
      const uint16_t core = layout_.at(cpu).core;
      if (std::find(cores.begin(), cores.end(), core) == cores.end()) cores.push_back(core);
    });
    std::sort(cores.begin(), cores.end());
    if (cores.size() > wanted) cores.resize(wanted);
    CpuSet members;
    uint32_t last = 0;
    free_.for_each([&](uint32_t cpu) {
      if (!std::binary_search(cores.begin(), cores.end(), layout_.at(cpu).core)) return;
      members.add(cpu);
      last = cpu;
    });
    if (need_ % 2 != 0 && per_core > 1 && members.size() > need_) members.remove(last);
    if (need_ == members.size()) take(members);
  }

  const CpuLayout& layout_;
  CpuSet free_;
  CpuSet taken_;
  int64_t need_;
  bool zones_first_;  // a socket lies within a zone
};

}  // namespace

bool take_packed(const CpuLayout& layout, bool spread_over_cores, bool align_uncore,
                 const CpuSet& available, int64_t count, CpuSet& taken) {
  taken = {};
  if (count < 1) return true;
  if (count > available.size()) return false;
  Accumulator accumulator(layout, available, count);
  const auto done = [&] {
    taken = accumulator.taken();
    return accumulator.satisfied();
  };
  if (layout.sockets() >= layout.zones()) {
    accumulator.take_full_zones();
    if (done()) return true;
    accumulator.take_full_sockets();
  } else {
    accumulator.take_full_sockets();
    if (done()) return true;
    accumulator.take_full_zones();
  }
  if (done()) return true;
  if (align_uncore) accumulator.take_uncores();
  if (done()) return true;
  if (!spread_over_cores) accumulator.take_full_cores();
  if (done()) return true;
  accumulator.take_remaining(spread_over_cores);
  return done();
}

bool take_cpus(const CpuLayout& layout, const Managers& managers, const CpuSet& available,
               int64_t count, CpuSet& taken) {
  const CpuOptions& options = managers.cpu_options;
  const bool spread = options.distribute_cpus_across_cores;
  if (options.distribute_cpus_across_numa) {
    return take_distributed(layout, managers, available, count, taken);
  }
  return take_packed(layout, spread, options.prefer_align_cpus_by_uncorecache, available, count,
                     taken);
}

bool take_counts(const NodeModel& model, std::span<const int64_t> available, int64_t count,
                 std::span<int64_t> taken) {
  std::array<uint32_t, 64> order{};
  uint32_t zones = 0;
  int64_t sum = 0;
  for (uint32_t column = 0; column < model.zones(); ++column) {
    if (available[column] <= 0) continue;
    order[zones++] = column;
    sum += available[column];
  }
  if (sum < count) return false;
  std::sort(order.begin(), order.begin() + zones, [&](uint32_t a, uint32_t b) {
    return available[a] != available[b] ? available[a] < available[b] : a < b;
  });
  uint64_t done = 0;
  for (const bool whole : {true, false}) {
    for (uint32_t i = 0; i < zones && count > 0; ++i) {
      const uint32_t column = order[i];
      const bool is_whole = available[column] >= model.cpu_totals[column];
      if (whole && (!is_whole || available[column] > count)) continue;
      if ((done >> column & 1) != 0) continue;
      done |= uint64_t{1} << column;
      const int64_t part = std::min(count, available[column]);
      taken[column] += part;
      count -= part;
    }
  }
  return true;
}

}  // namespace plimsoll::topology::kubelet

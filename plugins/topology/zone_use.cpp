#include "plugins/topology/zone_use.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "plugins/topology/amount.hpp"
#include "plugins/topology/numa_node.hpp"

namespace plimsoll::topology {
namespace {

// So many sets of zones are looked at for one container; all those of a machine with 8 zones.
constexpr uint32_t kMaxSets = 1 << 8;

// What a zone could give at most: the kubelet counts reserved CPUs and sick devices as part of it,
// but of memory only what pods may have.
int64_t size_of(const plimsoll_numa_node& node, uint32_t row, size_t cell) {
  if (node.resources[row] == PLIMSOLL_RESOURCE_MEMORY) return node.allocatable[cell];
  return std::max(node.capacity[cell], node.allocatable[cell]);
}

// The fewest zones whose sizes add up to the amount; `zone_count` if even all together are too
// small.
uint32_t fewest_zones(const plimsoll_numa_node& node, uint32_t row, int64_t amount) {
  int64_t sizes[kMaxZones];
  const size_t begin = size_t{row} * node.zone_count;
  for (uint32_t column = 0; column < node.zone_count; ++column) {
    sizes[column] = size_of(node, row, begin + column);
    if (sizes[column] >= amount) return 1;
  }
  std::sort(sizes, sizes + node.zone_count, std::greater<>());
  int64_t sum = 0;
  for (uint32_t count = 1; count <= node.zone_count; ++count) {
    sum = add_amounts(sum, std::max<int64_t>(sizes[count - 1], 0));
    if (sum >= amount) return count;
  }
  return node.zone_count;
}

// The next larger number with as many bits set; 0: there is none within 64 bits.
uint64_t next_of_size(uint64_t set) {
  const uint64_t low = set & (~set + 1);
  const uint64_t up = set + low;
  if (up == 0) return 0;
  return up | ((set ^ up) / low >> 2);
}

// Columns with at least `amount`, which is above 0.
uint64_t columns_with(const int64_t* free, uint32_t zones, int64_t amount) {
  uint64_t columns = 0;
  for (uint32_t column = 0; column < zones; ++column) {
    columns |= uint64_t{free[column] >= amount} << column;
  }
  return columns;
}

}  // namespace

// One walk over the pod's containers on one node.
struct ZonePredictor::Walk {
  const plimsoll_numa_node& node;
  ZoneUse& use;
  bool reuses;  // an init container may leave something to the next

  [[nodiscard]] int64_t in_reach(size_t cell) const {
    const int64_t free = std::max<int64_t>(use.free[cell], 0);
    return reuses ? add_amounts(free, use.reusable_[cell]) : free;
  }

  // CPUs and devices that the pod can reuse must be part of the hint (generateCPUTopologyHints,
  // generateDeviceTopologyHints): a container cannot go elsewhere.
  [[nodiscard]] uint64_t bound_to(const Need& need, uint32_t row) const {
    if (!reuses || !need.binds) return 0;
    uint64_t columns = 0;
    for (uint32_t column = 0; column < node.zone_count; ++column) {
      const bool some = use.reusable_[size_t{row} * node.zone_count + column] > 0;
      columns |= uint64_t{some} << column;
    }
    return columns;
  }

  // The zones that each have all of it.
  [[nodiscard]] uint64_t single_zones(const Needs& needs) const {
    uint64_t mask = all_zones(node);
    for (const Need& need : needs) {
      const uint32_t row = use.rows[need.which];
      if (row == kNoRow) continue;
      const int64_t* free = use.free.data() + size_t{row} * node.zone_count;
      if (!reuses) {
        mask &= node.listed[row] & columns_with(free, node.zone_count, need.amount);
        continue;
      }
      uint64_t enough = 0;
      for (uint32_t column = 0; column < node.zone_count; ++column) {
        const int64_t have = in_reach(size_t{row} * node.zone_count + column);
        enough |= uint64_t{have >= need.amount} << column;
      }
      const uint64_t bound = bound_to(need, row);
      mask &= node.listed[row] & (bound != 0 ? enough & bound : enough);
    }
    return mask;
  }

  [[nodiscard]] bool together(const Needs& needs, uint64_t columns) const {
    for (const Need& need : needs) {
      const uint32_t row = use.rows[need.which];
      if (row == kNoRow) continue;
      if ((bound_to(need, row) & ~columns) != 0) return false;
      int64_t sum = 0;
      for (uint64_t rest = columns & node.listed[row]; rest != 0; rest &= rest - 1) {
        sum = add_amounts(sum, in_reach(size_t{row} * node.zone_count + std::countr_zero(rest)));
      }
      if (sum < need.amount) return false;
    }
    return true;
  }

  // The fewest zones that can do, by what is free of each resource alone; a lower bound.
  [[nodiscard]] uint32_t fewest_free(const Needs& needs) const {
    uint32_t most = 2;
    for (const Need& need : needs) {
      const uint32_t row = use.rows[need.which];
      if (row == kNoRow) continue;
      int64_t amounts[kMaxZones];
      for (uint32_t column = 0; column < node.zone_count; ++column) {
        amounts[column] = in_reach(size_t{row} * node.zone_count + column);
      }
      std::sort(amounts, amounts + node.zone_count, std::greater<>());
      int64_t sum = 0;
      uint32_t count = 0;
      while (count < node.zone_count && sum < need.amount) sum += amounts[count++];
      most = std::max(most, count);
    }
    return most;
  }

  // By what the zones can hold at most.
  [[nodiscard]] uint32_t needed_zones(const Needs& needs) const {
    uint32_t most = 1;
    for (const Need& need : needs) {
      const uint32_t row = use.rows[need.which];
      if (row != kNoRow) most = std::max(most, fewest_zones(node, row, need.amount));
    }
    return most;
  }

  // The smallest set of two or more zones, of those the lowest; 0: not even all together do.
  [[nodiscard]] uint64_t smallest_set(const Needs& needs) const {
    const uint64_t all = all_zones(node);
    if (node.zone_count < 2 || !together(needs, all)) return 0;
    uint32_t looked_at = 0;
    for (uint32_t size = fewest_free(needs); size < node.zone_count; ++size) {
      for (uint64_t set = (uint64_t{1} << size) - 1; set != 0 && (set & ~all) == 0;
           set = next_of_size(set)) {
        if (together(needs, set)) return set;
        if (++looked_at == kMaxSets) return ascending_until_enough(needs, all);
      }
    }
    return all;
  }

  [[nodiscard]] uint64_t ascending_until_enough(const Needs& needs, uint64_t all) const {
    uint64_t set = 0;
    for (uint64_t rest = all; rest != 0; rest &= rest - 1) {
      set |= rest & (~rest + 1);
      if (together(needs, set)) return set;
    }
    return all;
  }

  // The zones for what is pinned together, as columns; 0: there are none.
  [[nodiscard]] uint64_t choose(const Needs& needs) const {
    const uint64_t single = single_zones(needs);
    if (single != 0) return single & (~single + 1);
    if (node.policy == PLIMSOLL_NUMA_POLICY_SINGLE_NUMA_NODE) return 0;
    const uint64_t set = smallest_set(needs);
    if (node.policy == PLIMSOLL_NUMA_POLICY_RESTRICTED &&
        static_cast<uint32_t>(std::popcount(set)) > needed_zones(needs)) {
      return 0;
    }
    return set;
  }

  // Takes a container's share from the zones in ascending order; returns those it took from.
  uint64_t take(const Container& container, uint64_t columns) {
    uint64_t used = 0;
    for (const Need& need : container.needs) {
      const uint32_t row = use.rows[need.which];
      if (row == kNoRow) continue;
      int64_t left = need.amount;
      for (uint64_t rest = columns & node.listed[row]; rest != 0 && left > 0; rest &= rest - 1) {
        const auto column = static_cast<uint32_t>(std::countr_zero(rest));
        const size_t cell = size_t{row} * node.zone_count + column;
        const bool last = (rest & (rest - 1)) == 0;
        const int64_t part = last ? left : std::min(in_reach(cell), left);
        if (part == 0) continue;
        left -= part;
        const int64_t kept = reuses ? std::min(use.reusable_[cell], part) : 0;
        use.free[cell] = add_amounts(use.free[cell], kept - part);
        if (reuses) {
          int64_t& reusable = use.reusable_[cell];
          reusable = container.plain_init ? std::max(reusable, part) : reusable - kept;
        }
        use.taken[row] |= uint64_t{1} << column;
        used |= uint64_t{1} << column;
      }
    }
    return used;
  }

  // Notes over how many zones something is spread that was chosen together.
  void spread(uint64_t columns, const Needs& needs) {
    const auto width = static_cast<uint32_t>(std::popcount(columns));
    if (width == 0) return;
    if (width > use.width) {
      use.width = width;
      use.widest = columns;
    }
    const uint32_t needed = width == 1 ? 1 : std::min(width, needed_zones(needs));
    if (use.used == 0 || width * use.needed > use.used * needed) {
      use.used = width;
      use.needed = needed;
    }
    use.zones |= columns;
  }
};

ZonePredictor::ZonePredictor(const PodRequest& pod) : reuses_(pod.has_pinned_init) {
  for (const ContainerRequest& container : pod.containers) {
    if (container.pinned.empty()) continue;
    Container& made = containers_.emplace_back();
    made.plain_init = container.kind == PLIMSOLL_CONTAINER_INIT;
    for (const Request& request : container.pinned) {
      const auto known = std::find(resources_.begin(), resources_.end(), request.resource);
      const auto which = static_cast<uint32_t>(known - resources_.begin());
      const bool binds = request.traits.extended || request.resource == PLIMSOLL_RESOURCE_CPU;
      if (known == resources_.end()) {
        resources_.push_back(request.resource);
        totals_.push_back({which, binds, pod.pinned_total(request.resource)});
      }
      made.needs.push_back({which, binds, request.amount});
    }
  }
}

bool ZonePredictor::predict(const plimsoll_numa_node& node, ZoneUse& use) const {
  const size_t cells = size_t{node.zone_count} * node.resource_count;
  use.promised = node.policy != PLIMSOLL_NUMA_POLICY_NONE;
  use.width = use.used = use.needed = 0;
  use.widest = use.zones = 0;
  use.taken.assign(node.resource_count, 0);
  use.free.assign(node.free, node.free + cells);
  if (reuses_) use.reusable_.assign(cells, 0);
  use.rows.clear();
  for (const uint32_t resource : resources_) {
    const uint32_t row = row_of(node, resource);
    use.rows.push_back(row != kNoRow && node.listed[row] != 0 ? row : kNoRow);
  }
  if (node.zone_count == 0) return use.admitted = true;

  Walk walk{node, use, reuses_};
  const bool as_pod = node.scope == PLIMSOLL_NUMA_SCOPE_POD;
  const uint64_t pod_zones = as_pod ? walk.choose(totals_) : 0;
  uint64_t pod_used = 0;
  for (const Container& container : containers_) {
    const uint64_t columns = as_pod ? pod_zones : walk.choose(container.needs);
    if (columns == 0) return use.admitted = false;
    const uint64_t used = walk.take(container, columns);
    pod_used |= used;
    if (!as_pod) walk.spread(used, container.needs);
  }
  if (as_pod) walk.spread(pod_used, totals_);
  return use.admitted = true;
}

}  // namespace plimsoll::topology

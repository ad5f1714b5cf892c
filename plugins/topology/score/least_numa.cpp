#include "plugins/topology/score/least_numa.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "plugins/topology/report/numa_node.hpp"
#include "plugins/topology/score/score.hpp"

namespace plimsoll::topology {
namespace {

// So many sets of zones are looked at for one request; machines with up to 16 zones stay below it.
constexpr uint32_t kMaxCombinations = 1 << 16;

// The next set of `k` out of `n` in lexicographic order; false: that was the last.
bool next_combination(std::array<uint32_t, kMaxZones>& set, uint32_t k, uint32_t n) {
  for (uint32_t i = k; i-- > 0;) {
    if (set[i] == n - k + i) continue;
    ++set[i];
    for (uint32_t j = i + 1; j < k; ++j) set[j] = set[j - 1] + 1;
    return true;
  }
  return false;
}

// Columns of a set of positions in the report.
uint64_t columns_of(const std::array<uint32_t, kMaxZones>& set, uint32_t k,
                    const plimsoll_numa_node& node) {
  uint64_t columns = 0;
  for (uint32_t i = 0; i < k; ++i) columns |= uint64_t{1} << node.report_order[set[i]];
  return columns;
}

// Mean distance over all ordered pairs, a zone to itself included.
float average_distance(uint64_t columns, const plimsoll_numa_node& node) {
  int64_t sum = 0;
  for (uint64_t a = columns; a != 0; a &= a - 1) {
    for (uint64_t b = columns; b != 0; b &= b - 1) {
      sum += node.distances[size_t(std::countr_zero(a)) * node.zone_count + std::countr_zero(b)];
    }
  }
  const int count = std::popcount(columns);
  return static_cast<float>(sum) / static_cast<float>(count * count);
}

// Whether the zones together have all that is asked for.
bool together_fit(const Requests& requests, uint64_t columns, const plimsoll_numa_node& node,
                  const int64_t* free) {
  for (const Request& request : requests) {
    if (request.amount == 0) continue;
    const uint32_t row = row_of(node, request.resource);
    if (row == kNoRow) return false;
    __int128 sum = 0;
    for (uint64_t rest = columns; rest != 0; rest &= rest - 1) {
      sum += std::max<int64_t>(free[size_t{row} * node.zone_count + std::countr_zero(rest)], 0);
    }
    if (sum < request.amount) return false;
  }
  return true;
}

// Zones that list every requested resource.
uint64_t zones_listing(const Requests& requests, const plimsoll_numa_node& node) {
  uint64_t columns = all_zones(node);
  for (const Request& request : requests) {
    const uint32_t row = row_of(node, request.resource);
    columns &= row == kNoRow ? 0 : node.listed[row];
  }
  return columns;
}

bool any_zone_lists(const Requests& requests, const plimsoll_numa_node& node) {
  return std::any_of(requests.begin(), requests.end(), [&](const Request& request) {
    return row_of(node, request.resource) != kNoRow;
  });
}

// Beyond the limit: zones in ascending order until they have enough.
ZonesRequired ascending_until_enough(const Requests& requests, uint64_t listing,
                                     const plimsoll_numa_node& node, const int64_t* free) {
  uint64_t columns = 0;
  for (uint64_t rest = listing; rest != 0; rest &= rest - 1) {
    columns |= rest & (~rest + 1);
    if (together_fit(requests, columns, node, free)) return {columns, false};
  }
  return {};
}

// The zone that the reference takes from: it uses the zone's id as a position in the report. That
// is another zone where a report does not list its zones in order; its scores are followed in that
// too. Ids beyond the list, where it crashes, mean the zone itself.
uint32_t drained_column(const plimsoll_numa_node& node, uint32_t column) {
  const uint32_t id = node.zone_ids[column];
  return id < node.zone_count ? node.report_order[id] : column;
}

// Takes the request from the zones, lowest first.
void drain(const Requests& requests, uint64_t columns, const plimsoll_numa_node& node,
           int64_t* free) {
  for (const Request& request : requests) {
    const uint32_t row = row_of(node, request.resource);
    if (row == kNoRow) continue;
    int64_t need = request.amount;
    for (uint64_t rest = columns; rest != 0 && need > 0; rest &= rest - 1) {
      const auto column = static_cast<uint32_t>(std::countr_zero(rest));
      int64_t& cell = free[size_t{row} * node.zone_count + drained_column(node, column)];
      const int64_t taken = std::clamp<int64_t>(cell, 0, need);
      cell -= taken;
      need -= taken;
    }
  }
}

int64_t score_of(int zones, bool min_distance, uint16_t max_numa_nodes) {
  const int64_t step = kMaxScore / std::max<int64_t>(max_numa_nodes, 1);
  return std::clamp<int64_t>(kMaxScore - zones * step + (min_distance ? step / 2 : 0), 0,
                             kMaxScore);
}

}  // namespace

ZonesRequired zones_required(const Requests& requests, const plimsoll_numa_node& node,
                             const int64_t* free) {
  const uint32_t n = node.zone_count;
  const uint64_t listing = zones_listing(requests, node);
  if (!together_fit(requests, listing, node, free) || listing == 0) return {};
  uint32_t looked_at = 0;
  for (uint32_t k = 1; k <= n; ++k) {
    std::array<uint32_t, kMaxZones> set{};
    for (uint32_t i = 0; i < k; ++i) set[i] = i;
    float closest = std::numeric_limits<float>::max();      // of all sets of this size
    float closest_fit = std::numeric_limits<float>::max();  // of those that fit
    uint64_t best = 0;
    do {
      if (++looked_at > kMaxCombinations) {
        return ascending_until_enough(requests, listing, node, free);
      }
      const uint64_t columns = columns_of(set, k, node);
      const float distance = average_distance(columns, node);
      closest = std::min(closest, distance);
      if ((columns & ~listing) != 0 || distance >= closest_fit) continue;
      if (!together_fit(requests, columns, node, free)) continue;
      closest_fit = distance;
      best = columns;
    } while (next_combination(set, k, n));
    if (best != 0) return {best, closest_fit == closest};
  }
  return {};
}

int64_t least_numa_score(const PodRequest& pod, const plimsoll_numa_node& node, Scratch& scratch) {
  if (node.scope == PLIMSOLL_NUMA_SCOPE_POD) {
    if (!any_zone_lists(pod.effective, node)) return kMaxScore;
    const ZonesRequired zones = zones_required(pod.effective, node, node.free);
    if (zones.columns == 0) return 0;
    return score_of(std::popcount(zones.columns), zones.min_distance, node.max_numa_nodes);
  }
  const int64_t* free = node.free;
  int most = 0;
  bool min_distance = true;
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const Requests& requests = pod.containers[i].requests;
    if (!any_zone_lists(requests, node)) continue;
    const ZonesRequired zones = zones_required(requests, node, free);
    if (zones.columns == 0) return 0;
    most = std::max(most, std::popcount(zones.columns));
    min_distance = min_distance && zones.min_distance;
    if (i + 1 == pod.containers.size()) break;
    if (free == node.free) {
      scratch.cells.assign(free, free + size_t{node.zone_count} * node.resource_count);
      free = scratch.cells.data();
    }
    drain(requests, zones.columns, node, scratch.cells.data());
  }
  return most == 0 ? kMaxScore : score_of(most, min_distance, node.max_numa_nodes);
}

}  // namespace plimsoll::topology

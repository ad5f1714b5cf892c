#include "plugins/topology/score/zone_score.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <plimsoll/views.hpp>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/report/numa_node.hpp"
#include "plugins/topology/verdict/zone_use.hpp"

namespace plimsoll::topology {
namespace {

constexpr int64_t kLocalDistance = 10;  // of a zone to itself, in ACPI's SLIT and so everywhere

// What some zones have of one resource, before and after.
struct Share {
  int64_t size = 0;  // what they can allocate
  int64_t free = 0;  // of that, free once the pod is there
};

Share share_of(const plimsoll_numa_node& node, const plimsoll_numa_use& use, uint32_t row,
               uint64_t columns) {
  constexpr int64_t kLimit = int64_t{1} << 50;  // a hundred times a sum over 64 zones fits int64
  Share share;
  for (uint64_t rest = columns & node.listed[row]; rest != 0; rest &= rest - 1) {
    const size_t cell = size_t{row} * node.zone_count + std::countr_zero(rest);
    // A report may show more available than allocatable.
    const int64_t size = std::max({node.allocatable[cell], node.free[cell], int64_t{0}});
    share.size += std::min(size, kLimit);
    share.free += std::clamp<int64_t>(use.free[cell], 0, std::min(size, kLimit));
  }
  return share;
}

// 100 less the standard deviation, in percent, of how full the zones are of each resource: those
// that the pod pins, and of cpu and memory too, which any later pod will want.
int64_t balanced(const plimsoll_numa_node& node, const plimsoll_numa_use& use) {
  int count = 0;
  double sum = 0;
  double squares = 0;
  for (uint32_t row = 0; row < node.resource_count; ++row) {
    const bool common = node.resources[row] == PLIMSOLL_RESOURCE_CPU ||
                        node.resources[row] == PLIMSOLL_RESOURCE_MEMORY;
    if (!common && use.taken[row] == 0) continue;
    const Share share = share_of(node, use, row, use.zones);
    if (share.size == 0) continue;
    const double full = 1 - static_cast<double>(share.free) / static_cast<double>(share.size);
    ++count;
    sum += full;
    squares += full * full;
  }
  if (count < 2) return kMaxScore;
  const double mean = sum / count;
  const double variance = std::max(squares / count - mean * mean, 0.0);
  return std::clamp<int64_t>(std::llround((1 - std::sqrt(variance)) * kMaxScore), 0, kMaxScore);
}

// 100 / width, less up to the way to 100 / (width + 1) for the distance between the zones.
int64_t least_zones(const plimsoll_numa_node& node, const plimsoll_numa_use& use) {
  const int64_t width = use.width;
  int64_t sum = 0;
  for (uint64_t a = use.widest; a != 0; a &= a - 1) {
    for (uint64_t b = use.widest; b != 0; b &= b - 1) {
      if ((a ^ b) == 0 || std::countr_zero(a) == std::countr_zero(b)) continue;
      const int64_t distance =
          node.distances[size_t(std::countr_zero(a)) * node.zone_count + std::countr_zero(b)];
      sum += std::clamp<int64_t>(distance, kLocalDistance, kUnknownDistance);
    }
  }
  int64_t far = width > 1 ? sum / (width * (width - 1)) : kLocalDistance;
  if (use.promised == 0) far = kUnknownDistance;  // the zones of CPUs and devices may differ
  // 100/w - 100/(w(w+1)) * (far-10)/far, rounded down once.
  return kMaxScore * (far * width + kLocalDistance) / (far * width * (width + 1));
}

// What all its containers request of CPU together, or the pod itself (pod-level resources).
int64_t cpu_of(const plimsoll_pod& pod, const PodRequest& request) {
  const auto in = [](const plimsoll_list& list) -> int64_t {
    for (const plimsoll_resource& resource : sdk::List<plimsoll_resource>(list)) {
      if (resource.index == PLIMSOLL_RESOURCE_CPU) return clamp_amount(resource.value);
    }
    return 0;
  };
  for (const Request& each : request.effective) {
    if (each.resource != PLIMSOLL_RESOURCE_CPU) continue;
    return std::max(each.amount, add_amounts(in(pod.pod_requests), in(pod.overhead)));
  }
  return add_amounts(in(pod.pod_requests), in(pod.overhead));
}

}  // namespace

ZoneScore::ZoneScore(const ScoringStrategy& strategy, const plimsoll_pod& pod, bool tied)
    : ZoneScore(strategy, pod, PodRequest(pod), tied) {}

ZoneScore::ZoneScore(const ScoringStrategy& strategy, const plimsoll_pod& pod,
                     const PodRequest& request, bool tied)
    : type_(strategy.type),
      tied_(tied),
      weights_(strategy, request),
      width_cost_(weights_, cpu_of(pod, request)) {}

int64_t ZoneScore::allocated(const plimsoll_numa_node& node, const plimsoll_numa_use& use) const {
  int64_t sum = 0;
  int64_t weights = 0;
  for (uint32_t row = 0; row < node.resource_count; ++row) {
    if (use.taken[row] == 0) continue;
    const Share share = share_of(node, use, row, use.taken[row]);
    if (share.size == 0) continue;
    const int64_t part = type_ == Strategy::kMostAllocated ? share.size - share.free : share.free;
    const int64_t weight = weights_.of(node.resources[row]);
    sum += weight * (part * kMaxScore / share.size);
    weights += weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

// As for a use of which these are the cells that something is taken from.
int64_t ZoneScore::allocated(const plimsoll_numa_landing& landing) const {
  constexpr int64_t kLimit = int64_t{1} << 50;
  const plimsoll_numa_node& node = *landing.node;
  int64_t sum = 0;
  int64_t weights = 0;
  for (uint32_t i = 0; i < landing.taking->count; ++i) {
    const uint32_t row = row_of(node, landing.taking->resources[i]);
    if (row == kNoRow || (node.listed[row] >> landing.column & 1) == 0) continue;
    const size_t cell = size_t{row} * node.zone_count + landing.column;
    const int64_t size =
        std::min(std::max({node.allocatable[cell], node.free[cell], int64_t{0}}), kLimit);
    if (size == 0) continue;
    const int64_t after = add_amounts(node.free[cell], -landing.taking->amounts[i]);
    const int64_t free = std::clamp<int64_t>(after, 0, size);
    const int64_t weight = weights_.of(node.resources[row]);
    sum += weight * percent_of(type_ == Strategy::kMostAllocated ? size - free : free, size);
    weights += weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

int64_t ZoneScore::on(const plimsoll_numa_landing& landing, const NodeCpu& cpu,
                      OneZoneUse& room) const {
  switch (type_) {
    case Strategy::kLeastAllocated:
    case Strategy::kMostAllocated:
      return aligned_score(allocated(landing));
    case Strategy::kBalancedAllocation:
    case Strategy::kLeastNumaNodes:
    case Strategy::kPreserveLargeZones:
      break;
  }
  return on(landing.node, room.find(landing), cpu);
}

int64_t ZoneScore::on(const plimsoll_numa_node* zones, const plimsoll_numa_use* use,
                      const NodeCpu& cpu) const {
  const bool preserves = type_ == Strategy::kPreserveLargeZones;
  if (!tied_) {
    if (!preserves || zones == nullptr) return kMaxScore;
    return width_cost_.ordinary(*zones, cpu);
  }
  // Nothing is destroyed where no zones are known, but nothing is aligned either.
  if (zones == nullptr) return preserves ? kUnaligned : 0;
  if (use == nullptr) return 0;
  if (use->width == 0) {  // this kubelet ties it to no zone
    return preserves ? width_cost_.ordinary(*zones, cpu) * kUnaligned / kMaxScore : 0;
  }
  int64_t score = 0;
  switch (type_) {
    case Strategy::kLeastNumaNodes:
      return least_zones(*zones, *use);
    case Strategy::kBalancedAllocation:
      score = balanced(*zones, *use);
      break;
    case Strategy::kPreserveLargeZones:
      score = width_cost_.aligned(*zones, *use, cpu);
      break;
    case Strategy::kLeastAllocated:
    case Strategy::kMostAllocated:
      score = allocated(*zones, *use);
      break;
  }
  if (is_aligned(*use)) return aligned_score(score);
  return score * kUnaligned * use->needed / (kMaxScore * int64_t{use->used});
}

}  // namespace plimsoll::topology

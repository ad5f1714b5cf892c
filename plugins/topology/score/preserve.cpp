#include "plugins/topology/score/preserve.hpp"

#include <algorithm>
#include <bit>

#include "plugins/topology/report/numa_node.hpp"
#include "plugins/topology/score/score.hpp"

namespace plimsoll::topology {
namespace {

constexpr int64_t kEighths = 8;  // worth is counted in eighths of a unit
constexpr int64_t kWidths = 4;   // a whole zone, a half, a quarter, an eighth
// Amounts in this file end here, so that a hundred times a sum over 64 zones and all widths fits
// int64. A zone has no billion CPUs.
constexpr int64_t kLimit = int64_t{1} << 40;
// schedutil.DefaultMilliCPURequest: what a pod without a request is taken to use.
constexpr int64_t kEmptyRequest = 100;
// Devices are counted, hugepages are bytes: no zone has a million devices.
constexpr int64_t kManyDevices = int64_t{1} << 20;

// One resource of a node, by zone, before and after a pod that takes something from `touched`. Read
// into range once: a report may show more available than allocatable, a promise may overdraw it.
struct Row {
  Row(const plimsoll_numa_node& node, uint32_t row, const int64_t* free_after,
      uint64_t touched_zones)
      : touched(touched_zones), zones(node.zone_count) {
    const size_t begin = size_t{row} * node.zone_count;
    for (uint32_t zone = 0; zone < zones; ++zone) {
      const int64_t there = node.allocatable[begin + zone];
      const int64_t positive = there < 0 ? 0 : there;
      size[zone] = positive > kLimit ? kLimit : positive;
      before[zone] = in_range(node.free[begin + zone], size[zone]);
    }
    for (uint64_t rest = touched; rest != 0; rest &= rest - 1) {
      const auto zone = static_cast<uint32_t>(std::countr_zero(rest));
      after[zone] = in_range(free_after[begin + zone], size[zone]);
    }
  }
  static int64_t in_range(int64_t free, int64_t size) {
    const int64_t positive = free < 0 ? 0 : free;
    return positive > size ? size : positive;
  }

  uint64_t touched;
  uint32_t zones;
  int64_t size[kMaxZones];
  int64_t before[kMaxZones];
  int64_t after[kMaxZones];  // of touched zones only
};

// floor(8 * free / size), 0 to 8. As doubles, which divide faster, and exactly: kLimit is far below
// 2^53, so no quotient rounds up to the next whole number.
int64_t eighths_of(int64_t free, int64_t size) {
  return static_cast<int64_t>(static_cast<double>(free * kEighths) / static_cast<double>(size));
}

// What pods of each width could have, in eighths, and how many zones are untouched.
struct Widths {
  int64_t whole = 0;
  int64_t half = 0;
  int64_t quarter = 0;
  int64_t eighth = 0;
  int64_t intact = 0;

  // `size` below 0: without this zone.
  void add(int64_t eighths, int64_t size) {
    eighth += eighths * size;
    quarter += (eighths & ~int64_t{1}) * size;
    half += (eighths & ~int64_t{3}) * size;
    whole += (eighths & ~int64_t{7}) * size;
    const int64_t untouched = eighths >> 3;
    intact += size < 0 ? -untouched : untouched;
  }
};

// A resource of a node and what a pod does to it.
struct Change {
  Widths before;
  Widths after;
  int64_t size = 0;  // of all zones together
  int64_t free = 0;
  int64_t zones = 0;  // that have any of it
  int64_t zone = 0;   // one of them, in eighths: their mean
};

Change change_of(const Row& row) {
  Widths widths;  // a local of its own stays in registers
  int64_t size = 0;
  int64_t free = 0;
  int64_t zones = 0;
  for (uint32_t zone = 0; zone < row.zones; ++zone) {
    if (row.size[zone] == 0) continue;
    widths.add(eighths_of(row.before[zone], row.size[zone]), row.size[zone]);
    size += row.size[zone];
    free += row.before[zone];
    ++zones;
  }
  Change change{widths, {}, size, free, zones, zones == 0 ? 0 : kEighths * size / zones};
  for (uint64_t rest = row.touched; rest != 0; rest &= rest - 1) {
    const auto zone = static_cast<uint32_t>(std::countr_zero(rest));
    if (row.size[zone] == 0) continue;
    widths.add(eighths_of(row.before[zone], row.size[zone]), -row.size[zone]);
    widths.add(eighths_of(row.after[zone], row.size[zone]), row.size[zone]);
  }
  change.after = widths;
  return change;
}

// The worth of a resource in eighths; no width is worth more than `limit` units.
int64_t worth_of(const Widths& widths, const Change& row, bool wider_than_zones, int64_t limit) {
  const int64_t most = kEighths * std::max<int64_t>(limit, 0);
  int64_t worth = std::min(widths.whole, most) + std::min(widths.half, most) +
                  std::min(widths.quarter, most) + std::min(widths.eighth, most);
  if (!wider_than_zones || row.zones < 2) return worth;
  for (int64_t width = 2; width <= widths.intact; width *= 2) {
    worth += std::min(row.zone * (widths.intact & ~(width - 1)), most);
  }
  return worth;
}

// The same for a node of which nothing is taken.
int64_t untouched_worth(const Change& row, bool wider_than_zones) {
  const int64_t all = kEighths * row.size;
  const Widths widths{all, all, all, all, row.zones};
  return worth_of(widths, row, wider_than_zones, row.size);
}

bool counts_devices(const plimsoll_numa_node& node, uint32_t row) {
  if (node.resources[row] <= PLIMSOLL_RESOURCE_PODS) return false;
  const int64_t* size = node.allocatable + size_t{row} * node.zone_count;
  int64_t bits = 0;
  for (uint32_t zone = 0; zone < node.zone_count; ++zone) bits |= size[zone];
  return bits < kManyDevices;  // a negative amount counts as none
}

// By how much a pod lowers the CPUs that the free devices of the zones will want: each device its
// part of the CPUs of the zones that have some, as far as these are free, and as far as the node's
// CPUs go.
int64_t taken_from_devices(const Row& devices, const Row& cpu, int64_t limit_before,
                           int64_t limit_after) {
  int64_t cpus = 0;
  int64_t count = 0;
  int64_t free = 0;
  for (uint32_t zone = 0; zone < cpu.zones; ++zone) {
    count += devices.size[zone];
    free += devices.before[zone];
    cpus += devices.size[zone] == 0 ? 0 : cpu.size[zone];
  }
  if (free == 0) return 0;
  const int64_t each = cpus / count;
  int64_t before = 0;
  for (uint32_t zone = 0; zone < cpu.zones; ++zone) {
    before += std::min(each * devices.before[zone], cpu.before[zone]);
  }
  int64_t after = before;
  for (uint64_t rest = cpu.touched; rest != 0; rest &= rest - 1) {
    const auto zone = static_cast<uint32_t>(std::countr_zero(rest));
    after += std::min(each * devices.after[zone], cpu.after[zone]) -
             std::min(each * devices.before[zone], cpu.before[zone]);
  }
  return std::min(before, std::max<int64_t>(limit_before, 0)) -
         std::min(after, std::max<int64_t>(limit_after, 0));
}

// Under policy none no pod is aligned: there is nothing to preserve.
bool keeps_zones(const plimsoll_numa_node& node) {
  return node.policy != PLIMSOLL_NUMA_POLICY_NONE;
}

bool wider_than_zones(const plimsoll_numa_node& node) {
  return node.policy != PLIMSOLL_NUMA_POLICY_SINGLE_NUMA_NODE;
}

// Half for what is lost: 100 for nothing, 50 if it is what the pod takes in each of the four
// widths. Half for what there is to lose: 100 for nothing, 0 for a node that nobody uses.
int64_t score_of(int64_t worth, int64_t untouched, int64_t cost, int64_t need) {
  const int64_t fair = kWidths * kEighths * std::clamp<int64_t>(need, 1, kLimit);
  const int64_t lost = kMaxScore * fair / (fair + std::max<int64_t>(cost, 0));
  const int64_t gone = untouched == 0 ? kMaxScore : kMaxScore * (untouched - worth) / untouched;
  return (lost + gone) / 2;
}

// `after` is what is left by cell once the pod is there, which requests `need` of CPU.
int64_t cpu_score(const plimsoll_numa_node& node, uint32_t cpu_row, const NodeCpu& cpu,
                  const int64_t* after, uint64_t touched, int64_t need) {
  const bool wider = wider_than_zones(node);
  const Row row(node, cpu_row, after, touched);
  const Change change = change_of(row);
  // What is left for aligned pods: the CPUs of the zones less what all pods request.
  const int64_t requested = std::clamp<int64_t>(cpu.requested, 0, change.size);
  const int64_t limit = std::min(change.free, change.size - requested);
  const int64_t worth = worth_of(change.before, change, wider, limit);
  int64_t cost = worth - worth_of(change.after, change, wider, limit - need);
  for (uint32_t other = 0; other < node.resource_count; ++other) {
    if (!counts_devices(node, other)) continue;
    const Row devices(node, other, after, touched);
    cost += kEighths * taken_from_devices(devices, row, limit, limit - need);
  }
  return score_of(worth, untouched_worth(change, wider), cost, need);
}

int64_t device_score(const plimsoll_numa_node& node, uint32_t device_row, const int64_t* after,
                     uint64_t touched) {
  const bool wider = wider_than_zones(node);
  const Row row(node, device_row, after, touched);
  const Change change = change_of(row);
  int64_t taken = 0;
  for (uint64_t rest = touched; rest != 0; rest &= rest - 1) {
    const auto zone = static_cast<uint32_t>(std::countr_zero(rest));
    taken += row.before[zone] - row.after[zone];
  }
  const int64_t worth = worth_of(change.before, change, wider, change.free);
  const int64_t left = worth_of(change.after, change, wider, change.free);
  return score_of(worth, untouched_worth(change, wider), worth - left, taken);
}

}  // namespace

WidthCost::WidthCost(PodWeights weights, int64_t cpu)
    : weights_(std::move(weights)), cpu_(std::clamp(cpu, kEmptyRequest, kLimit)) {}

int64_t WidthCost::ordinary(const plimsoll_numa_node& node, const NodeCpu& cpu) const {
  const uint32_t row = row_of(node, PLIMSOLL_RESOURCE_CPU);
  if (row == kNoRow || !keeps_zones(node)) return kMaxScore;
  return cpu_score(node, row, cpu, node.free, 0, cpu_);
}

int64_t WidthCost::aligned(const plimsoll_numa_node& node, const plimsoll_numa_use& use,
                           const NodeCpu& cpu) const {
  if (!keeps_zones(node)) return kMaxScore;
  int64_t sum = 0;
  int64_t weights = 0;
  for (uint32_t row = 0; row < node.resource_count; ++row) {
    const uint32_t resource = node.resources[row];
    const int64_t weight = weights_.of(resource);
    if (resource == PLIMSOLL_RESOURCE_CPU) {
      sum += weight * cpu_score(node, row, cpu, use.free, use.zones, cpu_);
      weights += weight;
    } else if (use.taken[row] != 0 && counts_devices(node, row)) {
      sum += weight * device_score(node, row, use.free, use.taken[row]);
      weights += weight;
    }
  }
  return weights == 0 ? kMaxScore : sum / weights;
}

}  // namespace plimsoll::topology

#include "plugins/topology/verdict/zone_use.hpp"

#include <algorithm>
#include <bit>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/possible/arrival.hpp"
#include "plugins/topology/report/numa_node.hpp"

namespace plimsoll::topology {
namespace {

using kubelet::Admission;
using kubelet::ContainerDemand;
using kubelet::ContainerGrant;
using kubelet::DeviceGrant;
using kubelet::MemoryBlock;
using kubelet::NodeModel;
using kubelet::NodeState;
using kubelet::PodDemand;

constexpr int64_t kMilli = 1000;  // CPUs are counted whole by kubelets, in milli-CPUs by reports

uint64_t columns_of(std::span<const int64_t> by_column) {
  uint64_t columns = 0;
  for (uint32_t column = 0; column < by_column.size(); ++column) {
    columns |= uint64_t{by_column[column] > 0} << column;
  }
  return columns;
}

// Zones of devices. One that is near several is where the rest of the container is, if it can be.
uint64_t columns_of(const NodeModel& model, const DeviceGrant& grant, uint64_t rest,
                    uint64_t hint) {
  if (model.device_facts[grant.row].single_zone || grant.ids.empty()) {
    return columns_of(grant.by_zone);
  }
  uint64_t columns = 0;
  const std::vector<kubelet::Device>& devices = model.devices[grant.row].devices;
  for (const bool several : {false, true}) {
    for (size_t i = 0; i < devices.size(); ++i) {
      const uint64_t zones = devices[i].zones;
      if ((grant.ids[i / 64] >> (i % 64) & 1) == 0 || zones == 0) continue;
      if (std::has_single_bit(zones) == several || (zones & (columns | rest)) != 0) continue;
      const uint64_t near = (zones & hint) != 0 ? zones & hint : zones;
      columns |= near & (~near + 1);
    }
  }
  return columns;
}

// Zones of `devices` too; those with a zone of their own say where the others may be.
uint64_t with_devices(const NodeModel& model, const std::vector<DeviceGrant>& devices,
                      uint64_t columns, uint64_t hint) {
  for (const bool several : {false, true}) {
    for (const DeviceGrant& device : devices) {
      if (model.device_facts[device.row].single_zone == several) continue;
      columns |= columns_of(model, device, columns, hint);
    }
  }
  return columns & model.all;
}

uint64_t hint_of(const NodeModel& model, const ContainerGrant& grant) {
  return grant.has_hint && !grant.hint.any ? grant.hint.mask : model.all;
}

// All zones that a container was given something from.
uint64_t columns_of(const NodeModel& model, const ContainerGrant& grant) {
  uint64_t columns = columns_of(grant.cpus);
  for (const MemoryBlock& block : grant.memory) {
    if (block.bytes > 0 && block.row != kubelet::kNoResourceRow) columns |= block.zones;
  }
  return with_devices(model, grant.devices, columns, hint_of(model, grant));
}

// The fewest zones whose sizes add up to each of the amounts.
uint32_t zones_needed(const NodeModel& model, const kubelet::Needs& memory,
                      const kubelet::Needs& devices, int64_t cpus) {
  uint32_t most = 1;
  const auto raise = [&](const kubelet::Totals& totals, int64_t amount) {
    if (amount > 0) most = std::max(most, totals.fewest(amount, model.zones()));
  };
  raise(model.cpu, cpus);
  for (const kubelet::Need& need : memory) {
    const uint32_t row = model.memory_row(need.resource);
    if (row != kubelet::kNoResourceRow) raise(model.memory_by_type[row], need.amount);
  }
  for (const kubelet::Need& need : devices) {
    const uint32_t row = model.device_row(need.resource);
    if (row != kubelet::kNoResourceRow) raise(model.device_facts[row].totals, need.amount);
  }
  return most;
}

uint32_t zones_needed(const NodeModel& model, const ContainerDemand& demand,
                      const ContainerGrant& grant) {
  static const kubelet::Needs kNothing;
  return zones_needed(model, grant.memory.empty() ? kNothing : demand.memory, demand.devices,
                      grant.cpus.empty() ? 0 : demand.whole_cpus());
}

uint32_t zones_needed(const NodeModel& model, const PodDemand& demand, const Admission& given) {
  static const kubelet::Needs kNothing;
  const bool own = demand.pod_level && model.managers.pod_level_resource_managers;
  const kubelet::PodTotals& totals = own ? demand.pod_totals : demand.totals;
  const kubelet::Allocation& all = given.allocation;
  return zones_needed(model, all.blocks.empty() ? kNothing : totals.memory,
                      all.devices.empty() ? kNothing : totals.devices,
                      all.cpus.empty() ? 0 : totals.cpus);
}

}  // namespace

const plimsoll_numa_use* ZoneUse::find(const NodeModel& model, const NodeState& state,
                                       const plimsoll_numa_node& view, const PodDemand& pod,
                                       kubelet::Scratch& scratch) {
  after_ = state;
  const Admission given = admit_and_start(model, after_, pod, scratch);
  if (!given.admitted()) return nullptr;
  begin(model, view, state.counts(), after_.counts());
  // A block is on all of its zones, whichever its bytes come from.
  for (const kubelet::Allocation::Block& each : given.allocation.blocks) {
    const uint32_t row = row_of(view, each.block.resource);
    if (row != kNoRow && each.block.bytes > 0) taken_[row] |= each.block.zones & model.all;
  }
  for (const uint64_t columns : taken_) use_.zones |= columns;

  const bool by_pod = use_.promised != 0 && model.managers.scope == Scope::kPod;
  uint64_t together = 0;
  for (size_t i = 0; i < given.containers.size(); ++i) {
    const ContainerGrant& grant = given.containers[i];
    const uint64_t columns = columns_of(model, grant);
    together |= columns;
    if (!by_pod) spread(columns, zones_needed(model, pod.containers[i], grant));
  }
  if (by_pod && !given.containers.empty()) {
    // With pod-level resources devices are the pod's, not a container's.
    const uint64_t hint = hint_of(model, given.containers.front());
    together = with_devices(model, given.allocation.devices, together, hint);
    spread(together, zones_needed(model, pod, given));
  }
  return &use_;
}

const plimsoll_numa_use* ZoneUse::find(const NodeModel& model, const int64_t* counts,
                                       const plimsoll_numa_node& view,
                                       const kubelet::QuickPlace& place) {
  begin(model, view, counts, place.counts);
  for (const uint64_t columns : taken_) use_.zones |= columns;
  spread(place.first, 1);
  return &use_;
}

void ZoneUse::begin(const NodeModel& model, const plimsoll_numa_node& view, const int64_t* before,
                    const int64_t* after) {
  taken_.assign(view.resource_count, 0);
  free_.assign(view.free, view.free + size_t{view.zone_count} * view.resource_count);
  use_ = {};
  use_.size = sizeof use_;
  use_.promised = model.managers.policy == Policy::kNone ? 0 : 1;
  use_.taken = taken_.data();
  use_.free = free_.data();
  const auto row = [&](uint32_t resource, int64_t unit, uint32_t at) {
    take(view, resource, unit, before + at, after + at);
  };
  const uint32_t zones = model.zones();
  row(kubelet::kCpuResource, kMilli, 0);
  for (uint32_t i = 0; i < model.memory_by_type.size(); ++i) {
    row(model.memory_by_type[i].resource, 1, model.memory_at + i * zones);
  }
  for (uint32_t i = 0; i < model.device_facts.size(); ++i) {
    row(model.device_facts[i].totals.resource, 1, model.devices_at + i * zones);
  }
}

void ZoneUse::take(const plimsoll_numa_node& view, uint32_t resource, int64_t unit,
                   const int64_t* before, const int64_t* after) {
  uint32_t row = kNoRow;  // looked for only if it matters
  for (uint32_t column = 0; column < view.zone_count; ++column) {
    const int64_t taken = before[column] - after[column];
    if (taken <= 0) continue;
    if (row == kNoRow) row = row_of(view, resource);
    if (row == kNoRow) return;
    int64_t& free = free_[size_t{row} * view.zone_count + column];
    free = add_amounts(free, -clamp_amount(std::min(taken, kMaxAmount / unit) * unit));
    taken_[row] |= uint64_t{1} << column;
  }
}

void ZoneUse::spread(uint64_t columns, uint32_t needed) {
  const auto width = static_cast<uint32_t>(std::popcount(columns));
  if (width == 0) return;
  if (width > use_.width) {
    use_.width = width;
    use_.widest = columns;
  }
  needed = std::min(width, needed);
  if (use_.used == 0 || uint64_t{width} * use_.needed > uint64_t{use_.used} * needed) {
    use_.used = width;
    use_.needed = needed;
  }
}

const plimsoll_numa_use* OneZoneUse::find(const plimsoll_numa_landing& landing) {
  const plimsoll_numa_node& view = *landing.node;
  const uint64_t zone = uint64_t{1} << landing.column;
  taken_.assign(view.resource_count, 0);
  const size_t cells = size_t{view.zone_count} * view.resource_count;
  if (free_.size() < cells) free_.resize(cells);
  for (size_t cell = landing.column; cell < cells; cell += view.zone_count) {
    free_[cell] = view.free[cell];
  }
  use_ = {};
  use_.size = sizeof use_;
  use_.promised = use_.width = use_.used = use_.needed = 1;
  use_.widest = zone;
  for (uint32_t i = 0; i < landing.taking->count; ++i) {
    const uint32_t row = row_of(view, landing.taking->resources[i]);
    if (row == kNoRow) continue;
    int64_t& free = free_[size_t{row} * view.zone_count + landing.column];
    free = add_amounts(free, -landing.taking->amounts[i]);
    taken_[row] = zone;
    use_.zones = zone;
  }
  use_.taken = taken_.data();
  use_.free = free_.data();
  return &use_;
}

Whereabouts whereabouts_of(const NodeModel& model, const PodDemand& pod, const Admission& given) {
  Whereabouts out;
  const auto put = [&](uint32_t container, uint32_t resource, uint64_t columns) {
    uint64_t zones = 0;
    for (uint64_t rest = columns & model.all; rest != 0; rest &= rest - 1) {
      const uint32_t id = model.zone_ids[static_cast<size_t>(std::countr_zero(rest))];
      if (id < 64) zones |= uint64_t{1} << id;
    }
    if (zones == 0) return;
    const uint32_t kind = container < pod.containers.size()
                              ? static_cast<uint32_t>(pod.containers[container].kind)
                              : uint32_t{PLIMSOLL_CONTAINER_APP};
    out.places.push_back({container, kind, resource, 0, zones});
  };
  const auto is_wide = [](uint64_t columns, uint32_t needed) {
    return static_cast<uint32_t>(std::popcount(columns)) > std::max(needed, 1U);
  };
  const bool by_pod = model.managers.policy != Policy::kNone && model.managers.scope == Scope::kPod;
  uint64_t together = 0;
  for (uint32_t i = 0; i < given.containers.size(); ++i) {
    const ContainerGrant& grant = given.containers[i];
    const uint64_t columns = columns_of(model, grant);
    together |= columns;
    if (!by_pod) out.spread |= is_wide(columns, zones_needed(model, pod.containers[i], grant));
    put(i, kubelet::kCpuResource, columns_of(grant.cpus));
    for (const MemoryBlock& block : grant.memory) {
      if (block.bytes > 0) put(i, block.resource, block.zones);
    }
    for (const DeviceGrant& device : grant.devices) {
      put(i, device.resource, columns_of(model, device, columns, hint_of(model, grant)));
    }
  }
  // With pod-level resources devices are the pod's, not a container's.
  const uint64_t hint =
      given.containers.empty() ? model.all : hint_of(model, given.containers.front());
  for (const DeviceGrant& device : given.allocation.devices) {
    const bool known =
        std::any_of(given.containers.begin(), given.containers.end(), [&](const auto& grant) {
          return std::any_of(grant.devices.begin(), grant.devices.end(),
                             [&](const DeviceGrant& one) { return one.row == device.row; });
        });
    const uint64_t columns = columns_of(model, device, together, hint);
    together |= columns;
    if (!known) put(kubelet::kWholePod, device.resource, columns);
  }
  if (by_pod) out.spread |= is_wide(together, zones_needed(model, pod, given));
  return out;
}

}  // namespace plimsoll::topology

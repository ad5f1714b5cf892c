#include "plugins/topology/kubelet/quick.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "plugins/topology/kubelet/masks.hpp"

namespace plimsoll::topology::kubelet {
namespace {

ZoneMask lowest(ZoneMask mask) {
  return mask & -mask;
}

int64_t sum(const int64_t* cells, uint32_t zones) {
  int64_t total = 0;
  for (uint32_t column = 0; column < zones; ++column) total += cells[column];
  return total;
}

// What plain init containers leave, of one resource.
struct Left {
  int64_t count;
  uint32_t column;  // where it is
  bool unknown;     // ids decide how much of it was taken again
};

}  // namespace

// One pod on one node, container by container.
struct QuickPlan::Walk {
  const QuickPlan& plan;
  const Brief& brief;
  const int64_t* cells;  // counts, as they were or `copy`
  QuickVerdict out;

  // With more than one container: counts as they become. CPUs and devices that plain init
  // containers left count as free here. `reuse`: memory that they left, by cell.
  int64_t copy[kMaxCells];
  int64_t reuse[kMaxCells];
  Left cpu;
  Left device[kMaxDeviceRows];  // as the three above, only with more than one container
  int64_t cpu_total = 0;        // policy none: it does not matter where
  ZoneMask taken = 0;           // zones that got a block of memory just now

  QuickPlace* place;  // where the pod lands; null if not needed

  Walk(const QuickPlan& of, const Brief& about, const int64_t* counts, QuickPlace* found = nullptr)
      : plan(of), brief(about), cells(counts), place(found) {
    if (plan.items_ > 1 || place != nullptr) {
      std::memcpy(copy, counts, plan.counts_ * sizeof *copy);
      if (plan.any_init_) std::memset(reuse, 0, plan.counts_ * sizeof *reuse);
      cpu = {};
      std::fill(device, device + kMaxDeviceRows, Left{});
      cells = copy;
    }
    if (plan.none_ && plan.cpu_acts_) cpu_total = sum(counts, plan.zones_);
  }

  bool refuse(Reason reason, Stage stage, uint32_t resource = 0) {
    out.answer = QuickVerdict::kRefused;
    out.reason = reason;
    out.stage = stage;
    out.resource = resource;
    return false;
  }
  bool unsure() {
    out.answer = QuickVerdict::kUnsure;
    return false;
  }

  [[nodiscard]] int64_t reused(const Row& row, uint32_t column) const {
    return plan.any_init_ && plan.items_ > 1 ? reuse[row.at + column] : 0;
  }
  // Zones where a block may lie. A block on one zone asks that the zone be in no group of several.
  [[nodiscard]] ZoneMask memory_zones(const Item& item) const {
    ZoneMask mask = item.enough;
    for (uint32_t i = 0; i < item.memory_rows && mask != 0; ++i) {
      const Row& row = item.memory[i];
      ZoneMask enough = 0;
      for (uint32_t column = 0; column < plan.zones_; ++column) {
        enough |= ZoneMask{cells[row.at + column] + reused(row, column) >= row.need} << column;
      }
      mask &= enough;
    }
    return mask;
  }
  // Zones that may be combined in any way in one block.
  [[nodiscard]] ZoneMask open_zones() const {
    return brief.groups ? plan.all_ & ~brief.used & ~taken : plan.all_;
  }
  // Whether a block may lie on several zones. These are zones without assignments; more of them
  // only have more memory together. Nothing of several zones is ever left to reuse here, and no
  // zone has more free than allocatable.
  [[nodiscard]] bool several_zones_do(const Item& item) const {
    const ZoneMask open = open_zones();
    if ((open & (open - 1)) == 0) return false;
    for (uint32_t i = 0; i < item.memory_rows; ++i) {
      const Row& row = item.memory[i];
      if (sum_over({cells + row.at, plan.zones_}, open) < row.need) return false;
    }
    return true;
  }

  // is_unknown of allocate_memory.cpp: counts lack something.
  [[nodiscard]] bool memory_unknown(const Item& item) const {
    if (brief.exact_memory) return false;
    for (uint32_t i = 0; i < item.memory_rows; ++i) {
      const Row& row = item.memory[i];
      int64_t there = sum(cells + row.at, plan.zones_);
      if (plan.any_init_ && plan.items_ > 1) there += sum(reuse + row.at, plan.zones_);
      if (there < row.need) return true;
    }
    return false;
  }

  [[nodiscard]] bool cores_do(const Item& item) {
    if (!plan.cores_ || item.cpus == 0) return true;
    const int64_t free = brief.cpu_ids ? brief.whole_cpus : sum(cells, plan.zones_);
    if (!plan.bad_cores_ && item.cpus <= free) return true;
    return refuse(Reason::kSmtAlignmentError, Stage::kCpu);
  }

  // ---- taking, all from one zone
  void take_devices(const Item& item, uint32_t column) {
    for (uint32_t i = 0; i < item.device_rows; ++i) {
      const Row& row = item.devices[i];
      Left& left = device[row.row];
      if (item.kind == ContainerKind::kInit) {
        left.count = std::max(left.count, row.need);
        left.column = column;
        continue;
      }
      left.count -= std::min(left.count, row.need);
      copy[row.at + column] -= row.need;
    }
  }
  // With ids it is not known which CPUs of the zone are taken, those that were left or others.
  void take_cpus(const Item& item, int64_t& pool, uint32_t column) {
    if (item.cpus == 0) return;
    const int64_t most = std::min(cpu.count, item.cpus);
    const int64_t least =
        brief.cpu_ids ? std::max<int64_t>(0, item.cpus - (pool - cpu.count)) : most;
    cpu.unknown = cpu.unknown || least != most;
    if (item.kind == ContainerKind::kInit) {
      cpu.count += item.cpus - most;
      cpu.column = column;
    } else {
      cpu.count -= most;
      pool -= item.cpus;
    }
  }
  void take_memory(const Item& item, uint32_t column) {
    taken |= column_bit(column);
    for (uint32_t i = 0; i < item.memory_rows; ++i) {
      const Row& row = item.memory[i];
      int64_t& free = copy[row.at + column];
      const int64_t left = reused(row, column);
      free -= std::clamp<int64_t>(row.need - left, 0, std::max<int64_t>(free, 0));
      if (!plan.any_init_) continue;
      int64_t& kept = reuse[row.at + column];
      kept = item.kind == ContainerKind::kInit ? std::max(kept, row.need)
                                               : std::max<int64_t>(kept - row.need, 0);
    }
  }
  void take(const Item& item, uint32_t column) {
    take_devices(item, column);
    take_cpus(item, copy[column], column);
    if (item.memory_rows > 0) take_memory(item, column);
  }

  // Zones that have all CPUs and devices; what init containers left must be part of it if `tied`.
  [[nodiscard]] ZoneMask zones_for(const Item& item, bool tied) const {
    ZoneMask mask = item.zones;
    if (item.cpus > 0) {
      mask &= zones_with(cells, plan.zones_, item.cpus);
      if (tied && cpu.count > 0 && !cpu.unknown) mask &= column_bit(cpu.column);
    }
    for (uint32_t i = 0; i < item.device_rows; ++i) {
      const Row& row = item.devices[i];
      mask &= zones_with(cells + row.at, plan.zones_, row.need);
      if (tied && device[row.row].count > 0) mask &= column_bit(device[row.row].column);
    }
    return mask;
  }

  // The affinity of a container or of the pod; true if it is one zone.
  bool find_zone(const Item& item, bool tied, bool last, uint32_t& column) {
    if (item.large_block) return unsure();
    if (item.never) return refuse(Reason::kTopologyAffinityError, Stage::kMerge);
    if (item.wide) return unsure();
    ZoneMask others = zones_for(item, tied);
    if (tied && cpu.unknown && item.cpus > 0) {
      // Bound to where its init containers were, or not: it may be the same.
      const ZoneMask both = item.memory_rows > 0 ? others & memory_zones(item) : others;
      if (lowest(both) != column_bit(cpu.column)) return unsure();
      others = column_bit(cpu.column);
    }
    const ZoneMask memory = item.memory_rows > 0 ? memory_zones(item) : plan.all_;
    if ((others & memory) != 0) {
      column = static_cast<uint32_t>(std::countr_zero(others & memory));
      return true;
    }
    if (plan.best_effort_) return unsure();
    if (item.alone()) {
      // Several types of memory may want a wider set; without any set memory has no say.
      if (item.memory_rows > 1 || !several_zones_do(item)) return unsure();
      return refuse(Reason::kTopologyAffinityError, Stage::kMerge);
    }
    if (others == 0 || memory != 0 || several_zones_do(item)) {
      return refuse(Reason::kTopologyAffinityError, Stage::kMerge);
    }
    return no_memory_anywhere(item, others, last);
  }

  // No zones have enough memory. The topology manager treats this as no preference; then the memory
  // manager itself refuses.
  bool no_memory_anywhere(const Item& item, ZoneMask others, bool last) {
    if (plan.whole_ || !last) return unsure();
    if (!cores_do(item)) return false;
    if (memory_unknown(item)) {
      out.answer = QuickVerdict::kAdmitted;
      return false;
    }
    const auto column = static_cast<uint32_t>(std::countr_zero(others));
    for (uint32_t i = 0; i < item.memory_rows; ++i) {
      if (cells[item.memory[i].at + column] >= item.memory[i].need) continue;
      return refuse(Reason::kUnexpectedAdmissionError, Stage::kMemory);
    }
    return unsure();
  }

  // Allocate, with all from one zone.
  bool allocate(const Item& item, uint32_t column, bool last) {
    if (!cores_do(item)) return false;
    if (!last || place != nullptr) take(item, column);
    if (place == nullptr) return true;
    if (place->first == 0) place->first = column_bit(column);
    place->zones |= column_bit(column);
    return true;
  }

  // best-effort, and no container after this one: the affinity is taken as a wish, so devices and
  // CPUs may come from anywhere. Memory goes on the affinity's zones or on more; the affinity is
  // part of some set of zones that memory may lie on, if there is any such set.
  bool as_wished(const Item& item) {
    if (!devices_from_anywhere(item, true) || !cores_do(item)) return false;
    if (item.cpus > 0 && sum(cells, plan.zones_) < item.cpus) {
      return refuse(Reason::kUnexpectedAdmissionError, Stage::kCpu);
    }
    if (item.memory_rows == 0 || memory_unknown(item)) return true;
    const ZoneMask alone = memory_zones(item);
    const bool several = several_zones_do(item);
    if (alone == 0 && !several) {
      return refuse(Reason::kUnexpectedAdmissionError, Stage::kMemory);
    }
    // Else there may be no affinity at all.
    const ZoneMask zones = alone | (several ? open_zones() : 0);
    return (zones & item.zones) != 0 || unsure();
  }

  bool by_container() {
    for (uint32_t i = 0; i < plan.items_; ++i) {
      const Item& item = plan.item_[i];
      if (!item.asks()) continue;
      out.container = i;
      const bool last = i + 1 == plan.items_;
      if (last && plan.best_effort_ && place == nullptr) return as_wished(item);
      uint32_t column = 0;
      if (!find_zone(item, plan.items_ > 1, last, column) || !allocate(item, column, last))
        return false;
    }
    return true;
  }

  bool by_pod() {
    if (plan.best_effort_ && place == nullptr && plan.items_ == 1 &&
        plan.item_[0].kind == ContainerKind::kApp) {
      out.container = 0;
      return as_wished(plan.item_[0]);
    }
    out.container = kWholePod;
    uint32_t column = 0;
    if (!plan.pod_.asks()) return plan.items_ == 0 || unsure();
    if (!find_zone(plan.pod_, false, false, column)) return false;
    for (uint32_t i = 0; i < plan.items_; ++i) {
      const Item& item = plan.item_[i];
      if (!item.asks()) continue;
      out.container = i;
      // One affinity for all, which says nothing of what init containers need beyond it.
      const ZoneMask zones =
          zones_for(item, false) & (item.memory_rows > 0 ? memory_zones(item) : plan.all_);
      if ((zones >> column & 1) == 0) return unsure();
      if (!allocate(item, column, i + 1 == plan.items_)) return false;
    }
    return true;
  }

  // Policy none: devices and CPUs come from any zone; memory blocks lie on the lowest zone that has
  // room, or else on several zones.
  bool devices_from_anywhere(const Item& item, bool last) {
    for (uint32_t i = 0; i < item.device_rows; ++i) {
      const Row& row = item.devices[i];
      Left& left = device[row.row];
      const int64_t there = sum(cells + row.at, plan.zones_);
      if (there < row.need) {
        if (row.listed) {
          return refuse(Reason::kUnexpectedAdmissionError, Stage::kDevice, row.resource);
        }
        if (!last) return unsure();
      }
      if (last) continue;
      if (item.kind == ContainerKind::kInit) {
        left.count = std::max(left.count, row.need);
      } else {
        left.count -= std::min(left.count, row.need);
        copy[row.at] -= row.need;  // only the sum matters
      }
    }
    return true;
  }
  bool memory_from_anywhere(const Item& item, bool last) {
    if (item.memory_rows == 0) return true;
    if (memory_unknown(item)) return true;
    const ZoneMask zones = memory_zones(item);
    if (zones != 0) {
      if (!last) take_memory(item, static_cast<uint32_t>(std::countr_zero(lowest(zones))));
      return true;
    }
    if (!several_zones_do(item)) return refuse(Reason::kUnexpectedAdmissionError, Stage::kMemory);
    return last || unsure();
  }
  bool without_affinity() {
    for (uint32_t i = 0; i < plan.items_; ++i) {
      const Item& item = plan.item_[i];
      if (!item.asks()) continue;
      out.container = i;
      const bool last = i + 1 == plan.items_;
      if (!devices_from_anywhere(item, last) || !cores_do(item)) return false;
      if (item.cpus > 0) {
        if (cpu_total < item.cpus) {
          return refuse(Reason::kUnexpectedAdmissionError, Stage::kCpu);
        }
        if (item.kind != ContainerKind::kInit) cpu_total -= item.cpus;
      }
      if (!memory_from_anywhere(item, last)) return false;
    }
    return true;
  }
};

QuickVerdict QuickPlan::verdict(const int64_t* cells, const Brief& brief) const {
  if (says_nothing(brief)) return {};
  Walk walk(*this, brief, cells);
  const bool admitted = none_    ? walk.without_affinity()
                        : whole_ ? walk.by_pod()
                                 : walk.by_container();
  if (admitted) walk.out.answer = QuickVerdict::kAdmitted;
  return walk.out;
}

QuickVerdict QuickPlan::place(const int64_t* cells, const Brief& brief, QuickPlace& place) const {
  // Under policy none everything comes from any zone.
  if (none_ || says_nothing(brief)) return {};
  place.zones = place.first = 0;
  Walk walk(*this, brief, cells, &place);
  if (!(whole_ ? walk.by_pod() : walk.by_container())) {
    if (walk.out.answer == QuickVerdict::kAdmitted) walk.unsure();
    return walk.out;
  }
  if (walk.cpu.unknown) {
    walk.unsure();
    return walk.out;
  }
  // What plain init containers left stays the pod's.
  if (walk.cpu.count > 0) walk.copy[walk.cpu.column] -= walk.cpu.count;
  for (uint32_t i = 0; i < items_; ++i) {
    for (uint32_t k = 0; k < item_[i].device_rows; ++k) {
      const Row& row = item_[i].devices[k];
      Left& left = walk.device[row.row];
      if (left.count > 0) walk.copy[row.at + left.column] -= left.count;
      left.count = 0;
    }
  }
  std::memcpy(place.counts, walk.copy, counts_ * sizeof *place.counts);
  walk.out.answer = QuickVerdict::kAdmitted;
  return walk.out;
}

}  // namespace plimsoll::topology::kubelet

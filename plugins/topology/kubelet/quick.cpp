#include "plugins/topology/kubelet/quick.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "plugins/topology/kubelet/masks.hpp"

namespace plimsoll::topology::kubelet {
namespace {

ZoneMask lowest(ZoneMask mask) {
  return mask & -mask;
}

ZoneMask zones_with(const int64_t* cells, uint32_t zones, int64_t need) {
  ZoneMask mask = 0;
  for (uint32_t column = 0; column < zones; ++column) {
    mask |= ZoneMask{cells[column] >= need} << column;
  }
  return mask;
}

int64_t sum(const int64_t* cells, uint32_t zones) {
  int64_t total = 0;
  for (uint32_t column = 0; column < zones; ++column) total += cells[column];
  return total;
}

// Whether which of several single zones is nearer makes no difference.
bool zones_are_alike(const NodeModel& model) {
  for (uint32_t column = 1; column < model.zones(); ++column) {
    if (model.distance(column, column) != model.distance(0, 0)) return false;
  }
  return true;
}

}  // namespace

Brief::Brief(const NodeModel& model, const NodeState& state)
    : groups(state.knows_groups()),
      plain(true),
      alone(true),
      exact_memory(state.memory_is_exact()),
      cpu_ids(state.knows_cpus()) {
  const int64_t* counts = state.counts();
  plain = std::all_of(counts, counts + model.groups_at, [](int64_t each) { return each >= 0; });
  for (uint32_t row = 0; row < model.memory.size(); ++row) {
    const auto free = state.memory(model, row);
    plain = plain && std::equal(free.begin(), free.end(), model.memory[row].allocatable.begin(),
                                [](int64_t there, int64_t most) { return there <= most; });
  }
  for (uint32_t column = 0; groups && column < model.zones(); ++column) {
    if (state.assignments(model, column) > 0) used |= column_bit(column);
    alone = alone && is_single(state.group(model, column));
  }
  if (model.managers.cpu_options.full_pcpus_only && model.layout && cpu_ids) {
    whole_cpus = (state.cpu_ids(model) - model.reserved_cores).size();
  }
}

QuickPlan::QuickPlan(const NodeModel& model, const PodDemand& pod) {
  const Managers& managers = model.managers;
  zones_ = model.zones();
  counts_ = model.groups_at;
  all_ = model.all;
  none_ = managers.policy == Policy::kNone;
  best_effort_ = managers.policy == Policy::kBestEffort;
  whole_ = !none_ && managers.scope == Scope::kPod;
  even_ = !model.layout || model.layout->even();
  cpu_acts_ = model.cpu_static && pod.guaranteed;
  memory_acts_ = model.memory_static && pod.guaranteed;
  add_shorts(model, pod);
  // On a node of one zone single-numa-node takes its zone for no affinity.
  if (pod.pod_level || zones_ < 2 || counts_ > kMaxCells) return;
  if (model.devices.size() > kMaxDeviceRows) return;
  if (managers.prefer_closest && !none_ && managers.policy != Policy::kSingleNumaNode &&
      !zones_are_alike(model)) {
    return;
  }
  if (!add_containers(model, pod)) return;
  if (whole_ && !add(model, cpu_acts_ ? pod.totals.cpus : 0, pod.totals.memory, pod.totals.devices,
                     ContainerKind::kApp, pod_)) {
    return;
  }
  usable_ = true;
  find_plain();
}

// One container that acts, to which one zone with all of it is as good as any other: what is asked
// of cores, and of a pod that is more than its container, is left to Walk.
void QuickPlan::find_plain() {
  if (items_ != 1 || cores_) return;
  const Item& item = item_[0];
  if (item.kind != ContainerKind::kApp || !item.asks()) return;
  if (item.large_block || item.never || item.wide || (whole_ && !(pod_ == item))) return;
  plain_ = true;
  plain_zones_ = item.zones & item.enough;
  const auto add = [&](uint32_t at, int64_t need) {
    plain_at_[plain_rows_] = at;
    plain_need_[plain_rows_++] = need;
  };
  if (item.cpus > 0) add(0, item.cpus);
  for (uint32_t i = 0; i < item.memory_rows; ++i) add(item.memory[i].at, item.memory[i].need);
  for (uint32_t i = 0; i < item.device_rows; ++i) add(item.devices[i].at, item.devices[i].need);
}

QuickPlan::Taking QuickPlan::taking() const {
  Taking taking;
  if (!plain_) return taking;
  const Item& item = item_[0];
  const auto add = [&](uint32_t resource, int64_t amount) {
    taking.resource[taking.count] = resource;
    taking.amount[taking.count++] = amount;
  };
  if (item.cpus > 0) add(kCpuResource, item.cpus);
  for (uint32_t i = 0; i < item.memory_rows; ++i) add(item.memory[i].resource, item.memory[i].need);
  for (uint32_t i = 0; i < item.device_rows; ++i) {
    add(item.devices[i].resource, item.devices[i].need);
  }
  return taking;
}

bool QuickPlan::add_containers(const NodeModel& model, const PodDemand& pod) {
  // Containers after the last one that asks for something are not looked at.
  size_t acting = 0;
  uint32_t with_cpus = 0;
  if (pod.containers.size() > kMaxContainers) return false;
  item_.reserve(pod.containers.size());
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const ContainerDemand& container = pod.containers[i];
    Item& item = item_.emplace_back();
    if (!add(model, cpu_acts_ ? container.whole_cpus() : 0, container.memory, container.devices,
             container.kind, item)) {
      return false;
    }
    if (item.asks()) acting = i + 1;
    any_init_ = any_init_ || (item.asks() && container.kind == ContainerKind::kInit);
    if (item.cpus == 0) continue;
    ++with_cpus;
    const CpuOptions& options = model.managers.cpu_options;
    if (options.align_by_socket) return false;
    if (options.full_pcpus_only && model.layout) {
      cores_ = true;
      const int64_t per_core = std::max<int64_t>(model.layout->per_core(), 1);
      bad_cores_ = item.cpus % per_core != 0;
    }
  }
  items_ = static_cast<uint32_t>(acting);
  // What the first leaves of whole cores depends on ids.
  return !cores_ || with_cpus == 1;
}

// False: it is not to be looked at zone by zone.
bool QuickPlan::add(const NodeModel& model, int64_t cpus, const Needs& memory, const Needs& devices,
                    ContainerKind kind, Item& item) const {
  const bool single = model.managers.policy == Policy::kSingleNumaNode;
  item.kind = kind;
  item.cpus = cpus;
  item.zones = item.enough = all_;
  if (cpus > 0) {
    item.zones &= model.cpu.zones;
    item.wide = model.cpu.most < cpus;
    item.never = single && item.wide;
  }
  for (const Need& need : devices) {
    const uint32_t row = model.device_row(need.resource);
    if (row == kNoResourceRow) continue;
    const NodeModel::DeviceFacts& facts = model.device_facts[row];
    if (need.amount <= 0 || item.device_rows == kMaxRows) return false;
    if (!facts.any_topology || !facts.single_zone || !facts.any_healthy) return false;
    const bool listed = facts.words > 0;
    // Devices without a zone are in no count.
    if (listed &&
        facts.totals.largest.back() != static_cast<int64_t>(model.devices[row].devices.size())) {
      return false;
    }
    Row& made = item.devices[item.device_rows++];
    made = {model.devices_at + row * zones_, row, need.resource, need.amount, listed};
    item.zones &= facts.totals.zones;
    item.wide = item.wide || facts.totals.most < need.amount;
    item.never = item.never || (single && facts.totals.most < need.amount);
  }
  if (!memory_acts_) return true;
  bool bytes = false;
  for (const Need& need : memory) {
    const uint32_t row = model.memory_row(need.resource);
    if (need.amount <= 0 || row == kNoResourceRow || item.memory_rows == kMaxRows) return false;
    const std::vector<int64_t>& allocatable = model.memory[row].allocatable;
    Row& made = item.memory[item.memory_rows++];
    made = {model.memory_at + row * zones_, row, need.resource, need.amount, true};
    const ZoneMask enough = zones_with(allocatable.data(), zones_, need.amount);
    item.enough &= enough;
    bytes = bytes || need.resource == kMemoryResource;
    // Then more than one zone is wanted of it, or memory has no say at all.
    item.large_block = item.large_block || enough == 0;
  }
  return bytes;
}

namespace {

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

  QuickPlace* place;  // where it lands, if that is asked

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
  // Zones of which any may be together in a block.
  [[nodiscard]] ZoneMask open_zones() const {
    return brief.groups ? plan.all_ & ~brief.used & ~taken : plan.all_;
  }
  // Whether a block may lie on several zones: those without assignments, and what is there
  // together only grows with their number. Nothing of several zones is ever left to reuse here, and
  // no zone has more free than it may give away.
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

  // The affinity of a container, or of the pod; true: it is one zone.
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

  // No zones have enough memory, which to the topology manager means that any would do; then the
  // memory manager itself refuses.
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

  // Policy none: devices and CPUs come from anywhere, blocks of memory lie on the lowest zone that
  // has room, or else on several.
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
  // Under policy none everything comes from anywhere.
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

void QuickPlan::add_shorts(const NodeModel& model, const PodDemand& pod) {
  const bool single = model.managers.policy == Policy::kSingleNumaNode;
  const bool whole = model.managers.scope == Scope::kPod;
  const auto add = [&](uint32_t at, const Totals& totals, uint32_t resource, int64_t need) {
    if (need <= 0) return;
    shorts_.push_back({at, resource, single ? 1 : totals.fewest(need, zones_), need});
  };
  const auto largest = [&](auto&& of_container, int64_t of_pod) {
    if (whole) return of_pod;
    int64_t most = 0;
    for (const ContainerDemand& c : pod.containers) most = std::max(most, of_container(c));
    return most;
  };
  if (cpu_acts_) {
    add(0, model.cpu, kCpuResource,
        largest([](const auto& c) { return c.whole_cpus(); }, pod.totals.cpus));
  }
  for (uint32_t row = 0; memory_acts_ && row < model.memory.size(); ++row) {
    const uint32_t resource = model.memory[row].resource;
    add(model.memory_at + row * zones_, model.memory_by_type[row], resource,
        largest([&](const auto& c) { return amount_of(c.memory, resource); },
                amount_of(pod.totals.memory, resource)));
  }
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    const uint32_t resource = model.devices[row].resource;
    add(model.devices_at + row * zones_, model.device_facts[row].totals, resource,
        largest([&](const auto& c) { return amount_of(c.devices, resource); },
                amount_of(pod.totals.devices, resource)));
  }
}

uint32_t QuickPlan::short_resource(const int64_t* cells) const {
  for (const Short& each : shorts_) {
    const int64_t* free = cells + each.at;
    if (each.zones == 1) {
      if (zones_with(free, zones_, each.need) == 0) return each.resource;
      continue;
    }
    std::array<int64_t, 64> sorted;
    std::copy(free, free + zones_, sorted.begin());
    std::sort(sorted.begin(), sorted.begin() + zones_, std::greater<>());
    int64_t there = 0;
    for (uint32_t i = 0; i < each.zones && i < zones_; ++i) {
      there += std::max<int64_t>(0, sorted[i]);
    }
    if (there < each.need) return each.resource;
  }
  return kNoResourceRow;
}

const QuickPlan& QuickPlans::make(const NodeModel& model, const PodDemand& pod, uint32_t& place) {
  if (place == 0) {
    made_.emplace_back();
    place = static_cast<uint32_t>(made_.size());
  }
  Made& made = made_[place - 1];
  made.plan = QuickPlan(model, pod);
  made.model = model.number;
  return made.plan;
}

}  // namespace plimsoll::topology::kubelet

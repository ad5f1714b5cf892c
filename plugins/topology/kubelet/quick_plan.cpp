// Translates a pod into the terms of a machine type.

#include <algorithm>
#include <array>
#include <functional>

#include "plugins/topology/kubelet/masks.hpp"
#include "plugins/topology/kubelet/quick.hpp"

namespace plimsoll::topology::kubelet {
namespace {

// Whether the choice among single zones does not depend on distances.
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
  // On a node with one zone, single-numa-node treats that zone as no affinity.
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
  // Containers after the last one with a request are ignored.
  size_t acting = 0;
  uint32_t with_cpus = 0;
  if (pod.containers.size() > kMaxContainers) return false;
  item_.reserve(pod.containers.size());
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const ContainerDemand& container = pod.containers[i];
    if (memory_acts_ && container.memory_unreadable) return false;
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
  // How many whole cores the first container leaves depends on ids.
  return !cores_ || with_cpus == 1;
}

// Returns false if zones cannot be checked one by one.
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
    // Devices without a zone are not counted anywhere.
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

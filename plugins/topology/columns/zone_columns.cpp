#include "plugins/topology/columns/zone_columns.hpp"

#include <algorithm>

#include "plugins/topology/base/mix.hpp"
#include "plugins/topology/possible/arrival.hpp"
#include "plugins/topology/report/numa_node.hpp"

namespace plimsoll::topology {
namespace {

using kubelet::NodeModel;

constexpr int64_t kMilliPerCpu = 1000;

// Whether the counts of a row of the model are what the view has free of it, in units of so many
// base units, and not more than there is.
bool in_step(const int64_t* counts, const int64_t* totals, int64_t unit, uint32_t resource,
             const plimsoll_numa_node& view) {
  const uint32_t row = row_of(view, resource);
  for (uint32_t column = 0; column < view.zone_count; ++column) {
    const int64_t free = row == kNoRow ? 0 : view.free[size_t{row} * view.zone_count + column];
    if (counts[column] != free / unit || counts[column] > totals[column]) return false;
  }
  return true;
}

// Whether which of several single zones is nearer makes no difference.
bool zones_are_alike(const NodeModel& model) {
  for (uint32_t column = 1; column < model.zones(); ++column) {
    if (model.distance(column, column) != model.distance(0, 0)) return false;
  }
  return true;
}

uint64_t hash_of(const std::vector<uint64_t>& words) {
  uint64_t hash = 0;
  for (const uint64_t word : words) hash = mix(hash, word);
  return hash;
}

}  // namespace

bool ZoneColumns::belongs(const NodeModel& model, const kubelet::Brief& brief,
                          const int64_t* counts, const plimsoll_numa_node& view) {
  if (!brief.plain || !brief.alone || view.zone_count < 2 || view.resource_count == 0) return false;
  if (model.zones() != view.zone_count ||
      !std::equal(model.zone_ids.begin(), model.zone_ids.end(), view.zone_ids)) {
    return false;
  }
  const size_t cells = size_t{view.zone_count} * view.resource_count;
  for (size_t cell = 0; cell < cells; ++cell) {
    const int64_t free = view.free[cell];
    const int64_t size = view.allocatable[cell];
    if (free < 0 || free >= kExactAmount || size < 0 || size >= kExactAmount) return false;
  }
  if (!in_step(counts, model.cpu_totals.data(), kMilliPerCpu, kubelet::kCpuResource, view))
    return false;
  for (uint32_t row = 0; row < model.memory.size(); ++row) {
    const kubelet::MemoryType& type = model.memory[row];
    const int64_t* here = counts + model.memory_at + size_t{row} * view.zone_count;
    if (!in_step(here, type.allocatable.data(), 1, type.resource, view)) return false;
  }
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    const kubelet::DeviceType& type = model.devices[row];
    const int64_t* here = counts + model.devices_at + size_t{row} * view.zone_count;
    if (!in_step(here, type.totals.data(), 1, type.resource, view)) return false;
  }
  return true;
}

// All that a plan of a plain pod rests on besides totals: those say nothing where a zone has enough
// free. In QuickPlan's own order.
std::vector<uint64_t> ZoneColumns::key_of(const NodeModel& model, const kubelet::Brief& brief,
                                          const plimsoll_numa_node& view) {
  const kubelet::Managers& managers = model.managers;
  const kubelet::CpuOptions& options = managers.cpu_options;
  uint64_t flags = 0;
  const auto flag = [&](bool on) { flags = flags << 1 | (on ? 1 : 0); };
  flag(model.layout != nullptr);
  flag(model.layout != nullptr && model.layout->even());
  flag(managers.prefer_closest);
  flag(managers.prefer_closest && zones_are_alike(model));
  flag(model.cpu_static);
  flag(model.memory_static);
  flag(options.full_pcpus_only);
  flag(options.align_by_socket);
  flag(options.distribute_cpus_across_numa);
  flag(options.distribute_cpus_across_cores);
  flag(options.prefer_align_cpus_by_uncorecache);
  flag(managers.pod_level_resource_managers);
  flag(managers.since_1_37());
  flag(brief.cpu_ids);
  std::vector<uint64_t> key{static_cast<uint64_t>(managers.policy),
                            static_cast<uint64_t>(managers.scope),
                            uint64_t{view.policy} << 8 | view.scope,
                            flags,
                            view.zone_count,
                            model.groups_at,
                            model.memory.size(),
                            model.devices.size(),
                            view.resource_count};
  for (const kubelet::MemoryType& type : model.memory) key.push_back(type.resource);
  for (size_t row = 0; row < model.devices.size(); ++row) {
    const NodeModel::DeviceFacts& facts = model.device_facts[row];
    const bool listed = facts.words > 0;
    const auto in_zones = facts.totals.largest.empty() ? 0 : facts.totals.largest.back();
    const bool all_in_zones =
        !listed || in_zones == static_cast<int64_t>(model.devices[row].devices.size());
    key.push_back(uint64_t{model.devices[row].resource} << 8 | uint64_t{facts.any_topology} << 4 |
                  uint64_t{facts.single_zone} << 3 | uint64_t{facts.any_healthy} << 2 |
                  uint64_t{listed} << 1 | uint64_t{all_in_zones});
  }
  key.insert(key.end(), view.resources, view.resources + view.resource_count);
  return key;
}

// Of a node of the model that the group was found for.
bool ZoneColumns::same_rows(const Group& group, const plimsoll_numa_node& view,
                            const kubelet::Brief& brief) {
  return group.brief.cpu_ids == brief.cpu_ids && group.zones == view.zone_count &&
         group.policy == view.policy && group.scope == view.scope &&
         group.resources.size() == view.resource_count &&
         std::equal(group.resources.begin(), group.resources.end(), view.resources);
}

uint32_t ZoneColumns::group_for(const std::shared_ptr<const NodeModel>& model,
                                const kubelet::Brief& brief, const plimsoll_numa_node& view) {
  std::vector<uint64_t> key = key_of(*model, brief, view);
  const uint64_t hash = hash_of(key);
  const auto [begin, end] = by_key_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (groups_[at->second]->key == key) return at->second;
  }
  auto group = std::make_unique<Group>();
  group->key = std::move(key);
  group->hash = hash;
  group->model = model;
  group->brief = brief;
  group->zones = view.zone_count;
  group->policy = view.policy;
  group->scope = view.scope;
  group->resources.assign(view.resources, view.resources + view.resource_count);
  group->one_size.assign(view.allocatable, view.allocatable + group->cells());
  const auto free = std::find(groups_.begin(), groups_.end(), nullptr);
  const auto number = static_cast<uint32_t>(free - groups_.begin());
  if (free == groups_.end()) groups_.emplace_back();
  groups_[number] = std::move(group);
  by_key_.emplace(hash, number);
  return number;
}

void ZoneColumns::add(Place& place, uint32_t number, uint32_t slot) {
  Group& group = *groups_[number];
  const size_t blocks = group.blocks();
  place.group = number;
  place.position = static_cast<uint32_t>(group.slots.size());
  group.slots.push_back(slot);
  ++members_;
  if (group.blocks() == blocks) return;
  const size_t cells = group.blocks() * group.cells() * kBlock;
  group.free.resize(cells, kNobody);
  group.distinct.resize(group.blocks(), kStale);
  if (!group.own_size.empty()) group.own_size.resize(cells, 0);
}

void ZoneColumns::write(Group& group, uint32_t position, const plimsoll_numa_node& view) {
  const uint32_t cells = group.cells();
  const bool differs =
      group.own_size.empty() &&
      !std::equal(group.one_size.begin(), group.one_size.end(), view.allocatable,
                  [](double one, int64_t own) { return one == static_cast<double>(own); });
  if (differs) {
    group.own_size.resize(group.free.size());
    for (size_t at = 0; at < group.own_size.size(); ++at) {
      group.own_size[at] = group.one_size[at / kBlock % cells];
    }
  }
  size_t at = group.at(position);
  for (uint32_t cell = 0; cell < cells; ++cell, at += kBlock) {
    group.free[at] = static_cast<double>(view.free[cell]);
    if (!group.own_size.empty()) group.own_size[at] = static_cast<double>(view.allocatable[cell]);
  }
  group.distinct[position / kBlock] = kStale;
}

void ZoneColumns::put(uint32_t slot, const std::shared_ptr<const NodeModel>& model,
                      const kubelet::Brief& brief, const int64_t* counts,
                      const plimsoll_numa_node& view) {
  if (!belongs(*model, brief, counts, view)) return remove(slot);
  if (slot >= places_.size()) places_.resize(size_t{slot} + 1);
  ++version_;
  const Place& known = places_[slot];
  if (known.group != kNoGroup &&
      (known.model != model->number || !same_rows(*groups_[known.group], view, brief))) {
    const uint32_t number = group_for(model, brief, view);
    if (number != places_[slot].group) remove(slot);
  }
  Place& place = places_[slot];
  if (place.group == kNoGroup) add(place, group_for(model, brief, view), slot);
  place.model = model->number;
  write(*groups_[place.group], place.position, view);
}

void ZoneColumns::remove(uint32_t slot) {
  if (!has(slot)) return;
  ++version_;
  Place& place = places_[slot];
  Group& group = *groups_[place.group];
  const auto last = static_cast<uint32_t>(group.slots.size() - 1);
  size_t to = group.at(place.position);
  size_t from = group.at(last);
  for (uint32_t cell = 0; cell < group.cells(); ++cell, to += kBlock, from += kBlock) {
    group.free[to] = group.free[from];
    group.free[from] = kNobody;
    if (!group.own_size.empty()) group.own_size[to] = group.own_size[from];
  }
  group.slots[place.position] = group.slots[last];
  places_[group.slots[last]].position = place.position;
  group.slots.pop_back();
  const size_t cells = group.blocks() * group.cells() * kBlock;
  group.free.resize(cells);
  if (!group.own_size.empty()) group.own_size.resize(cells);
  group.distinct.resize(group.blocks());
  for (const size_t block : {place.position / kBlock, last / kBlock}) {
    if (block < group.blocks()) group.distinct[block] = kStale;
  }
  if (group.slots.empty()) {
    const auto [begin, end] = by_key_.equal_range(group.hash);
    const auto known =
        std::find_if(begin, end, [&](const auto& each) { return each.second == place.group; });
    if (known != end) by_key_.erase(known);
    groups_[place.group] = nullptr;
  }
  place = {};
  --members_;
}

// Where the pod lands on each node of the group. The plan is that of one node's model: where a zone
// has enough free, another's would be plain too, and say the same.
void ZoneColumns::find(Group& group, Inquiry& pod, Desk::Run& run, uint8_t* columns) {
  run = {};
  if (group.slots.size() < kFewAlike) return;
  const kubelet::QuickPlan& plan = pod.plans.of(*group.model, *pod.demand);
  if (!plan.is_plain() || plan.says_nothing(group.brief)) return;
  run.affinity = plan.has_affinity();
  run.what = in_base_units(plan.taking());
  std::array<RowNeed, std::tuple_size_v<decltype(run.what.amount)>> needs;
  for (uint32_t i = 0; i < run.what.count; ++i) {
    const auto row =
        std::find(group.resources.begin(), group.resources.end(), run.what.resource[i]);
    if (row == group.resources.end()) return;  // none of it anywhere
    needs[i] = {static_cast<uint32_t>(row - group.resources.begin()),
                static_cast<double>(run.what.amount[i])};
  }
  run.plain = true;
  group.count_distinct();
  find_columns(group.table(), needs.data(), run.what.count, columns);
}

void ZoneColumns::land(Inquiry& pod) const {
  Desk& desk = desk_;
  if (desk.demand != nullptr && desk.version == version_ &&
      same_demand(*desk.demand, *pod.demand)) {
    return;
  }
  desk.demand = pod.demand;
  desk.version = version_;
  desk.runs.resize(groups_.size());
  desk.by_slot.assign(places_.size(), kNoColumn);
  size_t places = 0;
  for (const auto& group : groups_) places += group ? group->blocks() * kBlock : 0;
  desk.columns.resize(places);
  size_t begin = 0;
  for (size_t number = 0; number < groups_.size(); ++number) {
    Desk::Run& run = desk.runs[number];
    run = {};
    if (groups_[number] == nullptr) continue;
    Group& group = *groups_[number];
    uint8_t* columns = desk.columns.data() + begin;
    find(group, pod, run, columns);
    run.begin = begin;
    begin += group.blocks() * kBlock;
    if (!run.plain) continue;
    for (size_t i = 0; i < group.slots.size(); ++i) desk.by_slot[group.slots[i]] = columns[i];
  }
}

std::span<const uint8_t> ZoneColumns::landings(Inquiry& pod) const {
  if (members_ == 0 || pod.scratch.uses_full_lists() || !desk_.owner.is_here()) return {};
  land(pod);
  return desk_.by_slot;
}

void ZoneColumns::each(Inquiry* pod, const PutAlike& put) const {
  if (members_ == 0 || !desk_.owner.is_here()) return;
  if (pod != nullptr && pod->scratch.uses_full_lists()) pod = nullptr;
  if (pod != nullptr) land(*pod);
  for (size_t number = 0; number < groups_.size(); ++number) {
    if (groups_[number] == nullptr || groups_[number]->slots.size() < kFewAlike) continue;
    Group& group = *groups_[number];
    group.count_distinct();
    const bool own = !group.own_size.empty();
    plimsoll_numa_alike nodes{};
    nodes.size = sizeof nodes;
    nodes.count = static_cast<uint32_t>(group.slots.size());
    nodes.slots = group.slots.data();
    nodes.free = group.free.data();
    nodes.sizes = own ? group.own_size.data() : group.one_size.data();
    nodes.resources = group.resources.data();
    nodes.zone_count = group.zones;
    nodes.resource_count = static_cast<uint32_t>(group.resources.size());
    nodes.policy = group.policy;
    nodes.scope = group.scope;
    nodes.own_sizes = own ? 1 : 0;
    nodes.distinct = group.distinct.data();
    Desk::Run* run = pod == nullptr ? nullptr : &desk_.runs[number];
    if (run != nullptr && run->plain && run->affinity) {
      run->taking = {sizeof run->taking, run->what.count, run->what.resource.data(),
                     run->what.amount.data()};
      nodes.taking = &run->taking;
      nodes.columns = desk_.columns.data() + run->begin;
    }
    put(nodes);
  }
}

}  // namespace plimsoll::topology

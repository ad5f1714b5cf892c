// Builds a node from the counts per zone alone.

#include <algorithm>
#include <bit>

#include "plugins/topology/report/facts_parts.hpp"

namespace plimsoll::topology::kubelet {
namespace {

constexpr std::string_view kCpu = "cpu";

// Row by row; empty if no zone reports costs.
std::vector<int32_t> distances_of(const Columns& columns) {
  if (std::all_of(columns.begin(), columns.end(),
                  [](const Column& zone) { return zone->costs.empty(); })) {
    return {};
  }
  std::vector<int32_t> distances;
  for (const Column& from : columns) {
    for (const Column& to : columns) {
      int32_t distance = kUnknownDistance;
      for (const ZoneCost& cost : from->costs) {
        if (cost.zone_id == to->id) distance = cost.value;
      }
      distances.push_back(distance);
    }
  }
  return distances;
}

// Every listed resource once, in order of name: the same rows whatever order an exporter uses.
std::vector<std::string_view> resources_of(const Columns& columns) {
  std::vector<std::string_view> names;
  for (const Column& zone : columns) {
    for (const ZoneResource& resource : zone->resources) names.push_back(resource.name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

template <typename Value>
std::vector<int64_t> by_column(const Columns& columns, std::string_view resource,
                               const Value& value) {
  std::vector<int64_t> amounts;
  for (const Column& zone : columns) {
    const ZoneResource* found = find(zone, resource);
    amounts.push_back(found == nullptr ? 0 : std::max<int64_t>(value(*found), 0));
  }
  return amounts;
}

bool any(const std::vector<int64_t>& amounts) {
  return std::any_of(amounts.begin(), amounts.end(), [](int64_t amount) { return amount > 0; });
}

int64_t allocatable(const ZoneResource& resource) {
  return resource.allocatable;
}
// Capacity counts reserved CPUs and is what the kubelet's minimum of zones rests on. An exporter
// that has it wrong has at least the allocatable ones.
int64_t capacity(const ZoneResource& resource) {
  return std::max(resource.capacity, resource.allocatable);
}

// Treats devices as free in the order of the list while each of their zones has some left; devices
// without a zone are all free. Only for the case that the list is known and the free devices are
// not.
std::vector<uint64_t> likely_free(const NodeModel& model, uint32_t row,
                                  std::vector<int64_t> available) {
  const auto& devices = model.devices[row].devices;
  std::vector<uint64_t> free(model.device_facts[row].words);
  for (size_t i = 0; i < devices.size(); ++i) {
    bool left = devices[i].healthy;
    for (ZoneMask rest = devices[i].zones; rest != 0; rest &= rest - 1) {
      left = left && available[static_cast<size_t>(std::countr_zero(rest))] > 0;
    }
    if (!left) continue;
    free[i / 64] |= uint64_t{1} << (i % 64);
    for (ZoneMask rest = devices[i].zones; rest != 0; rest &= rest - 1) {
      --available[static_cast<size_t>(std::countr_zero(rest))];
    }
  }
  return free;
}

void put(std::span<const int64_t> amounts, std::span<const int64_t> totals, std::span<int64_t> to) {
  for (size_t column = 0; column < to.size(); ++column) {
    to[column] = std::min(amounts[column], totals[column]);
  }
}

// The memory manager's groups. A zone with a block is in a group, possibly of its own; the counts
// do not show which. A group of its own is by far the most likely: then no block over several zones
// may use the zone.
void guess_groups(const NodeModel& model, NodeState& state) {
  const auto used = [&](uint32_t row, uint32_t column) {
    return model.memory[row].allocatable[column] - state.memory(model, row)[column];
  };
  for (uint32_t column = 0; column < model.zones(); ++column) {
    bool holds = false;
    for (uint32_t row = 0; row < model.memory.size(); ++row) holds |= used(row, column) > 0;
    if (!holds) continue;
    state.set_group(model, column, 1, ZoneMask{1} << column);
  }
}

}  // namespace

Columns columns_of(const NrtObject& nrt) {
  Columns columns;
  for (const NrtZone& zone : nrt.zones) {
    Column& column = columns.emplace_back();
    column.zone = &zone;
    for (const ZoneResource& each : zone.resources) column.by_name.push_back(&each);
    // Of the same name the first counts; a report that was read has none twice.
    std::stable_sort(
        column.by_name.begin(), column.by_name.end(),
        [](const ZoneResource* a, const ZoneResource* b) { return a->name < b->name; });
  }
  std::sort(columns.begin(), columns.end(),
            [](const Column& a, const Column& b) { return a->id < b->id; });
  return columns;
}

int column_of(const NodeModel& model, int64_t zone_id) {
  const auto found = std::lower_bound(model.zone_ids.begin(), model.zone_ids.end(), zone_id);
  return found == model.zone_ids.end() || *found != zone_id
             ? -1
             : static_cast<int>(found - model.zone_ids.begin());
}

const ZoneResource* find(const Column& column, std::string_view resource) {
  const auto found = std::lower_bound(
      column.by_name.begin(), column.by_name.end(), resource,
      [](const ZoneResource* each, std::string_view name) { return each->name < name; });
  return found != column.by_name.end() && (*found)->name == resource ? *found : nullptr;
}

// Device plugins register extended resources: names with a domain that is not Kubernetes' own.
bool is_device(std::string_view resource) {
  return resource.find('/') != std::string_view::npos &&
         resource.find("kubernetes.io/") == std::string_view::npos;
}

NodeModel model_of_counts(const Columns& columns, const NrtObject& nrt,
                          const InternResource& index) {
  NodeModel model;
  for (const Column& zone : columns) model.zone_ids.push_back(zone->id);
  model.distances = distances_of(columns);
  model.managers.policy = nrt.manager.policy;
  model.managers.scope = nrt.manager.scope;
  model.managers.max_numa_nodes = nrt.manager.max_numa_nodes;
  // An exporter omits the resources of a manager that is off, or lists them as 0.
  model.managers.cpu = ManagerPolicy::kNone;
  model.managers.memory = ManagerPolicy::kNone;
  for (const std::string_view name : resources_of(columns)) {
    if (name == kCpu) {
      model.cpu_totals = by_column(columns, name, capacity);
      for (int64_t& total : model.cpu_totals) total /= 1000;
      if (any(by_column(columns, name, allocatable))) model.managers.cpu = ManagerPolicy::kStatic;
    } else if (is_memory(name)) {
      model.memory.push_back({index(name), by_column(columns, name, allocatable)});
      // Hugepages alone do not show it: an active manager has memory to hand out as well.
      if (model.memory.back().resource == kMemoryResource && any(model.memory.back().allocatable)) {
        model.managers.memory = ManagerPolicy::kStatic;
      }
    } else if (is_device(name)) {
      DeviceType type{index(name), {}, by_column(columns, name, capacity)};
      if (any(type.totals)) model.devices.push_back(std::move(type));
    }
  }
  return model;
}

NodeState state_of_counts(const Columns& columns, const NodeModel& model,
                          const InternResource& index) {
  NodeState state(model);
  std::vector<std::vector<int64_t>> devices(model.devices.size(),
                                            std::vector<int64_t>(model.zones()));
  for (const std::string_view name : resources_of(columns)) {
    std::vector<int64_t> available =
        by_column(columns, name, [](const ZoneResource& resource) { return resource.available; });
    if (name == kCpu) {
      for (int64_t& amount : available) amount /= 1000;
      put(available, model.cpu_totals, state.cpu(model));
    } else if (is_memory(name)) {
      const uint32_t row = model.memory_row(index(name));
      put(available, model.memory[row].allocatable, state.memory(model, row));
    } else if (is_device(name)) {
      const uint32_t row = model.device_row(index(name));
      if (row != kNoResourceRow) devices[row] = std::move(available);
    }
  }
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    if (model.devices[row].listed()) {
      state.set_device_ids(model, row, likely_free(model, row, std::move(devices[row])));
    } else {
      put(devices[row], model.devices[row].totals, state.devices(model, row));
    }
  }
  if (model.memory_static) guess_groups(model, state);
  state.set_memory_exact(false);
  return state;
}

}  // namespace plimsoll::topology::kubelet

#include "lab/sandbox/kubelet/node_kind.hpp"

#include <algorithm>
#include <set>

namespace plimsoll::sandbox {
namespace {

namespace kubelet = topology::kubelet;
using kubelet::ZoneMask;

constexpr std::int64_t kListedDevices = 1024;  // per resource; beyond that they are only counted

}  // namespace

NodeKind kind_of_counts(const NodeDescription& node, ResourceIndex& resources) {
  node::NodeKindBuilder builder(node.zones.size());
  kubelet::NodeModel& model = builder.model;
  model.managers.policy = node::policy_of(node.policy);
  model.managers.scope = node::scope_of(node.scope);
  std::int64_t cpus = 0;
  bool has_memory = false;
  std::set<std::string> devices;
  for (std::size_t column = 0; column < node.zones.size(); ++column) {
    const ZoneDescription& zone = node.zones[column];
    model.zone_ids.push_back(static_cast<std::uint32_t>(zone.id));
    for (const auto& [name, allocatable] : zone.allocatable) {
      const std::int64_t capacity = std::max<std::int64_t>(0, node::amount_of(zone.capacity, name));
      builder.set(column, name, capacity, std::max<std::int64_t>(0, allocatable));
      if (node::is_memory(name)) has_memory = has_memory || allocatable > 0;
      if (node::is_device(name)) devices.insert(name);
    }
    cpus = std::min<std::int64_t>(
        kubelet::kMaxCpus + 1,
        cpus + (node::amount_of(builder.kind.capacity[column], "cpu") + node::kMilli - 1) /
                   node::kMilli);
  }
  const bool has_costs = std::any_of(node.zones.begin(), node.zones.end(),
                                     [](const auto& zone) { return !zone.costs.empty(); });
  for (const ZoneDescription& from : node.zones) {
    if (!has_costs) break;
    for (const ZoneDescription& to : node.zones) {
      const auto cost = std::find_if(from.costs.begin(), from.costs.end(),
                                     [&](const auto& c) { return c.first == to.id; });
      model.distances.push_back(cost != from.costs.end() ? static_cast<std::int32_t>(cost->second)
                                                         : topology::kUnknownDistance);
    }
  }
  // Where a manager is off, an exporter writes zeros or nothing: that is no constraint.
  bool has_cpus = false;
  std::vector<kubelet::CpuPlace> places;
  model.reserved.emplace();
  std::uint32_t id = 0;
  for (std::size_t column = 0; column < node.zones.size(); ++column) {
    const auto zone = static_cast<std::uint32_t>(column);
    const std::int64_t capacity =
        (node::amount_of(builder.kind.capacity[column], "cpu") + node::kMilli - 1) / node::kMilli;
    const std::int64_t allocatable =
        node::amount_of(builder.kind.allocatable[column], "cpu") / node::kMilli;
    has_cpus = has_cpus || allocatable > 0;
    model.cpu_totals.push_back(capacity);
    builder.free_cpu_counts.push_back(allocatable);
    if (cpus > kubelet::kMaxCpus) continue;
    for (std::int64_t i = 0; i < capacity; ++i, ++id) {
      places.push_back({id, zone, zone, id, zone});
      (i < capacity - allocatable ? *model.reserved : builder.free_cpus).add(id);
    }
  }
  if (cpus <= kubelet::kMaxCpus)
    model.layout = std::make_shared<const kubelet::CpuLayout>(places);
  else
    model.reserved.reset();
  model.managers.cpu = has_cpus && !node.cpu_manager_off ? kubelet::ManagerPolicy::kStatic
                                                         : kubelet::ManagerPolicy::kNone;
  model.managers.memory = has_memory && !node.memory_manager_off ? kubelet::ManagerPolicy::kStatic
                                                                 : kubelet::ManagerPolicy::kNone;
  if (has_memory) builder.add_memory(resources);
  for (const std::string& name : devices) {
    kubelet::DeviceType type;
    type.resource = resources.of(name);
    std::int64_t count = 0;
    for (const node::Amounts& zone : builder.kind.capacity) {
      type.totals.push_back(node::amount_of(zone, name));
      count =
          std::min(kListedDevices + 1, count + std::min(kListedDevices + 1, type.totals.back()));
    }
    for (std::size_t column = 0; column < node.zones.size() && count <= kListedDevices; ++column) {
      const std::int64_t healthy = node::amount_of(builder.kind.allocatable[column], name);
      for (std::int64_t i = 0; i < type.totals[column]; ++i) {
        type.devices.push_back(
            {"z" + std::to_string(node.zones[column].id) + "-" + std::to_string(i),
             ZoneMask{1} << column, i < healthy});
      }
    }
    model.devices.push_back(std::move(type));
  }
  return builder.finish();
}

std::shared_ptr<const NodeKind> NodeKinds::of(const NodeDescription& node) {
  if (node.machine != nullptr) {
    auto& kind = by_machine_[node.machine];
    if (!kind) {
      kind = std::make_shared<const NodeKind>(node::kind_of_machine(*node.machine, resources_));
    }
    return kind;
  }
  std::string key = node.policy + "/" + node.scope + (node.cpu_manager_off ? "/no cpu" : "") +
                    (node.memory_manager_off ? "/no memory" : "");
  for (const ZoneDescription& zone : node.zones) {
    key += "\n" + std::to_string(zone.id);
    for (const auto& [name, amount] : zone.capacity) {
      key += ";" + name + "=" + std::to_string(amount) + "/" +
             std::to_string(node::amount_of(zone.allocatable, name));
    }
    for (const auto& [id, cost] : zone.costs) {
      key += ";" + std::to_string(id) + ">" + std::to_string(cost);
    }
  }
  auto& kind = by_counts_[key];
  if (!kind) kind = std::make_shared<const NodeKind>(kind_of_counts(node, resources_));
  return kind;
}

}  // namespace plimsoll::sandbox

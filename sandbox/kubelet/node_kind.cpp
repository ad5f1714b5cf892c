#include "sandbox/kubelet/node_kind.hpp"

#include <algorithm>
#include <set>

namespace plimsoll::sandbox {
namespace {

namespace kubelet = topology::kubelet;
using kubelet::ZoneMask;

constexpr std::int64_t kListedDevices = 1024;  // per resource; beyond that they are only counted

bool is_on(const std::map<std::string, std::string>& options, const char* name) {
  const auto found = options.find(name);
  return found != options.end() && found->second == "true";
}

topology::Policy policy_of(const std::string& name) {
  if (name == "best-effort") return topology::Policy::kBestEffort;
  if (name == "restricted") return topology::Policy::kRestricted;
  if (name == "single-numa-node") return topology::Policy::kSingleNumaNode;
  return topology::Policy::kNone;
}

topology::Scope scope_of(const std::string& name) {
  return name == "pod" ? topology::Scope::kPod : topology::Scope::kContainer;
}

// Combines a finished model and everything that is free on it.
struct Builder {
  kubelet::NodeModel model;
  kubelet::CpuSet free_cpus;
  std::vector<std::int64_t> free_cpu_counts;  // where ids are unknown
  NodeKind kind;

  explicit Builder(std::size_t zones) {
    kind.capacity.resize(zones);
    kind.allocatable.resize(zones);
  }

  void set(std::size_t column, const std::string& resource, std::int64_t capacity,
           std::int64_t allocatable) {
    kind.capacity[column][resource] = capacity;
    kind.allocatable[column][resource] = allocatable;
  }

  void add_memory(ResourceIndex& resources) {
    std::set<std::string> types;
    for (const node::Amounts& zone : kind.allocatable) {
      for (const auto& [name, amount] : zone) {
        if (is_memory(name)) types.insert(name);
      }
    }
    for (const std::string& name : types) {
      kubelet::MemoryType type;
      type.resource = resources.of(name);
      for (const node::Amounts& zone : kind.allocatable)
        type.allocatable.push_back(node::amount_of(zone, name));
      model.memory.push_back(std::move(type));
    }
  }

  NodeKind finish() {
    model.prepare();
    kubelet::NodeState& free = kind.free;
    free = kubelet::NodeState(model);
    if (model.cpu_static && model.layout) {
      free.set_cpu_ids(model, free_cpus);
    } else if (model.cpu_static) {
      std::copy(free_cpu_counts.begin(), free_cpu_counts.end(), free.cpu(model).begin());
    }
    for (std::uint32_t row = 0; row < model.memory.size(); ++row) {
      std::copy(model.memory[row].allocatable.begin(), model.memory[row].allocatable.end(),
                free.memory(model, row).begin());
    }
    if (model.memory_static) {
      for (std::uint32_t column = 0; column < model.zones(); ++column) {
        free.set_group(model, column, 0, ZoneMask{1} << column);
      }
    }
    for (std::uint32_t row = 0; row < model.devices.size(); ++row) {
      if (model.devices[row].listed()) {
        free.set_device_ids(model, row, model.device_facts[row].healthy);
      } else {
        std::copy(model.devices[row].totals.begin(), model.devices[row].totals.end(),
                  free.devices(model, row).begin());
      }
    }
    kind.model = std::make_shared<const kubelet::NodeModel>(std::move(model));
    return std::move(kind);
  }
};

void add_devices(const node::Machine& machine, ResourceIndex& resources, Builder& builder) {
  const auto column_of = [&](int id) {
    const auto& zones = machine.hardware.zones;
    return static_cast<std::size_t>(
        std::find_if(zones.begin(), zones.end(), [&](const auto& z) { return z.id == id; }) -
        zones.begin());
  };
  for (const node::MachineDevice& device : machine.devices) {
    const std::uint32_t resource = resources.of(device.resource);
    auto& types = builder.model.devices;
    if (types.empty() || types.back().resource != resource) types.push_back({resource, {}, {}});
    kubelet::Device entry{device.id, 0, device.healthy};
    for (const int id : device.zones) {
      const std::size_t column = column_of(id);
      const ZoneMask bit = ZoneMask{1} << column;
      if ((entry.zones & bit) != 0) continue;
      entry.zones |= bit;
      ++builder.kind.capacity[column][device.resource];
      builder.kind.allocatable[column][device.resource] += device.healthy ? 1 : 0;
    }
    types.back().devices.push_back(std::move(entry));
  }
}

}  // namespace

bool is_memory(const std::string& resource) {
  return resource == "memory" || resource.starts_with("hugepages-");
}

bool is_device(const std::string& resource) {
  return resource.find('/') != std::string::npos &&
         resource.find("kubernetes.io/") == std::string::npos;
}

ResourceIndex::ResourceIndex() {
  (void)of("cpu");     // kCpuResource
  (void)of("memory");  // kMemoryResource
}

std::uint32_t ResourceIndex::of(const std::string& name) {
  const auto [found, fresh] = indices_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back(name);
  return found->second;
}

kubelet::Managers managers_of(const node::KubeletSettings& settings) {
  kubelet::Managers managers;
  managers.policy = policy_of(settings.topology_manager_policy);
  managers.scope = scope_of(settings.topology_manager_scope);
  managers.prefer_closest = is_on(settings.topology_manager_options, "prefer-closest-numa-nodes");
  managers.max_numa_nodes = settings.max_numa_nodes().value_or(managers.max_numa_nodes);
  managers.cpu = settings.cpu_manager_policy == "static" ? kubelet::ManagerPolicy::kStatic
                                                         : kubelet::ManagerPolicy::kNone;
  const auto& options = settings.cpu_manager_options;
  managers.cpu_options = {is_on(options, "full-pcpus-only"),
                          is_on(options, "distribute-cpus-across-numa"),
                          is_on(options, "align-by-socket"),
                          is_on(options, "distribute-cpus-across-cores"),
                          is_on(options, "prefer-align-cpus-by-uncorecache"),
                          is_on(options, "strict-cpu-reservation")};
  managers.memory = settings.memory_manager_policy == "Static" ? kubelet::ManagerPolicy::kStatic
                                                               : kubelet::ManagerPolicy::kNone;
  managers.pod_level_resource_managers = settings.pod_level_resource_managers;
  return managers;
}

NodeKind kind_of_machine(const node::Machine& machine, ResourceIndex& resources) {
  const node::Hardware& hardware = machine.hardware;
  Builder builder(hardware.zones.size());
  kubelet::NodeModel& model = builder.model;
  model.managers = managers_of(machine.kubelet);
  for (const node::MachineZone& zone : hardware.zones) {
    model.zone_ids.push_back(static_cast<std::uint32_t>(zone.id));
    for (const std::int64_t distance : zone.distances) {
      model.distances.push_back(static_cast<std::int32_t>(distance));
    }
  }
  std::vector<kubelet::CpuPlace> places;
  std::vector<std::int64_t> free(hardware.zones.size());
  std::vector<std::int64_t> total(hardware.zones.size());
  const auto& reserved = machine.kubelet.reserved_cpus;
  model.reserved.emplace();
  for (const node::MachineCpu& cpu : hardware.cpus) {
    places.push_back({static_cast<std::uint32_t>(cpu.id), static_cast<std::uint32_t>(cpu.zone),
                      static_cast<std::uint32_t>(cpu.socket), static_cast<std::uint32_t>(cpu.core),
                      static_cast<std::uint32_t>(cpu.uncore)});
    ++total[cpu.zone];
    if (std::binary_search(reserved.begin(), reserved.end(), cpu.id)) {
      model.reserved->add(static_cast<std::uint32_t>(cpu.id));
    } else {
      builder.free_cpus.add(static_cast<std::uint32_t>(cpu.id));
      ++free[cpu.zone];
    }
  }
  model.layout = std::make_shared<const kubelet::CpuLayout>(places);
  // Exporters list what the managers allocate: no CPUs or memory where the manager is off.
  const bool cpus = model.managers.cpu == kubelet::ManagerPolicy::kStatic;
  const bool memory = model.managers.memory == kubelet::ManagerPolicy::kStatic;
  for (std::size_t column = 0; column < hardware.zones.size(); ++column) {
    builder.set(column, "cpu", total[column] * node::kMilli,
                cpus ? free[column] * node::kMilli : 0);
    if (!memory) continue;
    const node::MachineZone& zone = hardware.zones[column];
    for (const auto& [type, bytes] : machine.allocatable_memory(column)) {
      builder.set(column, type,
                  type == "memory" ? zone.memory : node::amount_of(zone.hugepages, type), bytes);
    }
  }
  if (memory) builder.add_memory(resources);
  add_devices(machine, resources, builder);
  return builder.finish();
}

NodeKind kind_of_counts(const NodeDescription& node, ResourceIndex& resources) {
  Builder builder(node.zones.size());
  kubelet::NodeModel& model = builder.model;
  model.managers.policy = policy_of(node.policy);
  model.managers.scope = scope_of(node.scope);
  std::int64_t cpus = 0;
  bool has_memory = false;
  std::set<std::string> devices;
  for (std::size_t column = 0; column < node.zones.size(); ++column) {
    const ZoneDescription& zone = node.zones[column];
    model.zone_ids.push_back(static_cast<std::uint32_t>(zone.id));
    for (const auto& [name, allocatable] : zone.allocatable) {
      const std::int64_t capacity = std::max<std::int64_t>(0, node::amount_of(zone.capacity, name));
      builder.set(column, name, capacity, std::max<std::int64_t>(0, allocatable));
      if (is_memory(name)) has_memory = has_memory || allocatable > 0;
      if (is_device(name)) devices.insert(name);
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
  model.managers.cpu = has_cpus ? kubelet::ManagerPolicy::kStatic : kubelet::ManagerPolicy::kNone;
  model.managers.memory =
      has_memory ? kubelet::ManagerPolicy::kStatic : kubelet::ManagerPolicy::kNone;
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

node::Amounts amounts_at(const NodeKind& kind, const kubelet::NodeState& state,
                         std::uint32_t column, const ResourceIndex& resources) {
  const kubelet::NodeModel& model = *kind.model;
  const node::Amounts& listed = kind.allocatable[column];
  node::Amounts amounts;
  const auto set = [&](const std::string& name, std::int64_t amount) {
    if (listed.contains(name)) amounts[name] = amount;
  };
  if (model.cpu_static) set("cpu", state.cpu(model)[column] * node::kMilli);
  for (std::uint32_t row = 0; row < model.memory.size(); ++row) {
    set(resources.name(model.memory[row].resource), state.memory(model, row)[column]);
  }
  for (std::uint32_t row = 0; row < model.devices.size(); ++row) {
    set(resources.name(model.devices[row].resource), state.devices(model, row)[column]);
  }
  return amounts;
}

std::shared_ptr<const NodeKind> NodeKinds::of(const NodeDescription& node) {
  if (node.machine != nullptr) {
    auto& kind = by_machine_[node.machine];
    if (!kind) {
      kind = std::make_shared<const NodeKind>(kind_of_machine(*node.machine, resources_));
    }
    return kind;
  }
  std::string key = node.policy + "/" + node.scope;
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

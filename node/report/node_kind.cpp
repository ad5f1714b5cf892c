#include "node/report/node_kind.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace plimsoll::node {
namespace {

namespace kubelet = topology::kubelet;
using kubelet::ZoneMask;

// As the kubelet's strconv.ParseBool.
bool is_on(const std::map<std::string, std::string>& options, const char* name) {
  constexpr std::array<std::string_view, 6> kTrue{"1", "t", "T", "true", "TRUE", "True"};
  const auto found = options.find(name);
  return found != options.end() &&
         std::find(kTrue.begin(), kTrue.end(), found->second) != kTrue.end();
}

void add_devices(const Machine& machine, ResourceIndex& resources, NodeKindBuilder& builder) {
  const auto column_of = [&](int id) {
    const auto& zones = machine.hardware.zones;
    return static_cast<std::size_t>(
        std::find_if(zones.begin(), zones.end(), [&](const auto& z) { return z.id == id; }) -
        zones.begin());
  };
  for (const MachineDevice& device : machine.devices) {
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

NodeKindBuilder::NodeKindBuilder(std::size_t zones) {
  kind.capacity.resize(zones);
  kind.allocatable.resize(zones);
}

void NodeKindBuilder::set(std::size_t column, const std::string& resource, std::int64_t capacity,
                          std::int64_t allocatable) {
  kind.capacity[column][resource] = capacity;
  kind.allocatable[column][resource] = allocatable;
}

void NodeKindBuilder::add_memory(ResourceIndex& resources) {
  std::set<std::string> types;
  for (const Amounts& zone : kind.allocatable) {
    for (const auto& [name, amount] : zone) {
      if (is_memory(name)) types.insert(name);
    }
  }
  for (const std::string& name : types) {
    kubelet::MemoryType type;
    type.resource = resources.of(name);
    for (const Amounts& zone : kind.allocatable) type.allocatable.push_back(amount_of(zone, name));
    model.memory.push_back(std::move(type));
  }
}

NodeKind NodeKindBuilder::finish() {
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
topology::Policy policy_of(const std::string& name) {
  if (name == "best-effort") return topology::Policy::kBestEffort;
  if (name == "restricted") return topology::Policy::kRestricted;
  if (name == "single-numa-node") return topology::Policy::kSingleNumaNode;
  return topology::Policy::kNone;
}

topology::Scope scope_of(const std::string& name) {
  return name == "pod" ? topology::Scope::kPod : topology::Scope::kContainer;
}

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

kubelet::Managers managers_of(const KubeletSettings& settings) {
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
  managers.kubelet_minor = kubelet::kubelet_minor(settings.version);
  return managers;
}

NodeKind kind_of_machine(const Machine& machine, ResourceIndex& resources) {
  const Hardware& hardware = machine.hardware;
  NodeKindBuilder builder(hardware.zones.size());
  kubelet::NodeModel& model = builder.model;
  model.managers = managers_of(machine.kubelet);
  for (const MachineZone& zone : hardware.zones) {
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
  for (const MachineCpu& cpu : hardware.cpus) {
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
    builder.set(column, "cpu", total[column] * kMilli, cpus ? free[column] * kMilli : 0);
    if (!memory) continue;
    const MachineZone& zone = hardware.zones[column];
    for (const auto& [type, bytes] : machine.allocatable_memory(column)) {
      builder.set(column, type, type == "memory" ? zone.memory : amount_of(zone.hugepages, type),
                  bytes);
    }
  }
  if (memory) builder.add_memory(resources);
  add_devices(machine, resources, builder);
  return builder.finish();
}

Amounts amounts_at(const NodeKind& kind, const kubelet::NodeState& state, std::uint32_t column,
                   const ResourceIndex& resources) {
  const kubelet::NodeModel& model = *kind.model;
  const Amounts& listed = kind.allocatable[column];
  Amounts amounts;
  const auto set = [&](const std::string& name, std::int64_t amount) {
    if (listed.contains(name)) amounts[name] = amount;
  };
  if (model.cpu_static) set("cpu", state.cpu(model)[column] * kMilli);
  for (std::uint32_t row = 0; row < model.memory.size(); ++row) {
    set(resources.name(model.memory[row].resource), state.memory(model, row)[column]);
  }
  for (std::uint32_t row = 0; row < model.devices.size(); ++row) {
    set(resources.name(model.devices[row].resource), state.devices(model, row)[column]);
  }
  return amounts;
}

NodeReport zones_of(const NodeKind& kind, const kubelet::NodeState& state,
                    const ResourceIndex& resources) {
  const kubelet::NodeModel& model = *kind.model;
  NodeReport report;
  for (std::uint32_t column = 0; column < model.zones(); ++column) {
    ZoneReport& zone = report.zones.emplace_back();
    zone.id = static_cast<int>(model.zone_ids[column]);
    zone.capacity = kind.capacity[column];
    zone.allocatable = kind.allocatable[column];
    zone.available = zone.allocatable;
    for (const auto& [name, amount] : amounts_at(kind, state, column, resources)) {
      zone.available[name] = amount;
    }
  }
  return report;
}

void add_costs(NodeReport& report, const kubelet::NodeModel& model) {
  for (std::uint32_t column = 0; column < model.zones(); ++column) {
    for (std::uint32_t to = 0; to < model.zones(); ++to) {
      report.zones[column].costs.emplace_back(static_cast<int>(model.zone_ids[to]),
                                              model.distance(column, to));
    }
  }
}

void add_facts(NodeReport& report, const NodeKind& kind, const kubelet::NodeState& state,
               const std::vector<kubelet::PodHolding>& pods, const ResourceIndex& resources) {
  const kubelet::NodeModel& model = *kind.model;
  for (topology::NrtAttribute& setting : kubelet::encode_settings(model)) {
    report.attributes.emplace_back(std::move(setting.name), std::move(setting.value));
  }
  const kubelet::ResourceName name_of = [&](std::uint32_t index) -> std::string_view {
    return resources.name(index);
  };
  if (!kind.facts.has_value()) kind.facts = kubelet::encode_machine(model, name_of);
  report.annotations.emplace_back(
      topology::kFreeAnnotation,
      kubelet::encode_free(model, state, name_of, *kind.facts, nrt_zones_of(report), &pods));
  report.annotations.emplace_back(topology::kMachineAnnotation, *kind.facts);
}

}  // namespace plimsoll::node

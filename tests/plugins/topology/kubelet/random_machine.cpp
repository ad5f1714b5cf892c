#include "tests/plugins/topology/kubelet/random_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace plimsoll::topology::kubelet {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

// CPU numbers by core and thread.
std::vector<std::vector<uint32_t>> numbered_cores(const MachineSpec& spec, std::mt19937& random) {
  std::vector<std::vector<uint32_t>> cores(spec.zones * spec.cores_per_zone);
  for (size_t core = 0; core < cores.size(); ++core) {
    cores[core].resize(spec.hybrid && core % 2 == 1 ? 1 : spec.threads);
  }
  uint32_t next = 0;
  if (spec.numbering == Numbering::kSiblingsTogether) {
    for (auto& core : cores) {
      for (uint32_t& cpu : core) cpu = next++;
    }
    return cores;
  }
  for (uint32_t thread = 0; thread < spec.threads; ++thread) {
    for (auto& core : cores) {
      if (thread < core.size()) core[thread] = next++;
    }
  }
  if (spec.numbering == Numbering::kShuffled) {
    std::vector<uint32_t> other(next);
    std::iota(other.begin(), other.end(), 0);
    std::shuffle(other.begin(), other.end(), random);
    for (auto& core : cores) {
      for (uint32_t& cpu : core) cpu = other[cpu];
    }
  }
  return cores;
}

std::shared_ptr<const CpuLayout> random_layout(const MachineSpec& spec, std::mt19937& random) {
  const uint32_t per_socket = 1 + pick(random, spec.zones);  // zones
  const uint32_t per_cache = 1 + pick(random, spec.cores_per_zone);
  std::vector<CpuPlace> places;
  const auto cores = numbered_cores(spec, random);
  for (uint32_t core = 0; core < cores.size(); ++core) {
    const uint32_t zone = core / spec.cores_per_zone;
    const uint32_t cache = zone * 1000 + core % spec.cores_per_zone / per_cache;
    for (const uint32_t cpu : cores[core]) {
      places.push_back({cpu, zone, zone / per_socket, core, cache});
    }
  }
  return std::make_shared<const CpuLayout>(places);
}

std::vector<Device> random_devices(const MachineSpec& spec, std::string_view prefix,
                                   std::mt19937& random) {
  std::vector<Device> devices;
  for (uint32_t i = 0; i < spec.devices; ++i) {
    Device device;
    device.id = std::string(prefix) + std::to_string(i);
    if (chance(random, 10)) device.id += " odd,:%\n*\xc3\xa9";
    if (!chance(random, 10)) device.zones |= ZoneMask{1} << pick(random, spec.zones);
    if (chance(random, 10)) device.zones |= ZoneMask{1} << pick(random, spec.zones);
    device.healthy = !chance(random, 10);
    devices.push_back(device);
  }
  return devices;
}

Managers random_managers(std::mt19937& random) {
  Managers managers;
  managers.policy = static_cast<Policy>(pick(random, 4));
  managers.scope = static_cast<Scope>(pick(random, 2));
  managers.prefer_closest = chance(random, 30);
  managers.max_numa_nodes = chance(random, 30) ? 16 : 8;
  managers.cpu = chance(random, 85) ? ManagerPolicy::kStatic : ManagerPolicy::kNone;
  managers.memory = chance(random, 85) ? ManagerPolicy::kStatic : ManagerPolicy::kNone;
  for (bool CpuOptions::*option :
       {&CpuOptions::full_pcpus_only, &CpuOptions::distribute_cpus_across_numa,
        &CpuOptions::align_by_socket, &CpuOptions::distribute_cpus_across_cores,
        &CpuOptions::prefer_align_cpus_by_uncorecache, &CpuOptions::strict_cpu_reservation}) {
    managers.cpu_options.*option = chance(random, 30);
  }
  managers.pod_level_resource_managers = chance(random, 20);
  managers.kubelet_minor = chance(random, 50) ? 37 : 0;
  return managers;
}

void set_random_groups(Machine& machine, std::mt19937& random) {
  const NodeModel& model = machine.model;
  std::vector<ZoneMask> groups(model.zones());
  for (uint32_t column = 0; column < model.zones(); ++column) {
    groups[column] = ZoneMask{1} << column;
  }
  if (model.zones() > 1 && chance(random, 50)) groups[0] = groups[1] = 3;
  for (uint32_t column = 0; column < model.zones(); ++column) {
    const bool empty = groups[column] == ZoneMask{1} << column && chance(random, 30);
    machine.state.set_group(model, column, empty ? 0 : 1 + pick(random, 5), groups[column]);
    for (uint32_t row = 0; row < model.memory.size(); ++row) {
      const int64_t most = model.memory[row].allocatable[column];
      machine.state.memory(model, row)[column] =
          empty ? most : std::uniform_int_distribution<int64_t>(0, most)(random);
    }
  }
}

void set_random_free(Machine& machine, std::mt19937& random) {
  const NodeModel& model = machine.model;
  CpuSet free;
  model.layout->all().for_each([&](uint32_t cpu) {
    if (!model.reserved->contains(cpu) && chance(random, 60)) free.add(cpu);
  });
  machine.state = NodeState(model);
  machine.state.set_cpu_ids(model, free);
  set_random_groups(machine, random);
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    std::vector<uint64_t> bits(model.device_facts[row].words);
    for (uint64_t& word : bits) {
      word = (uint64_t{random()} << 32) | random();
    }
    const size_t last = model.devices[row].devices.size() % 64;
    if (last != 0) bits.back() &= (uint64_t{1} << last) - 1;
    machine.state.set_device_ids(model, row, bits);
  }
}

// What resource-topology-exporter would list, plus what finished init containers still hold.
std::vector<NrtZone> zones_of(const Machine& machine, const Resources& resources,
                              std::mt19937& random) {
  const NodeModel& model = machine.model;
  std::vector<NrtZone> zones;
  for (uint32_t column = 0; column < model.zones(); ++column) {
    NrtZone zone;
    zone.id = model.zone_ids[column];
    for (uint32_t other = 0; other < model.zones(); ++other) {
      zone.costs.push_back({model.zone_ids[other], model.distance(column, other)});
    }
    const auto more = [&](int64_t free, int64_t most) {
      return chance(random, 30) ? std::uniform_int_distribution<int64_t>(free, most)(random) : free;
    };
    if (model.cpu_static) {
      int64_t reserved = 0;
      model.reserved->for_each(
          [&](uint32_t cpu) { reserved += model.layout->at(cpu).zone == column ? 1 : 0; });
      const int64_t most = model.cpu_totals[column] - reserved;
      zone.resources.push_back({"cpu", model.cpu_totals[column] * 1000, most * 1000,
                                more(machine.state.cpu(model)[column], most) * 1000});
    }
    for (uint32_t row = 0; model.memory_static && row < model.memory.size(); ++row) {
      const int64_t most = model.memory[row].allocatable[column];
      zone.resources.push_back({std::string(resources.name(model.memory[row].resource)),
                                most + kGiB, most,
                                more(machine.state.memory(model, row)[column], most)});
    }
    for (uint32_t row = 0; row < model.devices.size(); ++row) {
      int64_t healthy = 0;
      for (const Device& device : model.devices[row].devices) {
        healthy += device.healthy ? static_cast<int64_t>(device.zones >> column & 1) : 0;
      }
      if (healthy == 0) continue;
      zone.resources.push_back({std::string(resources.name(model.devices[row].resource)), healthy,
                                healthy, more(machine.state.devices(model, row)[column], healthy)});
    }
    zones.push_back(zone);
  }
  std::shuffle(zones.begin(), zones.end(), random);
  return zones;
}

}  // namespace

Resources::Resources() : names_{"cpu", "memory", "ephemeral-storage", "pods"} {}

uint32_t Resources::index(std::string_view name) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) names_.emplace_back(name);
  return static_cast<uint32_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
}

InternResource Resources::intern() {
  return [this](std::string_view name) { return index(name); };
}

ResourceName Resources::name_of() const {
  return [this](uint32_t index) { return name(index); };
}

MachineSpec random_spec(std::mt19937& random) {
  MachineSpec spec;
  spec.zones = 1 + pick(random, 8);
  spec.cores_per_zone = 1 + pick(random, 12);
  spec.threads = 1 + pick(random, 4);
  spec.hybrid = chance(random, 20);
  spec.devices = 1 + pick(random, chance(random, 10) ? 150 : 12);
  spec.id_gaps = chance(random, 30);
  spec.numbering = static_cast<Numbering>(pick(random, 3));
  return spec;
}

Machine random_machine(const MachineSpec& spec, Resources& resources, std::mt19937& random) {
  Machine machine;
  NodeModel& model = machine.model;
  for (uint32_t zone = 0, id = 0; zone < spec.zones; ++zone, ++id) {
    if (spec.id_gaps) id += pick(random, 7);
    model.zone_ids.push_back(id);
  }
  for (uint32_t i = 0; i < spec.zones * spec.zones; ++i) {
    model.distances.push_back(i % (spec.zones + 1) == 0 ? 10
                                                        : 11 + static_cast<int>(pick(random, 30)));
  }
  model.managers = random_managers(random);
  model.layout = random_layout(spec, random);
  model.reserved.emplace();
  model.layout->all().for_each([&](uint32_t cpu) {
    if (cpu > 0 && chance(random, 5)) model.reserved->add(cpu);
  });
  for (const char* name : {"memory", "hugepages-2Mi"}) {
    MemoryType type{resources.index(name), {}};
    for (uint32_t zone = 0; zone < spec.zones; ++zone) {
      type.allocatable.push_back(chance(random, 10) ? 0 : (1 + pick(random, 512)) * kGiB + 12345);
    }
    type.allocatable[0] += kGiB;
    model.memory.push_back(std::move(type));
  }
  model.devices.push_back(
      {resources.index("example.com/gpu"), random_devices(spec, "gpu-", random), {}});
  model.devices.push_back(
      {resources.index("example.com/nic"), random_devices(spec, "0000:3b:00.", random), {}});
  model.prepare();
  set_random_free(machine, random);
  machine.zones = zones_of(machine, resources, random);
  return machine;
}

Report report_of(const Machine& machine, const Resources& resources) {
  Report report;
  report.attributes = encode_settings(machine.model);
  report.machine = encode_machine(machine.model, resources.name_of());
  report.free =
      encode_free(machine.model, machine.state, resources.name_of(), report.machine, machine.zones);
  report.zones = machine.zones;
  return report;
}

std::string report_json(const Report& report) {
  nlohmann::json object = {{"metadata", {{"name", "n1"}}}};
  if (!report.machine.empty()) {
    object["metadata"]["annotations"][std::string(kMachineAnnotation)] = report.machine;
  }
  if (!report.free.empty()) {
    object["metadata"]["annotations"][std::string(kFreeAnnotation)] = report.free;
  }
  for (const NrtAttribute& attribute : report.attributes) {
    object["attributes"].push_back({{"name", attribute.name}, {"value", attribute.value}});
  }
  for (const NrtZone& zone : report.zones) {
    nlohmann::json made = {{"name", "node-" + std::to_string(zone.id)}, {"type", "Node"}};
    for (const ZoneCost& cost : zone.costs) {
      made["costs"].push_back(
          {{"name", "node-" + std::to_string(cost.zone_id)}, {"value", cost.value}});
    }
    const auto quantity = [](const ZoneResource& resource, int64_t amount) {
      return std::to_string(amount) + (resource.name == "cpu" ? "m" : "");
    };
    for (const ZoneResource& resource : zone.resources) {
      made["resources"].push_back({{"name", resource.name},
                                   {"capacity", quantity(resource, resource.capacity)},
                                   {"allocatable", quantity(resource, resource.allocatable)},
                                   {"available", quantity(resource, resource.available)}});
    }
    object["zones"].push_back(made);
  }
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

NrtObject parsed(const Report& report) {
  auto nrt = parse_nrt(report_json(report));
  EXPECT_TRUE(nrt.has_value()) << nrt.error();
  return nrt ? *nrt : NrtObject{};
}

}  // namespace plimsoll::topology::kubelet

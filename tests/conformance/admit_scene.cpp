#include "tests/conformance/admit_scene.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <stdexcept>

namespace plimsoll::conformance {

namespace kubelet = plimsoll::topology::kubelet;

uint32_t ResourceNames::index(const std::string& name) {
  // 2 and 3 are taken by ephemeral-storage and pods in the scheduler's own vectors.
  return names_.emplace(name, static_cast<uint32_t>(names_.size() + 2)).first->second;
}

std::string ResourceNames::name(uint32_t index) const {
  for (const auto& [name, number] : names_) {
    if (number == index) return name;
  }
  return "resource " + std::to_string(index);
}

topology::Policy policy_of(const std::string& name) {
  for (const auto policy : {topology::Policy::kNone, topology::Policy::kBestEffort,
                            topology::Policy::kRestricted, topology::Policy::kSingleNumaNode}) {
    if (topology::to_string(policy) == name) return policy;
  }
  throw std::invalid_argument("unknown policy " + name);
}

namespace {

bool is_set(const Json& options, const char* name) {
  return member(options, name) == "true";
}

kubelet::CpuSet cpus_of(const Json& text) {
  const auto set = kubelet::CpuSet::parse(text.is_null() ? "" : text.get<std::string>());
  if (!set) throw std::invalid_argument(set.error());
  return *set;
}

kubelet::ZoneMask mask_of(const Json& zones) {
  kubelet::ZoneMask mask = 0;
  for (const Json& zone : zones) mask |= kubelet::ZoneMask{1} << zone.get<uint32_t>();
  return mask;
}

std::shared_ptr<const kubelet::CpuLayout> layout_of(const Json& nodes) {
  std::vector<kubelet::CpuPlace> places;
  for (uint32_t column = 0; column < nodes.size(); ++column) {
    for (const Json& core : member(nodes[column], "cores")) {
      for (size_t i = 2; i < core.size(); ++i) {
        places.push_back({core[i], column, core[0], core[2], core[1]});
      }
    }
  }
  return std::make_shared<kubelet::CpuLayout>(places);
}

void add_memory(const Json& machine, kubelet::NodeModel& model, ResourceNames& names) {
  const Json& nodes = machine.at("nodes");
  std::set<std::string> types{"memory"};
  for (const Json& node : nodes) {
    for (const auto& [type, bytes] : member(node, "hp").items()) types.insert(type);
  }
  for (const std::string& type : types) {
    kubelet::MemoryType& made = model.memory.emplace_back();
    made.resource = names.index(type);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Json& huge = member(nodes[i], "hp");
      if (type != "memory") {
        made.allocatable.push_back(huge.value(type, int64_t{0}));
        continue;
      }
      int64_t bytes = nodes[i].at("mem").get<int64_t>();
      for (const auto& [name, pages] : huge.items()) bytes -= pages.get<int64_t>();
      made.allocatable.push_back(bytes - machine.at("reserved_mem")[i].value("memory", int64_t{0}));
    }
  }
}

}  // namespace

kubelet::Managers managers_of(const Json& text) {
  kubelet::Managers managers;
  managers.policy = policy_of(text.at("tm_policy"));
  managers.scope =
      text.value("tm_scope", "") == "pod" ? topology::Scope::kPod : topology::Scope::kContainer;
  managers.prefer_closest = is_set(member(text, "tm_opts"), "prefer-closest-numa-nodes");
  managers.cpu = text.value("cpu_policy", "") == "static" ? kubelet::ManagerPolicy::kStatic
                                                          : kubelet::ManagerPolicy::kNone;
  managers.memory = text.value("mem_policy", "") == "Static" ? kubelet::ManagerPolicy::kStatic
                                                             : kubelet::ManagerPolicy::kNone;
  managers.pod_level_resource_managers = member(text, "pod_level_resource_managers") == true;
  const Json& options = member(text, "cpu_opts");
  managers.cpu_options.full_pcpus_only = is_set(options, "full-pcpus-only");
  managers.cpu_options.distribute_cpus_across_numa = is_set(options, "distribute-cpus-across-numa");
  managers.cpu_options.align_by_socket = is_set(options, "align-by-socket");
  managers.cpu_options.distribute_cpus_across_cores =
      is_set(options, "distribute-cpus-across-cores");
  managers.cpu_options.prefer_align_cpus_by_uncorecache =
      is_set(options, "prefer-align-cpus-by-uncorecache");
  managers.cpu_options.strict_cpu_reservation = is_set(options, "strict-cpu-reservation");
  return managers;
}

kubelet::NodeModel exact_model(const Json& line, ResourceNames& names) {
  kubelet::NodeModel model;
  const Json& machine = line.at("machine");
  for (const Json& node : machine.at("nodes")) {
    model.zone_ids.push_back(node.at("id"));
    for (const Json& distance : node.at("dist")) model.distances.push_back(distance);
  }
  model.managers = managers_of(line.at("kubelet"));
  model.layout = layout_of(machine.at("nodes"));
  model.reserved = cpus_of(member(machine, "reserved_cpus"));
  add_memory(machine, model, names);
  for (const auto& [resource, devices] : member(machine, "devices").items()) {
    kubelet::DeviceType& type = model.devices.emplace_back();
    type.resource = names.index(resource);
    for (const Json& device : devices) {
      type.devices.push_back({device.at("id"), mask_of(member(device, "numa")), device.at("ok")});
    }
    std::sort(type.devices.begin(), type.devices.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
  }
  return model;
}

kubelet::NodeState exact_state(const kubelet::NodeModel& model, const Json& st,
                               ResourceNames& names) {
  kubelet::NodeState state(model);
  state.set_cpu_ids(model, cpus_of(member(st, "cpus")));
  uint32_t column = 0;
  for (const Json& zone : member(st, "mem")) {
    state.set_group(model, column, zone.at("n"), mask_of(zone.at("cells")));
    for (const auto& [type, bytes] : zone.at("free").items()) {
      state.memory(model, model.memory_row(names.index(type)))[column] = bytes;
    }
    ++column;
  }
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    const kubelet::DeviceType& type = model.devices[row];
    std::vector<uint64_t> words(model.device_facts[row].words);
    for (const Json& id : member(member(st, "dev"), names.name(type.resource))) {
      for (size_t i = 0; i < type.devices.size(); ++i) {
        if (id == type.devices[i].id) words[i / 64] |= uint64_t{1} << (i % 64);
      }
    }
    state.set_device_ids(model, row, words);
  }
  return state;
}

kubelet::PodDemand demand_of(const Json& pod, ResourceNames& names) {
  kubelet::PodDemand demand;
  const auto is_memory = [](const std::string& name) {
    return name == "memory" || name.starts_with("hugepages-");
  };
  demand.guaranteed = pod.at("qos") == "Guaranteed";
  for (const Json& each : pod.at("c")) {
    kubelet::ContainerDemand& made = demand.containers.emplace_back();
    made.name = each.at("name");
    made.kind = each.at("kind") == "init"      ? kubelet::ContainerKind::kInit
                : each.at("kind") == "sidecar" ? kubelet::ContainerKind::kSidecar
                                               : kubelet::ContainerKind::kApp;
    for (const auto& [name, amount] : member(each, "req").items()) {
      if (name == "cpu") made.cpu_milli = amount;
      if (is_memory(name)) made.memory.push_back({names.index(name), amount});
    }
    for (const auto& [name, amount] : member(each, "lim").items()) {
      if (name == "cpu") {
        made.cpu_limit_milli = amount;
      } else if (name == "memory") {
        made.memory_limit = amount;
      } else if (!is_memory(name)) {
        made.devices.push_back({names.index(name), amount});
      }
    }
  }
  demand.pod_level = pod.contains("pod_req");
  for (const auto& [name, amount] : member(pod, "pod_req").items()) {
    if (name == "cpu") demand.pod_cpu_milli = amount;
    if (is_memory(name)) demand.pod_memory.push_back({names.index(name), amount});
  }
  demand.prepare();
  return demand;
}

Json zones_of(kubelet::ZoneMask mask) {
  Json zones = Json::array();
  for (; mask != 0; mask &= mask - 1) zones.push_back(std::countr_zero(mask));
  return zones;
}

}  // namespace plimsoll::conformance

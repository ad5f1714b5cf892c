#include "node/kubelet/snapshot.hpp"

#include <algorithm>

namespace plimsoll::node {
namespace {

namespace kubelet = topology::kubelet;
using kubelet::CpuSet;
using kubelet::ZoneMask;

// The UIDs of all pods that the files name.
std::set<std::string> uids_in_files(const KubeletView& view) {
  std::set<std::string> uids;
  for (const auto& [uid, held] : view.cpus.held) uids.insert(uid);
  for (const auto& [uid, held] : view.cpus.held_by_pods) uids.insert(uid);
  for (const auto& [uid, held] : view.memory.held) uids.insert(uid);
  for (const auto& [uid, held] : view.memory.held_by_pods) uids.insert(uid);
  for (const DeviceState::Entry& entry : view.devices.entries) uids.insert(entry.pod_uid);
  return uids;
}

CpuSet set_of(const std::vector<std::uint32_t>& cpus) {
  CpuSet set;
  for (const std::uint32_t cpu : cpus) set.add(cpu);
  return set;
}

ZoneMask mask_of(const kubelet::NodeModel& model, const std::vector<int>& zones) {
  ZoneMask mask = 0;
  for (std::uint32_t column = 0; column < model.zones(); ++column) {
    const auto id = static_cast<int>(model.zone_ids[column]);
    if (std::find(zones.begin(), zones.end(), id) != zones.end()) mask |= ZoneMask{1} << column;
  }
  return mask;
}

// Nothing is more certain than what the kubelet can give less what its pods hold.
CpuSet free_cpus(const KubeletView& view, const std::set<std::string>& counted) {
  CpuSet free = set_of(view.allocatable.cpus);
  for (const auto& [uid, containers] : view.cpus.held) {
    if (!counted.contains(uid)) continue;
    for (const auto& [name, cpus] : containers) free -= cpus;
  }
  for (const auto& [uid, cpus] : view.cpus.held_by_pods) {
    if (counted.contains(uid)) free -= cpus;
  }
  // A pod that was admitted since the files were read.
  for (const PodUse& pod : view.pods) {
    free -= set_of(pod.cpus);
    for (const ContainerUse& container : pod.containers) free -= set_of(container.cpus);
  }
  return free;
}

void add_blocks(const kubelet::NodeModel& model, const std::vector<MemoryBlock>& blocks, bool init,
                const ResourceIndex& resources, kubelet::Allocation& held) {
  for (const MemoryBlock& block : blocks) {
    for (std::uint32_t row = 0; row < model.memory.size(); ++row) {
      const std::uint32_t resource = model.memory[row].resource;
      if (resources.name(resource) != block.type) continue;
      held.blocks.push_back({0, init, {resource, row, mask_of(model, block.zones), block.bytes}});
    }
  }
}

void set_memory(const NodeKind& kind, const KubeletView& view, const std::set<std::string>& counted,
                const ResourceIndex& resources, kubelet::NodeState& state) {
  const kubelet::NodeModel& model = *kind.model;
  for (std::uint32_t column = 0; column < model.zones(); ++column) {
    const auto zone = view.memory.zones.find(static_cast<int>(model.zone_ids[column]));
    if (zone == view.memory.zones.end()) continue;
    for (std::uint32_t row = 0; row < model.memory.size(); ++row) {
      const auto amount = zone->second.amounts.find(resources.name(model.memory[row].resource));
      if (amount == zone->second.amounts.end()) continue;
      state.memory(model, row)[column] = amount->second.free;
    }
    state.set_group(model, column, zone->second.assignments,
                    mask_of(model, zone->second.group) | ZoneMask{1} << column);
  }
  // As the memory manager does before it gives memory to the next pod.
  kubelet::Allocation gone;
  for (const auto& [uid, containers] : view.memory.held) {
    if (counted.contains(uid)) continue;
    for (const auto& [name, blocks] : containers) add_blocks(model, blocks, false, resources, gone);
  }
  for (const auto& [uid, blocks] : view.memory.held_by_pods) {
    if (!counted.contains(uid)) add_blocks(model, blocks, false, resources, gone);
  }
  release(model, state, gone);
}

// The devices of a row that are in `ids`, or those that are not.
std::vector<std::uint64_t> bits_of(const kubelet::NodeModel& model, std::uint32_t row,
                                   const std::set<std::string>& ids, bool in) {
  const auto& devices = model.devices[row].devices;
  std::vector<std::uint64_t> bits(model.device_facts[row].words);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (ids.contains(devices[i].id) == in) bits[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  return bits;
}

void set_devices(const NodeKind& kind, const KubeletView& view,
                 const std::set<std::string>& counted, const ResourceIndex& resources,
                 kubelet::NodeState& state) {
  std::map<std::string, std::set<std::string>> held;
  for (const DeviceState::Entry& entry : view.devices.entries) {
    if (counted.contains(entry.pod_uid)) {
      held[entry.resource].insert(entry.ids.begin(), entry.ids.end());
    }
  }
  for (const PodUse& pod : view.pods) {
    for (const ContainerUse& container : pod.containers) {
      for (const auto& [resource, ids] : container.devices) {
        held[resource].insert(ids.begin(), ids.end());
      }
    }
  }
  const kubelet::NodeModel& model = *kind.model;
  for (std::uint32_t row = 0; row < model.devices.size(); ++row) {
    state.set_device_ids(
        model, row, bits_of(model, row, held[resources.name(model.devices[row].resource)], false));
  }
}

// What the files say that a pod holds, under any of these UIDs.
kubelet::Allocation held_in_files(const NodeKind& kind, const KubeletView& view, const PodUse& pod,
                                  const std::vector<std::string>& uids,
                                  const ResourceIndex& resources) {
  const kubelet::NodeModel& model = *kind.model;
  const auto of_init = [&](const std::string& container) {
    return std::none_of(pod.containers.begin(), pod.containers.end(),
                        [&](const ContainerUse& use) { return use.name == container; });
  };
  const auto of_pod = [&](const std::string& uid) {
    return std::find(uids.begin(), uids.end(), uid) != uids.end();
  };
  kubelet::Allocation held;
  for (const auto& [uid, containers] : view.cpus.held) {
    if (!of_pod(uid)) continue;
    for (const auto& [container, cpus] : containers) held.cpu_ids |= cpus;
  }
  for (const auto& [uid, cpus] : view.cpus.held_by_pods) {
    if (of_pod(uid)) held.cpu_ids |= cpus;
  }
  for (const auto& [uid, containers] : view.memory.held) {
    if (!of_pod(uid)) continue;
    for (const auto& [container, blocks] : containers) {
      add_blocks(model, blocks, of_init(container), resources, held);
    }
  }
  for (const auto& [uid, blocks] : view.memory.held_by_pods) {
    if (of_pod(uid)) add_blocks(model, blocks, false, resources, held);
  }
  std::map<std::string, std::set<std::string>> devices;
  for (const DeviceState::Entry& entry : view.devices.entries) {
    if (of_pod(entry.pod_uid)) devices[entry.resource].insert(entry.ids.begin(), entry.ids.end());
  }
  held.known_cpu_ids = !held.cpu_ids.empty();
  for (std::uint32_t row = 0; row < model.devices.size(); ++row) {
    const auto ids = devices.find(resources.name(model.devices[row].resource));
    if (ids == devices.end()) continue;
    kubelet::DeviceGrant& grant = held.devices.emplace_back();
    grant.row = row;
    grant.ids = bits_of(model, row, ids->second, true);
  }
  return held;
}

}  // namespace

std::vector<std::string> KnownUids::all() const {
  std::vector<std::string> all = gone;
  for (const std::string& each : {uid, hash}) {
    if (!each.empty()) all.push_back(each);
  }
  return all;
}

std::set<std::string> counted_uids(const KubeletView& view, const PodUids& uids) {
  std::set<std::string> counted;
  std::set<std::string> there;  // of pods that are listed
  bool unknown = false;
  for (const PodUse& pod : view.pods) {
    const auto known = uids.find({pod.ns, pod.name});
    if (known == uids.end()) {
      unknown = true;
    } else {
      const std::vector<std::string> all = known->second.all();
      there.insert(all.begin(), all.end());
    }
  }
  std::set<std::string> of_others;  // of pods that are known and not listed: these are gone
  for (const auto& [name, known] : uids) {
    for (const std::string& uid : known.all()) {
      if (!there.contains(uid)) of_others.insert(uid);
    }
  }
  for (const std::string& uid : uids_in_files(view)) {
    if (there.contains(uid) || (unknown && !of_others.contains(uid))) counted.insert(uid);
  }
  return counted;
}

bool is_consistent(const KubeletView& view, const PodUids& uids) {
  for (const PodUse& pod : view.pods) {
    const auto known = uids.find({pod.ns, pod.name});
    if (known == uids.end()) continue;
    const std::vector<std::string> all = known->second.all();
    const CpuSet whole = set_of(pod.cpus);
    if (!whole.empty()) {
      CpuSet in_files;
      for (const std::string& uid : all) {
        const auto held = view.cpus.held_by_pods.find(uid);
        if (held != view.cpus.held_by_pods.end()) in_files |= held->second;
      }
      if (!(in_files == whole)) return false;
    }
    for (const ContainerUse& container : pod.containers) {
      CpuSet in_files;
      std::map<std::string, std::set<std::string>> devices;
      for (const std::string& uid : all) {
        const auto held = view.cpus.held.find(uid);
        if (held == view.cpus.held.end()) continue;
        const auto cpus = held->second.find(container.name);
        if (cpus != held->second.end()) in_files |= cpus->second;
      }
      // A container that shares the pod's CPUs is in the files with them, and in the list without.
      const bool shares = !whole.empty() && container.cpus.empty();
      if (!shares && !(in_files == set_of(container.cpus))) return false;
      for (const DeviceState::Entry& entry : view.devices.entries) {
        const bool of_pod = std::find(all.begin(), all.end(), entry.pod_uid) != all.end();
        if (!of_pod || entry.container != container.name) continue;
        devices[entry.resource].insert(entry.ids.begin(), entry.ids.end());
      }
      for (const auto& [resource, ids] : container.devices) {
        if (devices[resource] != std::set<std::string>(ids.begin(), ids.end())) return false;
      }
    }
  }
  return true;
}

Machine machine_of(
    const Hardware& hardware, KubeletSettings settings, const KubeletView& view,
    const std::map<std::string, std::map<std::string, std::vector<int>>>& unhealthy) {
  Machine machine;
  machine.hardware = hardware;
  machine.kubelet = std::move(settings);
  machine.kubelet.reserved_cpus.clear();
  const CpuSet given = set_of(view.allocatable.cpus);
  for (const MachineCpu& cpu : hardware.cpus) {
    const bool reserved = !given.contains(static_cast<std::uint32_t>(cpu.id));
    if (!given.empty() && reserved) machine.kubelet.reserved_cpus.push_back(cpu.id);
  }
  machine.kubelet.reserved_memory.clear();
  for (std::size_t column = 0; column < hardware.zones.size(); ++column) {
    const int id = hardware.zones[column].id;
    const auto zone = view.allocatable.memory.find(id);
    if (zone == view.allocatable.memory.end()) continue;
    const Amounts all = machine.allocatable_memory(column);  // nothing is reserved yet
    for (const auto& [type, bytes] : all) {
      const auto allocatable = zone->second.find(type);
      const std::int64_t left = allocatable == zone->second.end() ? 0 : allocatable->second;
      machine.kubelet.reserved_memory[id][type] = std::max<std::int64_t>(0, bytes - left);
    }
  }
  // A plugin may name a zone that the machine does not have: the device is then near none.
  const auto known = [&](std::vector<int> zones) {
    std::erase_if(zones, [&](int id) {
      return std::none_of(hardware.zones.begin(), hardware.zones.end(),
                          [id](const MachineZone& zone) { return zone.id == id; });
    });
    return zones;
  };
  std::map<std::string, std::map<std::string, MachineDevice>> devices;
  for (const auto& [resource, by_id] : unhealthy) {
    for (const auto& [id, zones] : by_id)
      devices[resource][id] = {resource, id, known(zones), false};
  }
  for (const auto& [resource, by_id] : view.allocatable.devices) {
    for (const auto& [id, zones] : by_id)
      devices[resource][id] = {resource, id, known(zones), true};
  }
  for (auto& [resource, by_id] : devices) {
    for (auto& [id, device] : by_id) machine.devices.push_back(std::move(device));
  }
  return machine;
}

kubelet::NodeState free_of(const NodeKind& kind, const KubeletView& view,
                           const std::set<std::string>& counted, const ResourceIndex& resources) {
  kubelet::NodeState state = kind.free;
  if (kind.model->cpu_static) state.set_cpu_ids(*kind.model, free_cpus(view, counted));
  if (kind.model->memory_static) set_memory(kind, view, counted, resources, state);
  set_devices(kind, view, counted, resources, state);
  return state;
}

std::vector<kubelet::PodHolding> holdings_of(const NodeKind& kind, const KubeletView& view,
                                             const PodUids& uids, const ResourceIndex& resources) {
  std::vector<kubelet::PodHolding> pods;
  std::set<std::pair<std::string, std::string>> done;  // an old pod and a new one have one name
  for (const PodUse& pod : view.pods) {
    const auto known = uids.find({pod.ns, pod.name});
    if (known == uids.end() || !done.emplace(pod.ns, pod.name).second) continue;
    const KnownUids& names = known->second;
    const auto add = [&](const std::string& uid, const std::vector<std::string>& in_files) {
      pods.push_back({uid, held_in_files(kind, view, pod, in_files, resources)});
    };
    if (!names.uid.empty()) add(names.uid, {names.uid, names.hash});
    for (const std::string& uid : names.gone) add(uid, {uid});
  }
  return pods;
}

}  // namespace plimsoll::node

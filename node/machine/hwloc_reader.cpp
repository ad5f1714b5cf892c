#include "node/machine/hwloc_reader.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <type_traits>

#include "node/machine/description_bounds.hpp"

namespace plimsoll::node {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

constexpr std::int64_t kLocalDistance = 10;  // Linux: LOCAL_DISTANCE, REMOTE_DISTANCE
constexpr std::int64_t kRemoteDistance = 20;

// "hugepages-2Mi" of a page size in bytes.
std::string hugepages_name(std::uint64_t size) {
  static constexpr const char* kUnits[] = {"", "Ki", "Mi", "Gi", "Ti"};
  std::size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && size % 1024 == 0) {
    size /= 1024;
    ++unit;
  }
  return "hugepages-" + std::to_string(size) + kUnits[unit];
}

// The objects of a type, in hwloc's logical order.
std::vector<hwloc_obj_t> objects_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  std::vector<hwloc_obj_t> objects;
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;) {
    objects.push_back(object);
  }
  return objects;
}

MachineZone zone_of(hwloc_obj_t node) {
  MachineZone zone;
  zone.id = static_cast<int>(node->os_index);
  const auto& numa = node->attr->numanode;
  zone.memory = static_cast<std::int64_t>(numa.local_memory);
  // The smallest page size is the normal one.
  std::uint64_t ordinary = 0;
  for (unsigned i = 0; i < numa.page_types_len; ++i) {
    const std::uint64_t size = numa.page_types[i].size;
    if (size != 0 && (ordinary == 0 || size < ordinary)) ordinary = size;
  }
  for (unsigned i = 0; i < numa.page_types_len; ++i) {
    const auto& pages = numa.page_types[i];
    if (pages.size == ordinary || pages.count == 0) continue;
    zone.hugepages[hugepages_name(pages.size)] =
        static_cast<std::int64_t>(pages.size * pages.count);
  }
  return zone;
}

// The NUMA latencies that the firmware reports to the operating system (SLIT), or Linux' defaults.
void set_distances(hwloc_topology_t topology, std::vector<MachineZone>& zones) {
  for (std::size_t i = 0; i < zones.size(); ++i) {
    zones[i].distances.assign(zones.size(), kRemoteDistance);
    zones[i].distances[i] = kLocalDistance;
  }
  unsigned count = 1;
  hwloc_distances_s* distances = nullptr;
  if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &distances,
                                  HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
      count == 0) {
    return;
  }
  const auto column_of = [&](hwloc_obj_t object) {
    const auto found = std::find_if(zones.begin(), zones.end(), [&](const MachineZone& zone) {
      return object != nullptr && zone.id == static_cast<int>(object->os_index);
    });
    return static_cast<std::size_t>(found - zones.begin());
  };
  const unsigned n = distances->nbobjs;
  for (unsigned i = 0; i < n; ++i) {
    for (unsigned j = 0; j < n; ++j) {
      const std::size_t from = column_of(distances->objs[i]);
      const std::size_t to = column_of(distances->objs[j]);
      if (from == zones.size() || to == zones.size()) continue;
      zones[from].distances[to] =
          static_cast<std::int64_t>(distances->values[static_cast<std::size_t>(i) * n + j]);
    }
  }
  hwloc_distances_release(topology, distances);
}

int index_of(hwloc_obj_t object) {
  return static_cast<int>(object->os_index == HWLOC_UNKNOWN_INDEX ? object->logical_index
                                                                  : object->os_index);
}

// The zone to which the operating system assigns a CPU. hwloc shows memory without CPUs of its own
// (HBM, CXL) as local to nearby CPUs. A CPU belongs to the closest ordinary memory: the node with
// the fewest CPUs, then the lowest id.
std::size_t zone_of_cpu(const std::vector<hwloc_obj_t>& nodes, unsigned cpu) {
  std::size_t best = nodes.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i]->cpuset == nullptr || hwloc_bitmap_isset(nodes[i]->cpuset, cpu) == 0) continue;
    if (best == nodes.size() ||
        hwloc_bitmap_weight(nodes[i]->cpuset) < hwloc_bitmap_weight(nodes[best]->cpuset)) {
      best = i;
    }
  }
  return best;
}

// The id by which a kubelet groups the CPU for prefer-align-cpus-by-uncorecache: that of its L3
// cache, or of its socket if there is none or if as many CPUs share the cache as the NUMA node has
// (cadvisor's addCacheInfo calls that a cache of the node; getUncoreCacheID falls back).
int uncore_of(hwloc_topology_t topology, hwloc_obj_t pu, hwloc_obj_t node, int socket) {
  hwloc_obj_t cache = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_L3CACHE, pu);
  if (cache == nullptr) return socket;
  hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
  const int threads = core == nullptr ? 1 : hwloc_bitmap_weight(core->cpuset);
  const int cores = hwloc_get_nbobjs_inside_cpuset_by_type(
      topology, node->cpuset, core == nullptr ? HWLOC_OBJ_PU : HWLOC_OBJ_CORE);
  const bool of_node = hwloc_bitmap_weight(cache->cpuset) == cores * threads;
  return of_node ? socket : static_cast<int>(cache->logical_index);
}

Result<Hardware> read(hwloc_topology_t topology) {
  Hardware hardware;
  std::vector<hwloc_obj_t> nodes = objects_of(topology, HWLOC_OBJ_NUMANODE);
  std::sort(nodes.begin(), nodes.end(),
            [](hwloc_obj_t a, hwloc_obj_t b) { return a->os_index < b->os_index; });
  for (hwloc_obj_t node : nodes) {
    if (node->os_index >= kMaxZones) {
      return fail(ErrorCode::kInvalid,
                  "NUMA node ids go from 0 to 63, not to " + std::to_string(node->os_index));
    }
    if (!hardware.zones.empty() && hardware.zones.back().id == static_cast<int>(node->os_index)) {
      return fail(ErrorCode::kInvalid,
                  "NUMA node " + std::to_string(node->os_index) + " is there twice");
    }
    hardware.zones.push_back(zone_of(node));
  }
  if (hardware.zones.empty()) return fail(ErrorCode::kInvalid, "the machine has no NUMA node");
  set_distances(topology, hardware.zones);

  for (hwloc_obj_t pu : objects_of(topology, HWLOC_OBJ_PU)) {
    if (pu->os_index > kMaxCpuId) {
      return fail(ErrorCode::kInvalid,
                  "CPU ids go from 0 to 2047, not to " + std::to_string(pu->os_index));
    }
    const std::size_t zone = zone_of_cpu(nodes, pu->os_index);
    if (zone == nodes.size()) {
      return fail(ErrorCode::kInvalid,
                  "CPU " + std::to_string(pu->os_index) + " belongs to no NUMA node");
    }
    MachineCpu cpu;
    cpu.id = static_cast<int>(pu->os_index);
    cpu.zone = zone;
    hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, pu);
    if (package != nullptr) cpu.socket = index_of(package);
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
    cpu.core = core == nullptr ? cpu.id : hwloc_bitmap_first(core->cpuset);
    cpu.uncore = uncore_of(topology, pu, nodes[zone], cpu.socket);
    hardware.cpus.push_back(cpu);
  }
  if (hardware.cpus.empty()) return fail(ErrorCode::kInvalid, "the machine has no CPU");
  std::sort(hardware.cpus.begin(), hardware.cpus.end(),
            [](const MachineCpu& a, const MachineCpu& b) { return a.id < b.id; });
  return hardware;
}

template <typename Set>
Result<Hardware> load(Set set, const char* problem) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return fail(ErrorCode::kInternal, "hwloc cannot start: out of memory?");
  }
  const Topology topology(raw);
  // It asks each CPU by moving the thread there. The kernel's files say all that it would find, and
  // a service that may not move its threads would be ended.
  hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (set(raw) != 0 || hwloc_topology_load(raw) != 0) return fail(ErrorCode::kInvalid, problem);
  return read(raw);
}

}  // namespace

void use_host_root(const std::string& root) {
  setenv("HWLOC_FSROOT", root.c_str(), 1);
}

Result<Hardware> this_machine() {
  const auto nothing = [](hwloc_topology_t) { return 0; };
  return load(nothing, "hwloc cannot read sys/devices/system below the host's root folder");
}

Result<Hardware> hardware_from_xml(const std::string& xml) {
  if (auto checked = check_export(xml); !checked) return fail(checked.error());
  return load(
      [&](hwloc_topology_t topology) {
        return hwloc_topology_set_xmlbuffer(topology, xml.c_str(),
                                            static_cast<int>(xml.size() + 1));
      },
      "not an XML export of hwloc; make one on the machine with `lstopo --of xml FILE`");
}

Result<Hardware> hardware_from_synthetic(const std::string& description) {
  if (auto checked = check_synthetic(description); !checked) return fail(checked.error());
  return load(
      [&](hwloc_topology_t topology) {
        return hwloc_topology_set_synthetic(topology, description.c_str());
      },
      "not a synthetic description of hwloc, such as \"pack:2 numa:2 core:8 pu:2\"; see the manual "
      "page hwloc(7), and try it with `lstopo --input DESCRIPTION`");
}

}  // namespace plimsoll::node

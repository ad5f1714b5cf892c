#pragma once
// The machine of a simulated node: its hardware, its devices, and its kubelet's settings.
//
// Plain values, made by read_machine (sandbox/machine/machine_description.hpp) from a Node object's
// description and shared by all nodes with the same one. Zones are NUMA nodes; "column" is a zone's
// position in ascending order of ids, as everywhere in plugins/topology.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/machine/amounts.hpp"

namespace plimsoll::node {

struct MachineZone {
  int id = 0;                           // the operating system's, "node-<id>" in reports
  std::int64_t memory = 0;              // bytes, huge pages included
  Amounts hugepages;                    // "hugepages-2Mi" -> bytes
  std::vector<std::int64_t> distances;  // to every column, itself included (10 by convention)
};

struct MachineCpu {
  int id = 0;            // of the hardware thread, as the operating system counts
  std::size_t zone = 0;  // column
  int socket = 0;
  int core = 0;    // the lowest CPU id of the core, as the kubelet names cores
  int uncore = 0;  // what prefer-align-cpus-by-uncorecache goes by: an L3 cache or a socket
};

// The part of a machine that hwloc describes.
struct Hardware {
  std::vector<MachineZone> zones;  // by id, never empty
  std::vector<MachineCpu> cpus;    // by id, never empty
};

struct MachineDevice {
  std::string resource;    // "nvidia.com/gpu"
  std::string id;          // unique within the resource
  std::vector<int> zones;  // ids; empty: the device plugin reports no topology
  bool healthy = true;
};

// The part of a KubeletConfiguration that admission and allocation read, with its field names.
struct KubeletSettings {
  std::string topology_manager_policy = "none";
  std::string topology_manager_scope = "container";
  std::map<std::string, std::string> topology_manager_options;  // topologyManagerPolicyOptions
  std::string cpu_manager_policy = "none";
  std::map<std::string, std::string> cpu_manager_options;  // cpuManagerPolicyOptions
  std::string memory_manager_policy = "None";
  std::vector<int> reserved_cpus;            // reservedSystemCPUs, ascending
  std::map<int, Amounts> reserved_memory;    // by zone id
  bool pod_level_resource_managers = false;  // the feature gate PodLevelResourceManagers
  std::int64_t max_pods = 110;
  // Not of the configuration: Node.status.nodeInfo.kubeletVersion, "v1.37.2"; empty: not known.
  std::string version;

  // max-allowable-numa-nodes: 8 if it is not set; null if the value is invalid. Values above 65535,
  // more than any machine has, are cut to that.
  [[nodiscard]] std::optional<std::uint16_t> max_numa_nodes() const;
};

struct Machine {
  Hardware hardware;
  KubeletSettings kubelet;
  std::vector<MachineDevice> devices;  // by resource, then as listed

  // Node.status.capacity and .allocatable: all resources, and those left for pods.
  [[nodiscard]] Amounts capacity() const;
  [[nodiscard]] Amounts allocatable() const;
  // The memory of a zone for pods: memory without huge pages and reservations, and huge pages.
  [[nodiscard]] Amounts allocatable_memory(std::size_t column) const;
};

}  // namespace plimsoll::node

#pragma once
// What a kubelet's managers keep on disk: who holds which CPUs, memory and devices, plain init
// containers included, and the memory manager's groups.
//
// A file tells who held what when it was written. It may still have pods that are gone: the memory
// manager drops them only when the next pod comes, the CPU manager within its reconcile period, and
// a pod that was refused may be in it until then. Whoever reads must know which pods are active.
// Kubernetes: pkg/kubelet/cm/{cpumanager,memorymanager}/state, cm/devicemanager/checkpoint. Pure;
// any thread.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"
#include "plugins/topology/kubelet/cpu_set.hpp"

namespace plimsoll::node {

// Of pods by UID and containers by name.
template <typename Held>
using HeldBy = std::map<std::string, std::map<std::string, Held>>;

// cpu_manager_state, V2 to V4
struct CpuState {
  std::string policy;                      // "none", "static"
  topology::kubelet::CpuSet default_cpus;  // nobody's own
  HeldBy<topology::kubelet::CpuSet> held;
  // What a pod as a whole holds for containers that share it (gate PodLevelResourceManagers).
  std::map<std::string, topology::kubelet::CpuSet> held_by_pods;
};

// A block of memory or huge pages: so many bytes somewhere in these zones.
struct MemoryBlock {
  std::vector<int> zones;  // ids, ascending
  std::string type;        // "memory", "hugepages-2Mi"
  std::int64_t bytes = 0;
  bool operator==(const MemoryBlock&) const = default;
};

struct MemoryZone {
  std::int64_t assignments = 0;  // blocks that the zone has a part in
  std::vector<int> group;        // the zones that it is bound to, itself included; ascending
  struct Amount {
    std::int64_t allocatable = 0;
    std::int64_t free = 0;
  };
  std::map<std::string, Amount> amounts;  // by type, bytes
};

// memory_manager_state, V1 to V3
struct MemoryState {
  std::string policy;               // "None", "Static"
  std::map<int, MemoryZone> zones;  // by id
  HeldBy<std::vector<MemoryBlock>> held;
  std::map<std::string, std::vector<MemoryBlock>> held_by_pods;
};

// device-plugins/kubelet_internal_checkpoint
struct DeviceState {
  struct Entry {
    std::string pod_uid;
    std::string container;
    std::string resource;
    std::vector<std::string> ids;  // ascending, each once
  };
  std::vector<Entry> entries;
  std::map<std::string, std::vector<std::string>> healthy;  // ids by resource, ascending
};

// Fail with kInvalid: where in the file what is not as expected. Fields that are not known are
// skipped: later kubelets write more.
[[nodiscard]] Result<CpuState> parse_cpu_state(std::string_view json);
[[nodiscard]] Result<MemoryState> parse_memory_state(std::string_view json);
[[nodiscard]] Result<DeviceState> parse_device_state(std::string_view json);

}  // namespace plimsoll::node

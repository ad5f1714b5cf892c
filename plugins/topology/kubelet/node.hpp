#pragma once
// A node as its kubelet's managers see it: what is fixed (NodeModel) and what changes with every
// pod (NodeState).
//
// Zones are columns: bit i of a ZoneMask is the i-th zone in ascending order of id. Amounts are
// base units, except CPUs, which are whole CPUs. All facts beyond the counts per zone are optional
// and independent of one another: the CPU layout, the ids of free CPUs, the memory manager's
// groups, lists of devices. Where one is absent, the counts alone decide.
//
// A NodeModel is built once, `prepare`d, and then shared and only read: any thread. A NodeState is
// one block of memory without pointers into the model: copies and comparisons are memcpy and
// memcmp. Its accessors take the model that it was made for, always the same one.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugins/topology/kubelet/cpu_layout.hpp"
#include "plugins/topology/kubelet/cpu_set.hpp"
#include "plugins/topology/kubelet/policy.hpp"

namespace plimsoll::topology::kubelet {

using ZoneMask = uint64_t;

inline constexpr uint32_t kCpuResource = 0;     // PLIMSOLL_RESOURCE_CPU
inline constexpr uint32_t kMemoryResource = 1;  // PLIMSOLL_RESOURCE_MEMORY
inline constexpr uint32_t kNoResourceRow = UINT32_MAX;

// cpuManagerPolicyOptions.
struct CpuOptions {
  bool full_pcpus_only = false;
  bool distribute_cpus_across_numa = false;
  bool align_by_socket = false;
  bool distribute_cpus_across_cores = false;
  bool prefer_align_cpus_by_uncorecache = false;
  bool strict_cpu_reservation = false;  // changes no decision
  bool operator==(const CpuOptions&) const = default;
};

// A manager that is not off acts if some zone has totals for it. Exporters leave out the resources
// of a manager that is off, and a resource that no zone lists is not aligned.
enum class ManagerPolicy : uint8_t { kUnknown, kNone, kStatic };

// The kubelet's configuration.
struct Managers {
  Policy policy = Policy::kNone;
  Scope scope = Scope::kContainer;
  bool prefer_closest = false;  // prefer-closest-numa-nodes
  uint16_t max_numa_nodes = 8;  // max-allowable-numa-nodes; changes no decision
  ManagerPolicy cpu = ManagerPolicy::kUnknown;
  CpuOptions cpu_options;
  ManagerPolicy memory = ManagerPolicy::kUnknown;
  bool pod_level_resource_managers = false;  // feature gate PodLevelResourceManagers
  uint16_t kubelet_minor = 0;                // 36 of 1.36.3; 0: not known, as 36
  [[nodiscard]] bool since_1_37() const { return kubelet_minor >= 37; }
  bool operator==(const Managers&) const = default;
};

struct MemoryType {                  // memory or a hugepages size
  uint32_t resource = 0;             // kMemoryResource or the index of hugepages-*
  std::vector<int64_t> allocatable;  // by column, what the memory manager may allocate; 0: none
};

struct Device {
  std::string id;
  ZoneMask zones = 0;  // 0: without topology
  bool healthy = true;
};

// A resource of the device manager. Either every device is listed, or only totals per zone are
// known; then there may also be devices without a zone.
struct DeviceType {
  uint32_t resource = 0;
  std::vector<Device> devices;  // the kubelet hands out lower positions first (really: at random)
  std::vector<int64_t> totals;  // by column, devices of any health touching the zone; `prepare`
                                // counts them if the devices are listed
  [[nodiscard]] bool listed() const { return !devices.empty(); }
};

// Totals, sorted to find the fewest zones that a request needs.
struct Totals {
  uint32_t resource = 0;         // the resource
  uint32_t count = 0;            // zones with a total above 0
  ZoneMask zones = 0;            // those
  int64_t most = 0;              // in one zone: usually the only value needed
  int64_t least = 0;             // in one of `zones`
  std::vector<int64_t> largest;  // [k]: the sum of the k+1 largest zones
  // The fewest zones whose totals reach `need`; `otherwise` if all together do not.
  [[nodiscard]] uint32_t fewest(int64_t need, uint32_t otherwise) const {
    if (count > 0 && most >= need) return 1;
    for (uint32_t k = 1; k < count; ++k) {
      if (largest[k] >= need) return k + 1;
    }
    return otherwise;
  }
};

struct NodeModel {
  // ---- input; `reserved` at the end is input, too
  std::vector<int32_t> distances;   // zones x zones, row by row; or empty: all the same
  std::vector<int64_t> cpu_totals;  // whole CPUs by column, reserved and used ones included
  std::vector<MemoryType> memory;
  std::vector<DeviceType> devices;
  std::vector<uint32_t> zone_ids;           // ascending, at most 64
  std::shared_ptr<const CpuLayout> layout;  // or null
  Managers managers;

  // Computes the members that follow and normalizes the input: vectors are cut or filled with 0 to
  // the number of zones, negative totals become 0, masks lose zones that do not exist, zones from
  // the 65th on are dropped. With a layout, its counts replace cpu_totals. Call it once.
  void prepare();

  // ---- computed; the members that a verdict reads lie close together, since it reads thousands of
  // nodes
  [[nodiscard]] uint32_t zones() const { return static_cast<uint32_t>(zone_ids.size()); }
  bool cpu_static = false;     // the CPU manager pins
  bool memory_static = false;  // the memory manager pins
  // Offsets in NodeState's block.
  uint32_t memory_at = 0;
  uint32_t devices_at = 0;
  uint32_t groups_at = 0;
  uint32_t device_ids_at = 0;
  uint32_t cpu_ids_at = 0;
  uint32_t cells = 0;
  ZoneMask all = 0;
  uint64_t number = 0;  // unique in the process, never reused
  struct DeviceFacts {  // as `devices`
    Totals totals;
    bool single_zone = true;    // no device touches two zones: counts per zone are enough
    bool any_topology = false;  // some device has a zone
    bool any_healthy = false;
    uint32_t words = 0;             // of a set of its devices
    uint32_t first_word = 0;        // in NodeState
    std::vector<uint64_t> healthy;  // bits into the list
  };
  std::vector<DeviceFacts> device_facts;
  std::vector<Totals> memory_by_type;  // as `memory`
  Totals cpu;

  // Rows; valid before `prepare` too. kNoResourceRow if the node does not have the resource.
  [[nodiscard]] uint32_t memory_row(uint32_t resource) const {
    for (uint32_t row = 0; row < memory.size(); ++row) {
      if (memory[row].resource == resource) return row;
    }
    return kNoResourceRow;
  }
  [[nodiscard]] uint32_t device_row(uint32_t resource) const {
    for (uint32_t row = 0; row < devices.size(); ++row) {
      if (devices[row].resource == resource) return row;
    }
    return kNoResourceRow;
  }
  [[nodiscard]] int32_t distance(uint32_t from, uint32_t to) const {
    return distances.empty() ? (from == to ? 10 : 20) : distances[from * zones() + to];
  }

  std::optional<CpuSet> reserved;  // given: reserved CPU ids, if known
  CpuSet reserved_cores;           // every thread of a core that has a reserved CPU
};

// What is free now.
class NodeState {
 public:
  NodeState() = default;
  // Nothing free; CPU ids and memory groups unknown. `model` is prepared.
  explicit NodeState(const NodeModel& model) : cells_(model.cells) {}

  // ---- counts, by column; writable, except where ids are known (the ids' setters update them)
  [[nodiscard]] std::span<int64_t> cpu(const NodeModel& m) { return at(0, m.zones()); }
  [[nodiscard]] std::span<const int64_t> cpu(const NodeModel& m) const { return at(0, m.zones()); }
  [[nodiscard]] std::span<int64_t> memory(const NodeModel& m, uint32_t row) {
    return at(m.memory_at + row * m.zones(), m.zones());
  }
  [[nodiscard]] std::span<const int64_t> memory(const NodeModel& m, uint32_t row) const {
    return at(m.memory_at + row * m.zones(), m.zones());
  }
  // Free healthy devices touching the zone.
  [[nodiscard]] std::span<int64_t> devices(const NodeModel& m, uint32_t row) {
    return at(m.devices_at + row * m.zones(), m.zones());
  }
  [[nodiscard]] std::span<const int64_t> devices(const NodeModel& m, uint32_t row) const {
    return at(m.devices_at + row * m.zones(), m.zones());
  }

  // All counts, one after the other: model.groups_at of them.
  [[nodiscard]] const int64_t* counts() const { return cells_.data(); }

  // ---- ids of CPUs that are free for exclusive use (default set without the reserved ones)
  [[nodiscard]] bool knows_cpus() const { return knows_cpus_; }
  [[nodiscard]] CpuSet cpu_ids(const NodeModel& m) const;
  // Also updates the counts per zone. Without a layout nothing happens; ids that the layout lacks
  // are dropped.
  void set_cpu_ids(const NodeModel& m, const CpuSet& free);
  // Afterwards only the counts decide.
  void forget_cpu_ids(const NodeModel& m);

  // ---- ids of free healthy devices, for the types that are listed
  [[nodiscard]] std::span<const uint64_t> device_ids(const NodeModel& m, uint32_t row) const;
  // `free` has positions in the model's list; unhealthy devices are dropped. Also updates the
  // counts per zone.
  void set_device_ids(const NodeModel& m, uint32_t row, std::span<const uint64_t> free);

  // ---- the memory manager's NumberOfAssignments and cells (the zone's group; at least itself)
  [[nodiscard]] bool knows_groups() const { return knows_groups_; }
  void set_group(const NodeModel& m, uint32_t column, int64_t assignments, ZoneMask cells);
  [[nodiscard]] int64_t assignments(const NodeModel& m, uint32_t column) const {
    return cells_[m.groups_at + column];
  }
  [[nodiscard]] ZoneMask group(const NodeModel& m, uint32_t column) const {
    return static_cast<ZoneMask>(cells_[m.groups_at + m.zones() + column]);
  }

  // Whether `memory` equals the memory manager's own counts. If not, it is an exporter's estimate
  // and may be too low, because an exporter charges a block over several zones in full to each
  // zone. Exact by default.
  [[nodiscard]] bool memory_is_exact() const { return memory_is_exact_; }
  void set_memory_exact(bool exact) { memory_is_exact_ = exact; }

  bool operator==(const NodeState&) const = default;

 private:
  [[nodiscard]] std::span<int64_t> at(uint32_t first, uint32_t count) {
    return {cells_.data() + first, count};
  }
  [[nodiscard]] std::span<const int64_t> at(uint32_t first, uint32_t count) const {
    return {cells_.data() + first, count};
  }

  std::vector<int64_t> cells_;
  bool knows_cpus_ = false;
  bool knows_groups_ = false;
  bool memory_is_exact_ = true;
};

}  // namespace plimsoll::topology::kubelet

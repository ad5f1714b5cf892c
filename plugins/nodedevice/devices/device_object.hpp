#pragma once
// A Device object (scheduling.koordinator.sh/v1alpha1, one for each node, named after it) as the
// allocator needs it: devices by type and minor, what each has, where it sits, and what the
// object's labels and annotations say about the node.
//
// Pure: parsing owns nothing beyond its result; any thread.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/nodedevice/devices/device_types.hpp"
#include "plugins/nodedevice/devices/link_table.hpp"

namespace plimsoll::devices {

using Labels = std::map<std::string, std::string, std::less<>>;

// On the object of a node whose container runtime has a plugin that gives containers their devices:
// the plugin's name.
inline constexpr const char* kHookAnnotation = "plimsoll.io/device-hook";

// A PCI bus id in one spelling: "00000000:65:00.0" and "0000:65:00.0" are one.
[[nodiscard]] std::string bus_key(std::string_view text);
// Whether an id is such a place, and no UUID.
[[nodiscard]] bool is_bus_id(std::string_view text);

// A virtual function of a device (SR-IOV).
struct VirtualFunction {
  int32_t minor = 0;
  std::string bus_id;
  uint32_t group = 0;    // in DeviceInfo::vf_groups
  std::string bus = {};  // bus_key() of it
  bool operator==(const VirtualFunction&) const = default;
};

// spec.devices[]
struct DeviceInfo {
  int32_t minor = 0;
  bool is_healthy = false;  // false unless the object says so
  bool has_topology = false;
  int32_t socket = -1;
  int32_t numa = -1;  // -1: no zone is nearer than another
  int32_t module_id = -1;
  std::string id;  // "id": UUID of a GPU, bus id of a NIC
  std::string pcie_id;
  std::string bus_id;
  std::string bus;  // bus_key() of it, or else of `id`
  Amounts total;    // what it has when it is healthy; resources unknown to the type are left out
  Labels labels;
  std::vector<VirtualFunction> vfs;  // all groups, by bus id
  std::vector<Labels> vf_groups;     // the labels of each
  std::string problem;               // it cannot be read, and so is not given; empty: it can
  bool operator==(const DeviceInfo&) const = default;
};

// A set of devices that may be used together, from annotation
// scheduling.koordinator.sh/gpu-partitions.
struct Partition {
  std::vector<int32_t> minors;
  std::string link_type;
  int64_t ring_bandwidth = -1;  // bytes; -1: not given
  int64_t score = 0;
  bool operator==(const Partition&) const = default;
};
using PartitionTable = std::map<int64_t, std::vector<Partition>>;  // by number of devices

// What a kubelet handed out by itself, from annotation node.koordinator.sh/devices-checkpoints (or
// its other spelling, gpu-checkpoints).
struct CheckpointEntry {
  std::string pod_uid;
  std::string resource_name;
  std::vector<std::string> device_ids;
  bool operator==(const CheckpointEntry&) const = default;
};

struct NodeDevices {
  std::string name;                                        // the node's name
  std::array<std::vector<DeviceInfo>, kMaxTypes> by_type;  // each by minor, ascending
  std::string gpu_vendor;                                  // labels node.koordinator.sh/gpu-...
  std::string gpu_model;
  std::string partition_policy;  // "Honor", "Prefer" or empty
  std::string hook;              // kHookAnnotation
  bool secondary_well_planned = false;
  bool has_partitions = false;
  PartitionTable partitions;
  std::optional<LinkTable> links;  // not set: no annotation plimsoll.io/device-links
  std::vector<CheckpointEntry> checkpoints;
  // What these say, by pod UID: type and minor, ascending.
  std::map<std::string, std::vector<std::pair<int, int32_t>>, std::less<>> held_by_pod;
  // Entries whose minor cannot be read: nobody can be given such a device.
  std::array<int64_t, kMaxTypes> without_minor{};
  // What is wrong with entries of spec.devices, and which devices that costs.
  std::vector<std::string> unreadable;
  // Parts that could not be read but do not make the devices unusable: for a warning. A partition
  // table or links that cannot be read count as without entries.
  std::vector<std::string> warnings;

  bool operator==(const NodeDevices&) const = default;
  [[nodiscard]] const std::vector<DeviceInfo>& devices(int type) const {
    return by_type[static_cast<size_t>(type)];
  }
};

// Reads a Device object. Fails with the field that is wrong: "Device node-1: spec.devices: must be
// a list". The devices of such a node must be treated as used. An entry that cannot be read costs
// that device and no other. Types that the table does not know are left out.
[[nodiscard]] Result<NodeDevices> parse_device_object(const DeviceTypes& types,
                                                      std::string_view json);

}  // namespace plimsoll::devices

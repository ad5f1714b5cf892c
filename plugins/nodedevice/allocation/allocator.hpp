#pragma once
// Chooses devices of one node for one pod, as Koordinator's DeviceShare does: per device type by
// minor order, by topology (NUMA zone, PCIe), by partition table, jointly for several types.
//
// Deterministic: the same state and request give the same devices. Where choices are equal, the
// lowest minors win.
// Pure; several threads may allocate at once, each on a NodeState that nobody changes meanwhile.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nodedevice/accounts/node_state.hpp"
#include "plugins/nodedevice/allocation/scoring.hpp"
#include "plugins/nodedevice/allocation/zone_sets.hpp"
#include "plugins/nodedevice/requests/device_hints.hpp"
#include "plugins/nodedevice/requests/device_request.hpp"
#include "plugins/nodedevice/requests/numa_spec.hpp"

namespace plimsoll::devices {

// Why a node was refused.
enum class Reason : uint8_t {
  kNone,
  kInsufficientDevices,  // Insufficient <type> devices
  kInsufficientVfs,      // Insufficient <type> VirtualFunctions
  // "GPU" is the name of another type that is chosen by topology.
  kInsufficientGpu,          // Insufficient GPU Devices
  kInsufficientPartitioned,  // Insufficient Partitioned GPU Devices
  kInsufficientScoped,       // Insufficient Topology Scoped GPU Devices
  kMissingPartitionTable,    // node(s) missing GPU Partition Table
  kUnsupportedCount,         // node(s) Unsupported number of GPU requests
  kMissingTree,              // node(s) missing GPU Device Topology Tree
  kUnsupportedMultiShared,   // node(s) Unsupported Multi-Shared GPU
  kJointViolation,           // node(s) Device Joint-Allocate rules violation
  kNoPrimary,                // node(s) Insufficient primary device
  kMalformedDevice,          // the node's Device object cannot be read
  kDeviceGone,               // it was deleted
  kNumaScoped,               // Insufficient NUMA Scoped Devices
  kNumaUnaligned,  // Unaligned NUMA Hint: the kubelet gives the pod other zones than have devices
  kNumaSpread,     // Unaligned NUMA Hint: the kubelet spreads the pod itself
  kNumaExclusive,  // Unaligned NUMA Hint: other pods are in these zones
};
inline constexpr int kReasonCount = static_cast<int>(Reason::kNumaExclusive) + 1;

struct Verdict {
  Reason reason = Reason::kNone;  // kNone: the node has what is asked for
  int8_t type = 0;                // the device type that is short
  bool unresolvable = false;      // evicting pods does not help

  [[nodiscard]] bool fits() const { return reason == Reason::kNone; }
  bool operator==(const Verdict&) const = default;
};

[[nodiscard]] inline Verdict refuse(Reason reason, int type, bool unresolvable = false) {
  return {reason, static_cast<int8_t>(type), unresolvable};
}

[[nodiscard]] std::string reason_text(const DeviceTypes& types, Reason reason, int type);

// Everything that a pod asks for, parsed once.
struct PodDemand {
  DeviceRequest request;
  DeviceHints hints;
  NumaSpec numa = {};
  Elsewhere elsewhere = {};  // what it uses beside that, under other names
};

// The zones in which devices may be given, by type. A device without a zone may always be.
struct ZoneLimit {
  std::array<ZoneSet, kMaxTypes> of_type;

  ZoneLimit() { of_type.fill(kAnyZone); }
  [[nodiscard]] bool allows(int type, int zone) const {
    const ZoneSet zones = of_type[static_cast<size_t>(type)];
    return zone < 0 || zones == kAnyZone || (zones & zone_bit(zone)) != 0;
  }
  bool operator==(const ZoneLimit&) const = default;
};

// What the Node object (rather than the Device object) says: labels node.koordinator.sh/gpu-...
struct NodeLabels {
  std::string_view gpu_vendor;
  std::string_view gpu_model;
  std::string_view partition_policy;
};

struct Want;

// The same devices may also be handed out under another resource name, by somebody who does not
// know which minors are given here. Keep as many free as pods of that name may use; where no minor
// is given, any number of such pods may come.
struct ElsewhereRoom {
  int64_t given = 0;  // by minor
  int64_t left = 0;   // neither given nor set aside
  bool known = true;  // false: pods are there that may use any number
  [[nodiscard]] bool takes(int64_t elsewhere) const {
    return elsewhere == 0 || given == 0 || (known && elsewhere <= left);
  }
};
[[nodiscard]] ElsewhereRoom room_elsewhere(const TypeState& state);

// Which of several shared devices a pod gets, for strategies that look at the node as a whole.
class SharedDeviceChoice {
 public:
  virtual ~SharedDeviceChoice() = default;
  // Of `found` (positions in the node's devices of that type, at least one), those that are as good
  // as any; at least one. Topology, score and minor decide among them.
  [[nodiscard]] virtual std::vector<int> best(const NodeState& node, const Want& want,
                                              const std::vector<int>& found) = 0;
};

class Allocator {
 public:
  // Both outlive the allocator. `scorer` may be null: then devices that are shared are taken in
  // minor order.
  Allocator(const DeviceTypes& types, const Scorer* scorer) : types_(types), scorer_(scorer) {}

  // Whether the pod's devices are there: the verdict of allocate() on the same state, always. Does
  // not allocate memory in the common case (no annotations, no partition table).
  [[nodiscard]] Verdict check(const NodeState& node, const NodeLabels& labels,
                              const PodDemand& demand) const;

  // Chooses them. `allocation` is filled in only when the verdict fits; amounts are complete (bytes
  // and ratio of a GPU's memory both given). `choice`, if there is one, has its say about a device
  // that is shared, unless the pod wants it next to others.
  [[nodiscard]] Verdict allocate(const NodeState& node, const NodeLabels& labels,
                                 const PodDemand& demand, Allocation& allocation,
                                 SharedDeviceChoice* choice = nullptr,
                                 const ZoneLimit& zones = {}) const;

 private:
  const DeviceTypes& types_;
  const Scorer* scorer_;
};

}  // namespace plimsoll::devices

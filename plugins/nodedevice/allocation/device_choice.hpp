#pragma once
// The steps of the allocator (private to it): which devices are candidates, and how a number of
// them is chosen by topology or by partition table. Positions are indices into TypeState::devices.

#include <functional>
#include <vector>

#include "plugins/nodedevice/allocation/allocator.hpp"

namespace plimsoll::devices {

// What is wanted of one type on one node, after the hints that change counts.
struct Want {
  int type = 0;
  Amounts per_device;
  int64_t count = 1;
  bool is_shared = false;
  const TypeHint* hint = nullptr;

  [[nodiscard]] Scope scope() const {
    return hint == nullptr ? Scope::kUnset : hint->required_scope;
  }
  [[nodiscard]] bool needs_vf() const { return hint != nullptr && hint->vf_selector.has_value(); }
};
// Before hints change its count.
[[nodiscard]] inline Want want_of(const TypeRequest& request, const DeviceHints& hints) {
  return {request.type, request.per_device, request.count, request.is_shared,
          hints.hint(request.type)};
}
[[nodiscard]] inline Want want_of(const ContainerPart& part, int type, const DeviceHints& hints) {
  return {type, part.per_device, part.count, part.is_shared, hints.hint(type)};
}

using Positions = std::vector<int>;

// What the pod gets of this device: the request, and where a type has both bytes and percent of the
// same memory, the one that follows from the other. Percent that follow from bytes are rounded up,
// but are not more than the device has left: bytes decide whether it fits, and the percent of all
// shares still add up to the whole.
[[nodiscard]] Amounts due_amounts(const DeviceType& type, const Amounts& per_device,
                                  const DeviceState& device);

// The first resource of which the device has less than that, or that it does not report; -1: none.
[[nodiscard]] int short_dim(const DeviceType& type, const Amounts& per_device,
                            const DeviceState& device);

// Some amount is all that the device has of it.
[[nodiscard]] bool takes_all(const Amounts& amounts, const DeviceState& device);

// The device may be given, and has what is asked of it.
[[nodiscard]] bool fits(const DeviceType& type, const Want& want, const DeviceState& device);

// The first free virtual function (by bus id) that the pod may have; null: none.
[[nodiscard]] const VirtualFunction* free_vf(const Want& want, const DeviceState& device);

// The device's labels and its PCIe neighbours allow it.
[[nodiscard]] bool allowed(const TypeState& state, const Want& want, const DeviceState& device);

// The refusal where fewer devices fit than are wanted, and neither annotations nor partitions have
// a say.
[[nodiscard]] Verdict too_few(const DeviceType& type, const TypeState& state, const Want& want);

// They share a switch, a zone or (always) the node.
[[nodiscard]] bool same_group(Scope level, const DeviceState& a, const DeviceState& b);
// How many of the groups around it, from `level` on, have a device that is in use.
[[nodiscard]] int used_ancestors(const TypeState& state, Scope level, const DeviceState& member);

// `count` of `candidates` (by minor) as close together as can be, not further apart than the scope
// of `want`. Among equally close sets: the one whose PCIe switch and NUMA zone are in use already,
// then for shared devices the best score, then the lowest in order of zone, PCIe id and minor.
// Empty: there is none. The scope "Device" is narrower than any set: nothing satisfies it, as in
// Koordinator.
[[nodiscard]] Positions choose_by_topology(const TypeState& state, const Want& want,
                                           const Positions& candidates, const Scorer* scorer);

// Which partition table is in force for whole GPUs on a node.
struct PartitionRules {
  const PartitionTable* table = nullptr;  // null: none
  bool enforced = false;                  // only sets of the table may be given
};
[[nodiscard]] PartitionRules partition_rules(const NodeState& node, const NodeLabels& labels,
                                             const DeviceHints& hints);

// A partition of want.count devices that nobody uses, all healthy and among `candidates`; only one
// that `accepts` takes (empty: any). The highest allocation score first; then by the links that an
// annotation gives; then what it leaves of larger partitions, and of links.
[[nodiscard]] Verdict choose_partition(const NodeState& node, const Want& want,
                                       const PartitionRules& rules, const DeviceHints& hints,
                                       const Positions& candidates, Positions& chosen,
                                       const std::function<bool(const Positions&)>& accepts = {});

}  // namespace plimsoll::devices

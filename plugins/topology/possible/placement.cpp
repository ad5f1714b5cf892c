#include "plugins/topology/possible/placement.hpp"

#include <algorithm>
#include <bit>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/possible/arrival.hpp"
#include "plugins/topology/report/numa_node.hpp"

namespace plimsoll::topology {
namespace {

using kubelet::ContainerGrant;
using kubelet::DeviceGrant;
using kubelet::MemoryBlock;
using kubelet::NodeModel;
using kubelet::NodeState;

// Calls take(column, amount) for each zone of the block.
template <typename Take>
void split(const MemoryBlock& block, const NodeModel& model, const plimsoll_numa_node& free,
           const Take& take) {
  int64_t left = block.bytes;
  const uint32_t row = row_of(free, block.resource);
  for (kubelet::ZoneMask rest = block.zones & model.all; rest != 0; rest &= rest - 1) {
    const auto column = static_cast<uint32_t>(std::countr_zero(rest));
    const bool last = (rest & (rest - 1)) == 0;
    int64_t part = left;
    if (!last) {
      const int64_t there = row == kNoRow || column >= free.zone_count
                                ? 0
                                : free.free[size_t{row} * free.zone_count + column];
      part = std::clamp<int64_t>(there, 0, left);
    }
    take(column, part);
    left -= part;
  }
}

int64_t cpu_units(int64_t cpus) {
  return clamp_amount(std::min(cpus, kMaxAmount / 1000) * 1000);
}

}  // namespace

Charge& charge_at(std::vector<Charge>& charges, uint32_t zone_id, uint32_t resource) {
  for (Charge& charge : charges) {
    if (charge.zone_id == zone_id && charge.resource == resource) return charge;
  }
  return charges.emplace_back(Charge{zone_id, resource, 0, 0});
}

std::vector<Charge> charges_held(const NodeModel& model, const kubelet::Allocation& held,
                                 const plimsoll_numa_node& free) {
  std::vector<Charge> charges;
  const auto add = [&](uint32_t column, uint32_t resource, int64_t amount) {
    if (amount == 0) return;
    Charge& charge = charge_at(charges, model.zone_ids[column], resource);
    charge.amount = add_amounts(charge.amount, amount);
  };
  for (uint32_t column = 0; column < held.cpus.size(); ++column) {
    add(column, kubelet::kCpuResource, cpu_units(held.cpus[column]));
  }
  for (const kubelet::Allocation::Block& block : held.blocks) {
    split(block.block, model, free,
          [&](uint32_t column, int64_t bytes) { add(column, block.block.resource, bytes); });
  }
  for (const DeviceGrant& grant : held.devices) {
    for (uint32_t column = 0; column < grant.by_zone.size(); ++column) {
      add(column, grant.resource, grant.by_zone[column]);
    }
  }
  return charges;
}

Placement placement_given(const NodeModel& model, const kubelet::PodDemand& pod,
                          const kubelet::Admission& given, const plimsoll_numa_node& free) {
  Placement out;
  out.complete = given.admitted();
  out.charges = charges_held(model, given.allocation, free);
  // The memory manager frees what a finished init container does not pass on; CPUs and devices stay
  // with the pod, and reports do not show them.
  for (Charge& charge : out.charges) {
    const bool kept = model.memory_row(charge.resource) == kubelet::kNoResourceRow;
    charge.held = kept ? charge.amount : 0;
  }
  for (size_t i = 0; i < given.containers.size(); ++i) {
    const ContainerGrant& grant = given.containers[i];
    const auto container = static_cast<uint32_t>(i);
    // Containers come in the order of the pod's: plain init containers have no part in reports.
    const bool shown =
        i < pod.containers.size() && pod.containers[i].kind != kubelet::ContainerKind::kInit;
    const auto put = [&](uint32_t column, uint32_t resource, int64_t amount) {
      const uint32_t zone = model.zone_ids[column];
      out.where.push_back({container, zone, resource, 0, amount});
      if (!shown || amount == 0) return;
      Charge& charge = charge_at(out.charges, zone, resource);
      charge.held = std::max<int64_t>(0, add_amounts(charge.held, -amount));
    };
    for (uint32_t column = 0; column < grant.cpus.size(); ++column) {
      if (grant.cpus[column] == 0) continue;
      put(column, kubelet::kCpuResource, cpu_units(grant.cpus[column]));
    }
    // Of memory nothing may be left to the container, as later ones reuse it: it has it all the
    // same.
    for (const MemoryBlock& block : grant.memory) {
      split(block, model, free,
            [&](uint32_t column, int64_t bytes) { put(column, block.resource, bytes); });
    }
    for (const DeviceGrant& device : grant.devices) {
      for (uint32_t column = 0; column < device.by_zone.size(); ++column) {
        if (device.by_zone[column] == 0) continue;
        put(column, device.resource, device.by_zone[column]);
      }
    }
  }
  return out;
}

Placement placement_somewhere(const NodeModel& counts, const kubelet::PodDemand& pod,
                              const plimsoll_numa_node& free, kubelet::Scratch& scratch) {
  NodeState state = state_of(counts, free);
  const NodeState before = state;
  const kubelet::Admission given = admit_and_start(counts, state, pod, scratch);
  if (given.admitted()) return placement_given(counts, pod, given, free);
  Placement out;
  out.complete = false;
  take_roomiest(counts, state, pod);
  for (uint32_t column = 0; column < counts.zones(); ++column) {
    const auto charge = [&](uint32_t resource, int64_t amount) {
      if (amount > 0) charge_at(out.charges, counts.zone_ids[column], resource).amount = amount;
    };
    charge(kubelet::kCpuResource,
           cpu_units(before.cpu(counts)[column] - state.cpu(counts)[column]));
    for (uint32_t row = 0; row < counts.memory.size(); ++row) {
      charge(counts.memory[row].resource,
             before.memory(counts, row)[column] - state.memory(counts, row)[column]);
    }
    for (uint32_t row = 0; row < counts.devices.size(); ++row) {
      charge(counts.devices[row].resource,
             before.devices(counts, row)[column] - state.devices(counts, row)[column]);
    }
  }
  return out;
}

kubelet::NodeState state_of(const NodeModel& counts, const plimsoll_numa_node& view) {
  NodeState state(counts);
  const auto cell = [&](uint32_t resource, uint32_t column) -> int64_t {
    const uint32_t row = row_of(view, resource);
    if (row == kNoRow || column >= view.zone_count) return 0;
    return std::max<int64_t>(0, view.free[size_t{row} * view.zone_count + column]);
  };
  for (uint32_t column = 0; column < counts.zones(); ++column) {
    state.cpu(counts)[column] = cell(kubelet::kCpuResource, column) / 1000;
    for (uint32_t row = 0; row < counts.memory.size(); ++row) {
      state.memory(counts, row)[column] = cell(counts.memory[row].resource, column);
    }
    for (uint32_t row = 0; row < counts.devices.size(); ++row) {
      state.devices(counts, row)[column] = cell(counts.devices[row].resource, column);
    }
  }
  return state;
}

std::shared_ptr<const NodeModel> counts_model(const std::shared_ptr<const NodeModel>& model) {
  const bool listed = std::any_of(model->devices.begin(), model->devices.end(),
                                  [](const kubelet::DeviceType& type) { return type.listed(); });
  if (!listed) return model;
  auto counts = std::make_shared<NodeModel>(*model);
  for (kubelet::DeviceType& type : counts->devices) type.devices.clear();
  counts->prepare();
  return counts;
}

}  // namespace plimsoll::topology

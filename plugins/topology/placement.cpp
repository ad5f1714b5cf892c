#include "plugins/topology/placement.hpp"

#include <algorithm>
#include <bit>

#include "plugins/topology/amount.hpp"
#include "plugins/topology/numa_node.hpp"

namespace plimsoll::topology {
namespace {

using kubelet::ContainerGrant;
using kubelet::DeviceGrant;
using kubelet::MemoryBlock;
using kubelet::NodeModel;
using kubelet::NodeState;

// Collects amounts per zone and resource.
class Bill {
 public:
  Bill(const NodeModel& model, Placement& out) : model_(model), out_(out) {}

  Charge& at(uint32_t column, uint32_t resource) {
    const uint32_t zone = model_.zone_ids[column];
    for (Charge& charge : out_.charges) {
      if (charge.zone_id == zone && charge.resource == resource) return charge;
    }
    Charge& made = out_.charges.emplace_back();
    made.zone_id = zone;
    made.resource = resource;
    return made;
  }
  void add(uint32_t column, uint32_t resource, int64_t amount) {
    if (amount == 0) return;
    Charge& charge = at(column, resource);
    charge.amount = add_amounts(charge.amount, amount);
  }
  void show(uint32_t column, uint32_t resource, int64_t amount) {
    if (amount == 0) return;
    Charge& charge = at(column, resource);
    charge.visible = add_amounts(charge.visible, amount);
  }
  void put(size_t container, uint32_t column, uint32_t resource, int64_t amount) {
    out_.where.push_back(
        {static_cast<uint32_t>(container), model_.zone_ids[column], resource, 0, amount});
  }

 private:
  const NodeModel& model_;
  Placement& out_;
};

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

Placement placement_given(const NodeModel& model, const kubelet::PodDemand& pod,
                          const kubelet::Admission& given, const plimsoll_numa_node& free) {
  Placement out;
  out.complete = given.admitted();
  Bill bill(model, out);
  const kubelet::Allocation& all = given.allocation;
  for (uint32_t column = 0; column < all.cpus.size(); ++column) {
    bill.add(column, kubelet::kCpuResource, cpu_units(all.cpus[column]));
  }
  for (const kubelet::Allocation::Block& block : all.blocks) {
    split(block.block, model, free, [&](uint32_t column, int64_t bytes) {
      bill.add(column, block.block.resource, bytes);
      if (!block.init) bill.show(column, block.block.resource, bytes);
    });
  }
  for (const DeviceGrant& grant : all.devices) {
    for (uint32_t column = 0; column < grant.by_zone.size(); ++column) {
      bill.add(column, grant.resource, grant.by_zone[column]);
    }
  }
  // Containers come in the order of the pod's: plain init containers have no part in reports.
  for (size_t i = 0; i < given.containers.size(); ++i) {
    const ContainerGrant& grant = given.containers[i];
    const bool shown =
        i < pod.containers.size() && pod.containers[i].kind != kubelet::ContainerKind::kInit;
    for (uint32_t column = 0; column < grant.cpus.size(); ++column) {
      if (grant.cpus[column] == 0) continue;
      bill.put(i, column, kubelet::kCpuResource, cpu_units(grant.cpus[column]));
      if (shown) bill.show(column, kubelet::kCpuResource, cpu_units(grant.cpus[column]));
    }
    for (const MemoryBlock& block : grant.memory) {
      split(block, model, free,
            [&](uint32_t column, int64_t bytes) { bill.put(i, column, block.resource, bytes); });
    }
    for (const DeviceGrant& device : grant.devices) {
      for (uint32_t column = 0; column < device.by_zone.size(); ++column) {
        if (device.by_zone[column] == 0) continue;
        bill.put(i, column, device.resource, device.by_zone[column]);
        if (shown) bill.show(column, device.resource, device.by_zone[column]);
      }
    }
  }
  // The memory manager frees what a finished init container does not pass on; CPUs and devices stay
  // with the pod, and reports do not show them.
  for (Charge& charge : out.charges) {
    if (model.memory_row(charge.resource) != kubelet::kNoResourceRow) continue;
    charge.held = std::max<int64_t>(0, charge.amount - charge.visible);
  }
  return out;
}

kubelet::Allocation allocation_of(const NodeModel& model, const std::vector<Charge>& charges) {
  kubelet::Allocation all;
  for (const Charge& charge : charges) {
    const auto zone = std::find(model.zone_ids.begin(), model.zone_ids.end(), charge.zone_id);
    if (zone == model.zone_ids.end()) continue;
    const auto column = static_cast<uint32_t>(zone - model.zone_ids.begin());
    // What was freed when init containers ended is not held any more.
    const int64_t amount = add_amounts(charge.visible, charge.held);
    if (charge.resource == kubelet::kCpuResource) {
      if (!model.cpu_static) continue;
      all.cpus.resize(model.zones());
      all.cpus[column] += amount / 1000;
    } else if (const uint32_t row = model.memory_row(charge.resource);
               row != kubelet::kNoResourceRow) {
      if (!model.memory_static) continue;
      kubelet::Allocation::Block block;
      block.block = {charge.resource, row, kubelet::ZoneMask{1} << column, amount};
      all.blocks.push_back(block);
    } else if (const uint32_t device = model.device_row(charge.resource);
               device != kubelet::kNoResourceRow) {
      auto known = std::find_if(all.devices.begin(), all.devices.end(),
                                [&](const DeviceGrant& grant) { return grant.row == device; });
      if (known == all.devices.end()) {
        all.devices.push_back({charge.resource, device, 0, 0, {}, {}});
        known = std::prev(all.devices.end());
        known->by_zone.resize(model.zones());
      }
      known->count += amount;
      known->zones |= kubelet::ZoneMask{1} << column;
      known->by_zone[column] += amount;
    }
  }
  return all;
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

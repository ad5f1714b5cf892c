// Frees what a pod took.

#include <algorithm>

#include "plugins/topology/kubelet/admit.hpp"
#include "plugins/topology/kubelet/masks.hpp"

namespace plimsoll::topology::kubelet {
namespace {

// Returns the part of `bytes` that these zones do not take. Low zones come first; none gets back
// more than is reserved there.
int64_t give_back(const NodeModel& model, NodeState& state, uint32_t row, ZoneMask zones,
                  int64_t bytes) {
  for_each_column(zones, [&](uint32_t column) {
    int64_t& free = state.memory(model, row)[column];
    const int64_t reserved = model.memory[row].allocatable[column] - free;
    const int64_t part = std::clamp<int64_t>(bytes, 0, std::max<int64_t>(reserved, 0));
    free += part;
    bytes -= part;
  });
  return bytes;
}

// releaseMemory.
void release_block(const NodeModel& model, NodeState& state, const MemoryBlock& block) {
  const ZoneMask zones = block.zones & model.all;
  if (block.row < model.memory.size()) {
    const int64_t left = give_back(model, state, block.row, zones, block.bytes);
    // Groups keep blocks on different sets of zones apart. Without them a block before this one
    // may have been given back where this one lay.
    if (!state.knows_groups()) give_back(model, state, block.row, model.all & ~zones, left);
  }
  if (!state.knows_groups()) return;
  for_each_column(zones, [&](uint32_t column) {
    const int64_t assignments = state.assignments(model, column) - 1;
    state.set_group(model, column, assignments,
                    assignments > 0 ? state.group(model, column) : column_bit(column));
  });
}

void release_cpus(const NodeModel& model, NodeState& state, const Allocation& allocation) {
  if (allocation.cpus.empty()) return;
  if (state.knows_cpus() && allocation.known_cpu_ids) {
    // On machines with cores or sockets of different sizes the kubelet allocates whole ones that
    // are not completely free and may include reserved CPUs; those CPUs are not freed.
    CpuSet back = allocation.cpu_ids;
    if (model.reserved) back -= *model.reserved;
    return state.set_cpu_ids(model, state.cpu_ids(model) | back);
  }
  // The ids would no longer match the counts.
  if (state.knows_cpus()) state.forget_cpu_ids(model);
  const auto free = state.cpu(model);
  for (size_t column = 0; column < free.size() && column < allocation.cpus.size(); ++column) {
    free[column] = std::min(free[column] + allocation.cpus[column],
                            std::max(free[column], model.cpu_totals[column]));
  }
}

void release_devices(const NodeModel& model, NodeState& state, const DeviceGrant& grant) {
  if (grant.row >= model.devices.size()) return;
  if (model.devices[grant.row].listed()) {
    const auto free = state.device_ids(model, grant.row);
    std::vector<uint64_t> words(free.begin(), free.end());
    for (size_t i = 0; i < words.size() && i < grant.ids.size(); ++i) words[i] |= grant.ids[i];
    return state.set_device_ids(model, grant.row, words);
  }
  const auto free = state.devices(model, grant.row);
  const std::vector<int64_t>& totals = model.devices[grant.row].totals;
  for (size_t column = 0; column < free.size() && column < grant.by_zone.size(); ++column) {
    free[column] =
        std::min(free[column] + grant.by_zone[column], std::max(free[column], totals[column]));
  }
}

}  // namespace

void release(const NodeModel& model, NodeState& state, const Allocation& allocation) {
  release_cpus(model, state, allocation);
  for (const Allocation::Block& each : allocation.blocks) release_block(model, state, each.block);
  for (const DeviceGrant& grant : allocation.devices) release_devices(model, state, grant);
}

void started(const NodeModel& model, NodeState& state, Allocation& allocation, uint32_t container) {
  const auto over = [&](const Allocation::Block& each) {
    return each.init && each.container < container;
  };
  for (const Allocation::Block& each : allocation.blocks) {
    if (over(each)) release_block(model, state, each.block);
  }
  std::erase_if(allocation.blocks, over);
}

}  // namespace plimsoll::topology::kubelet

#include "plugins/topology/verdict/fit.hpp"

#include <algorithm>
#include <bit>
#include <plimsoll/views.hpp>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/report/numa_node.hpp"

namespace plimsoll::topology {
namespace {

// Zones of a row that have at least `amount`; `free` has one value per column.
uint64_t zones_with(const int64_t* free, uint32_t zones, int64_t amount) {
  uint64_t mask = 0;
  uint32_t column = 0;
  for (; column + 4 <= zones; column += 4) {  // four at a time: independent of one another
    const uint64_t four =
        uint64_t{free[column] >= amount} | uint64_t{free[column + 1] >= amount} << 1 |
        uint64_t{free[column + 2] >= amount} << 2 | uint64_t{free[column + 3] >= amount} << 3;
    mask |= four << column;
  }
  for (; column < zones; ++column) mask |= uint64_t{free[column] >= amount} << column;
  return mask;
}

// Zones that can hold one requested resource, or all if it does not depend on zones.
uint64_t suitable_zones(const Request& request, bool guaranteed, const plimsoll_numa_node& node,
                        const int64_t* free) {
  const uint32_t row = row_of(node, request.resource);
  const uint64_t listed = row == kNoRow ? 0 : node.listed[row];
  if (listed == 0) return request.traits.host_level ? ~uint64_t{0} : 0;
  if (!guaranteed && request.traits.guaranteed_only) return listed;
  return listed & zones_with(free + size_t{row} * node.zone_count, node.zone_count, request.amount);
}

// resourcesAvailableInAnyNUMANodes: the zones that hold all of `requests`; 0: none does.
uint64_t zones_for(const Requests& requests, bool guaranteed, const plimsoll_numa_node& node,
                   const int64_t* free, const NodeAllocatable& allocatable) {
  uint64_t mask = ~uint64_t{0};
  for (const Request& request : requests) {
    if (request.amount == 0) continue;
    if (!allocatable.has(request)) return 0;
    mask &= suitable_zones(request, guaranteed, node, free);
    if (mask == 0) return 0;
  }
  return mask;
}

void subtract(const Requests& requests, bool guaranteed, const plimsoll_numa_node& node,
              uint32_t column, int64_t* free) {
  if (column >= node.zone_count) return;
  for (const Request& request : requests) {
    if (!guaranteed && request.traits.guaranteed_only) continue;
    const uint32_t row = row_of(node, request.resource);
    if (row == kNoRow || (node.listed[row] >> column & 1) == 0) continue;
    int64_t& cell = free[size_t{row} * node.zone_count + column];
    cell = add_amounts(cell, -request.amount);
  }
}

Verdict refusal_of(uint32_t kind) {
  if (kind == PLIMSOLL_CONTAINER_INIT) return Verdict::kCannotAlignInitContainer;
  if (kind == PLIMSOLL_CONTAINER_SIDECAR) return Verdict::kCannotAlignSidecarContainer;
  return Verdict::kCannotAlignContainer;
}

// Container scope. Returns the index of the container that has no zone, or the number of
// containers; `free` is scratch that ends as it was before that container.
size_t first_without_zone(const PodRequest& pod, const plimsoll_numa_node& node,
                          const NodeAllocatable& allocatable, Scratch& scratch,
                          const int64_t*& free) {
  free = node.free;
  const size_t count = pod.containers.size();
  for (size_t i = 0; i < count; ++i) {
    const Requests& requests = pod.containers[i].requests;
    const uint64_t mask = zones_for(requests, pod.guaranteed, node, free, allocatable);
    if (mask == 0) return i;
    if (i < pod.init_count || i + 1 == count) continue;
    if (free == node.free) {  // the first that takes something: from here on a copy
      const size_t cells = size_t{node.zone_count} * node.resource_count;
      scratch.cells.assign(node.free, node.free + cells);
      free = scratch.cells.data();
    }
    subtract(requests, pod.guaranteed, node, static_cast<uint32_t>(std::countr_zero(mask)),
             scratch.cells.data());
  }
  return count;
}

// What is short among `requests`, of which no zone holds all.
Shortage shortage_in(const Requests& requests, bool guaranteed, const plimsoll_numa_node& node,
                     const int64_t* free, const NodeAllocatable& allocatable) {
  Shortage worst;
  uint64_t mask = ~uint64_t{0};
  for (const Request& request : requests) {
    if (request.amount == 0) continue;
    Shortage found;
    found.resource = request.name;
    found.need = request.amount;
    found.on_node = allocatable.has(request);
    const uint32_t row = row_of(node, request.resource);
    for (uint32_t column = 0; row != kNoRow && column < node.zone_count; ++column) {
      if ((node.listed[row] >> column & 1) == 0) continue;
      const int64_t have = free[size_t{row} * node.zone_count + column];
      if (found.listed && have <= found.best_free) continue;
      found.listed = true;
      found.best_zone = node.zone_ids[column];
      found.best_free = have;
    }
    const uint64_t zones =
        found.on_node ? suitable_zones(request, guaranteed, node, free) : uint64_t{0};
    if (zones == 0) {
      found.alone = true;
      return found;
    }
    mask &= zones;
    if (mask == 0) return found;
  }
  return worst;
}

}  // namespace

std::string_view message_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kCannotAlignPod:
      return "cannot align pod";
    case Verdict::kCannotAlignContainer:
      return "cannot align container";
    case Verdict::kCannotAlignInitContainer:
      return "cannot align init container";
    case Verdict::kCannotAlignSidecarContainer:
      return "cannot align sidecar container";
    case Verdict::kInvalidTopology:
      return "invalid node topology data";
    case Verdict::kNotWholeCores:
      return "cannot give whole physical cores";
    case Verdict::kTooFewCpus:
      return "cannot give enough exclusive CPUs";
    case Verdict::kTooFewDevices:
      return "cannot give enough devices";
    case Verdict::kMemoryUnavailable:
      return "cannot give memory of NUMA zones";
    case Verdict::kNoSharedPool:
      return "cannot leave a shared pool to containers of the pod";
    case Verdict::kUncertain:
      return "cannot align pod for sure before the node's next report";
    case Verdict::kNoReport:
      return "cannot align pod without the node's NodeResourceTopology";
    case Verdict::kFits:
      break;
  }
  return "";
}

bool NodeAllocatable::has(const Request& request) const {
  switch (request.resource) {
    case PLIMSOLL_RESOURCE_CPU:
    case PLIMSOLL_RESOURCE_MEMORY:
    case PLIMSOLL_RESOURCE_EPHEMERAL_STORAGE:
    case PLIMSOLL_RESOURCE_PODS:
      return true;
    default:
      break;
  }
  if (!request.traits.in_node_info) return false;
  if (vector != nullptr && request.resource < count && vector[request.resource] != 0) return true;
  if (list == nullptr) return false;
  for (const plimsoll_resource& resource : sdk::List<plimsoll_resource>(*list)) {
    if (resource.index == request.resource) return true;
  }
  return false;
}

bool needs_alignment(const PodRequest& pod) {
  return pod.qos != PLIMSOLL_QOS_BEST_EFFORT || pod.has_extended;
}

Verdict reference_fit(const PodRequest& pod, const plimsoll_numa_node* node,
                      const NodeAllocatable& allocatable, Scratch& scratch) {
  if (node == nullptr || !needs_alignment(pod)) return Verdict::kFits;
  if (node->policy != PLIMSOLL_NUMA_POLICY_SINGLE_NUMA_NODE) return Verdict::kFits;
  if (node->scope == PLIMSOLL_NUMA_SCOPE_POD) {
    const uint64_t mask = zones_for(pod.effective, pod.guaranteed, *node, node->free, allocatable);
    return mask != 0 ? Verdict::kFits : Verdict::kCannotAlignPod;
  }
  const int64_t* free = nullptr;
  const size_t stuck = first_without_zone(pod, *node, allocatable, scratch, free);
  return stuck == pod.containers.size() ? Verdict::kFits : refusal_of(pod.containers[stuck].kind);
}

void reference_take(const PodRequest& pod, const plimsoll_numa_node& node, int64_t* free) {
  const auto take = [&](const Requests& requests) {
    uint64_t mask = all_zones(node);
    const int64_t* first = nullptr;
    for (const Request& request : requests) {
      const uint32_t row = row_of(node, request.resource);
      if (row == kNoRow || node.listed[row] == 0) continue;
      const int64_t* cells = free + size_t{row} * node.zone_count;
      if (first == nullptr) first = cells;
      mask &= node.listed[row] & zones_with(cells, node.zone_count, request.amount);
    }
    if (first == nullptr) return;
    const auto column =
        mask != 0 ? static_cast<uint32_t>(std::countr_zero(mask))
                  : static_cast<uint32_t>(std::max_element(first, first + node.zone_count) - first);
    subtract(requests, true, node, column, free);
  };
  if (node.scope != PLIMSOLL_NUMA_SCOPE_POD && !pod.has_pinned_init) {
    for (const ContainerRequest& container : pod.containers) take(container.pinned);
    return;
  }
  Requests whole;
  for (const ContainerRequest& container : pod.containers) {
    for (Request request : container.pinned) {
      const auto same = [&](const Request& known) { return known.resource == request.resource; };
      if (std::any_of(whole.begin(), whole.end(), same)) continue;
      request.amount = pod.pinned_total(request.resource);
      whole.push_back(request);
    }
  }
  take(whole);
}

Shortage explain_shortage(const PodRequest& pod, const plimsoll_numa_node& node,
                          const NodeAllocatable& allocatable, Scratch& scratch) {
  if (node.scope == PLIMSOLL_NUMA_SCOPE_POD) {
    return shortage_in(pod.effective, pod.guaranteed, node, node.free, allocatable);
  }
  const int64_t* free = nullptr;
  const size_t stuck = first_without_zone(pod, node, allocatable, scratch, free);
  if (stuck == pod.containers.size()) return {};
  const ContainerRequest& container = pod.containers[stuck];
  Shortage shortage = shortage_in(container.requests, pod.guaranteed, node, free, allocatable);
  shortage.container = container.name;
  return shortage;
}

}  // namespace plimsoll::topology

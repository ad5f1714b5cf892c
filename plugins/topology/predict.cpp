#include "plugins/topology/predict.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>

#include "plugins/topology/amount.hpp"
#include "plugins/topology/numa_node.hpp"

namespace plimsoll::topology {
namespace {

// One walk over a pod's containers. `cells` of the scratch is what is free, `more` what finished
// init containers of this pod left for reuse.
class Placer {
 public:
  Placer(const PodRequest& pod, const plimsoll_numa_node& node, Scratch& scratch, Placement& out)
      : pod_(pod), node_(node), free_(scratch.cells), reusable_(scratch.more), out_(out) {
    const size_t cells = size_t{node.zone_count} * node.resource_count;
    free_.assign(node.free, node.free + cells);
    reusable_.assign(cells, 0);
  }

  // The lowest zone that has all of the container's pinned resources; -1: none has.
  [[nodiscard]] int zone_for(const ContainerRequest& container) const {
    uint64_t mask = all_zones(node_);
    for (const Request& request : container.pinned) {
      const uint32_t row = listed_row(request);
      if (row != kNoRow) mask &= zones_holding(row, request);
    }
    return mask == 0 ? -1 : std::countr_zero(mask);
  }

  void place(size_t index, uint32_t column) {
    const ContainerRequest& container = pod_.containers[index];
    for (const Request& request : container.pinned) {
      const uint32_t row = listed_row(request);
      if (row != kNoRow) take(index, row, column, request.resource, request.amount);
    }
  }

  // One resource in these zones: each gives what it has, in ascending order, the last one the rest.
  void place_in(size_t index, const Request& request, uint32_t row, uint64_t columns) {
    int64_t need = request.amount;
    for (; columns != 0 && need > 0; columns &= columns - 1) {
      const auto column = static_cast<uint32_t>(std::countr_zero(columns));
      const size_t at = cell(row, column);
      const bool last = (columns & (columns - 1)) == 0;
      const int64_t part =
          last ? need : std::clamp<int64_t>(add_amounts(free_[at], reusable_[at]), 0, need);
      if (part > 0) take(index, row, column, request.resource, part);
      need -= part;
    }
  }

  // Zones in ascending order for each resource; what no zone has is left out.
  void spread(size_t index) {
    for (const Request& request : pod_.containers[index].pinned) {
      const uint32_t row = listed_row(request);
      int64_t need = request.amount;
      for (uint32_t column = 0; row != kNoRow && column < node_.zone_count && need > 0; ++column) {
        if ((node_.listed[row] >> column & 1) == 0) continue;
        const size_t at = cell(row, column);
        const int64_t part = std::clamp<int64_t>(free_[at] + reusable_[at], 0, need);
        if (part > 0) take(index, row, column, request.resource, part);
        need -= part;
      }
    }
  }

  // The zone that has most of what the container pins first.
  [[nodiscard]] uint32_t roomiest(const ContainerRequest& container) const {
    for (const Request& request : container.pinned) {
      const uint32_t row = listed_row(request);
      if (row == kNoRow) continue;
      const int64_t* begin = free_.data() + cell(row, 0);
      return static_cast<uint32_t>(std::max_element(begin, begin + node_.zone_count) - begin);
    }
    return 0;
  }

 private:
  [[nodiscard]] size_t cell(uint32_t row, uint32_t column) const {
    return size_t{row} * node_.zone_count + column;
  }
  [[nodiscard]] uint32_t listed_row(const Request& request) const {
    const uint32_t row = row_of(node_, request.resource);
    return row != kNoRow && node_.listed[row] != 0 ? row : kNoRow;
  }

  // CPUs and devices that the pod can reuse must be part of the hint (generateCPUTopologyHints,
  // generateDeviceTopologyHints): a container cannot go to another zone.
  [[nodiscard]] uint64_t zones_holding(uint32_t row, const Request& request) const {
    const bool binds = request.traits.extended || request.resource == PLIMSOLL_RESOURCE_CPU;
    uint64_t enough = 0;
    uint64_t reused = 0;
    for (uint32_t column = 0; column < node_.zone_count; ++column) {
      const size_t at = cell(row, column);
      if (reusable_[at] > 0) reused |= uint64_t{1} << column;
      if (free_[at] + reusable_[at] >= request.amount) enough |= uint64_t{1} << column;
    }
    enough &= node_.listed[row];
    return binds && reused != 0 ? enough & reused : enough;
  }

  void take(size_t index, uint32_t row, uint32_t column, uint32_t resource, int64_t amount) {
    const size_t at = cell(row, column);
    const bool plain_init = pod_.containers[index].kind == PLIMSOLL_CONTAINER_INIT;
    const int64_t fresh = std::max<int64_t>(0, amount - reusable_[at]);
    free_[at] = add_amounts(free_[at], -fresh);
    reusable_[at] =
        plain_init ? std::max(reusable_[at], amount) : std::max<int64_t>(0, reusable_[at] - amount);
    const uint32_t zone = node_.zone_ids[column];
    out_.where.push_back({static_cast<uint32_t>(index), zone, resource, 0, amount});
    Charge* charge = nullptr;
    for (Charge& known : out_.charges) {
      if (known.zone_id == zone && known.resource == resource) charge = &known;
    }
    if (charge == nullptr) {
      charge = &out_.charges.emplace_back();
      charge->zone_id = zone;
      charge->resource = resource;
    }
    charge->amount = add_amounts(charge->amount, fresh);
    if (!plain_init) charge->visible = add_amounts(charge->visible, amount);
    // The memory manager frees what a finished init container does not pass on; CPUs and devices
    // stay with the pod.
    const bool kept = resource == PLIMSOLL_RESOURCE_CPU || pod_has_extended(index, resource);
    charge->held = kept ? std::max<int64_t>(0, charge->amount - charge->visible) : 0;
  }

  [[nodiscard]] bool pod_has_extended(size_t index, uint32_t resource) const {
    for (const Request& request : pod_.containers[index].pinned) {
      if (request.resource == resource) return request.traits.extended;
    }
    return false;
  }

  const PodRequest& pod_;
  const plimsoll_numa_node& node_;
  std::vector<int64_t>& free_;
  std::vector<int64_t>& reusable_;
  Placement& out_;
};

// Scope pod: the lowest zone that has the totals of all pinned resources; -1: none has.
int zone_for_pod(const PodRequest& pod, const plimsoll_numa_node& node) {
  uint64_t mask = all_zones(node);
  for (const ContainerRequest& container : pod.containers) {
    for (const Request& request : container.pinned) {
      const uint32_t row = row_of(node, request.resource);
      if (row == kNoRow || node.listed[row] == 0) continue;
      const int64_t total = pod.pinned_total(request.resource);
      for (uint64_t rest = mask & node.listed[row]; rest != 0; rest &= rest - 1) {
        const int column = std::countr_zero(rest);
        if (node.free[size_t{row} * node.zone_count + column] < total) {
          mask &= ~(uint64_t{1} << column);
        }
      }
      mask &= node.listed[row];
    }
  }
  return mask == 0 ? -1 : std::countr_zero(mask);
}

bool walk(const PodRequest& pod, const plimsoll_numa_node& node, Doubt doubt, Scratch& scratch,
          Placement& out) {
  if (node.zone_count == 0 || !pod.has_pinned) return true;
  const bool strict = node.policy == PLIMSOLL_NUMA_POLICY_SINGLE_NUMA_NODE;
  const bool as_pod = node.scope == PLIMSOLL_NUMA_SCOPE_POD;
  const int pod_zone = as_pod ? zone_for_pod(pod, node) : -1;
  bool complete = true;
  Placer placer(pod, node, scratch, out);
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const ContainerRequest& container = pod.containers[i];
    if (container.pinned.empty()) continue;
    const int zone = as_pod ? pod_zone : placer.zone_for(container);
    if (zone >= 0) {
      placer.place(i, static_cast<uint32_t>(zone));
    } else if (!strict) {
      placer.spread(i);
    } else if (doubt == Doubt::kRefuse) {
      return false;
    } else {
      complete = false;
      placer.place(i, placer.roomiest(container));
    }
  }
  return complete;
}

}  // namespace

Placement predict(const PodRequest& pod, const plimsoll_numa_node& node, Doubt doubt,
                  Scratch& scratch) {
  Placement placement;
  placement.complete = walk(pod, node, doubt, scratch, placement);
  return placement;
}

std::string zones_annotation(const PodRequest& pod,
                             const std::vector<plimsoll_numa_charge>& where) {
  if (where.empty()) return "";
  std::map<std::string, std::map<std::string, std::vector<uint32_t>>> zones;
  for (const plimsoll_numa_charge& charge : where) {
    const ContainerRequest& container = pod.containers.at(charge.container);
    for (const Request& request : container.pinned) {
      if (request.resource != charge.resource) continue;
      std::vector<uint32_t>& list = zones[std::string(container.name)][std::string(request.name)];
      if (std::find(list.begin(), list.end(), charge.zone_id) == list.end()) {
        list.push_back(charge.zone_id);
      }
    }
  }
  return nlohmann::json(zones).dump();
}

std::vector<plimsoll_numa_charge> zones_of(std::string_view annotation, const PodRequest& pod) {
  std::vector<plimsoll_numa_charge> named;
  const nlohmann::json zones = nlohmann::json::parse(annotation, nullptr, false);
  if (!zones.is_object()) return named;
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const ContainerRequest& container = pod.containers[i];
    for (const Request& request : container.pinned) {
      const auto by_container = zones.find(std::string(container.name));
      if (by_container == zones.end()) continue;
      if (!by_container->is_object()) return {};
      const auto list = by_container->find(std::string(request.name));
      if (list == by_container->end()) continue;
      if (!list->is_array()) return {};
      for (const nlohmann::json& zone : *list) {
        if (!zone.is_number_unsigned() || zone.get<uint64_t>() > UINT32_MAX) return {};
        named.push_back({static_cast<uint32_t>(i), zone.get<uint32_t>(), request.resource, 0, 0});
      }
    }
  }
  return named;
}

Placement placement_of(const std::vector<plimsoll_numa_charge>& named, const PodRequest& pod,
                       const plimsoll_numa_node& node, Scratch& scratch) {
  Placement placement;
  Placer placer(pod, node, scratch, placement);
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    for (const Request& request : pod.containers[i].pinned) {
      const uint32_t row = row_of(node, request.resource);
      if (row == kNoRow || node.listed[row] == 0) continue;
      uint64_t columns = 0;
      bool known = true;
      for (const plimsoll_numa_charge& one : named) {
        if (one.container != i || one.resource != request.resource) continue;
        const uint32_t* end = node.zone_ids + node.zone_count;
        const uint32_t* at = std::find(node.zone_ids, end, one.zone_id);
        known = known && at != end;
        if (at != end) columns |= uint64_t{1} << (at - node.zone_ids);
      }
      if (!known || columns == 0) {
        placement = {};
        placement.complete = false;
        return placement;
      }
      placer.place_in(i, request, row, columns);
    }
  }
  return placement;
}

}  // namespace plimsoll::topology

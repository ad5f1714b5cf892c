#include "plugins/topology/record/zones_annotation.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/report/numa_node.hpp"

namespace plimsoll::topology {
namespace {

// One walk over a pod's containers. `cells` of the scratch is what is free, `more` what finished
// init containers of this pod left for reuse.
class Walk {
 public:
  Walk(const PodRequest& pod, const plimsoll_numa_node& node, Scratch& scratch, Placement& out)
      : pod_(pod), node_(node), free_(scratch.cells), reusable_(scratch.more), out_(out) {
    const size_t cells = size_t{node.zone_count} * node.resource_count;
    free_.assign(node.free, node.free + cells);
    reusable_.assign(cells, 0);
  }

  // One resource in these zones: each gives what it has, in ascending order, the last one the rest.
  void place(size_t container, const Request& request, uint32_t row, uint64_t columns) {
    int64_t need = request.amount;
    for (; columns != 0 && need > 0; columns &= columns - 1) {
      const auto column = static_cast<uint32_t>(std::countr_zero(columns));
      const size_t at = size_t{row} * node_.zone_count + column;
      const bool last = (columns & (columns - 1)) == 0;
      const int64_t part =
          last ? need : std::clamp<int64_t>(add_amounts(free_[at], reusable_[at]), 0, need);
      if (part > 0) take(container, request, at, node_.zone_ids[column], part);
      need -= part;
    }
  }

 private:
  void take(size_t container, const Request& request, size_t at, uint32_t zone, int64_t amount) {
    const bool plain_init = pod_.containers[container].kind == PLIMSOLL_CONTAINER_INIT;
    const int64_t fresh = std::max<int64_t>(0, amount - reusable_[at]);
    free_[at] = add_amounts(free_[at], -fresh);
    reusable_[at] =
        plain_init ? std::max(reusable_[at], amount) : std::max<int64_t>(0, reusable_[at] - amount);
    out_.where.push_back({static_cast<uint32_t>(container), zone, request.resource, 0, amount});
    Charge& charge = charge_at(out_.charges, zone, request.resource);
    charge.amount = add_amounts(charge.amount, fresh);
    // The memory manager frees what a finished init container does not pass on; CPUs and devices
    // stay with the pod.
    const bool kept = request.resource == PLIMSOLL_RESOURCE_CPU || request.traits.extended;
    if (!kept) return;
    charge.held = add_amounts(charge.held, plain_init ? fresh : fresh - amount);
    charge.held = std::max<int64_t>(0, charge.held);
  }

  const PodRequest& pod_;
  const plimsoll_numa_node& node_;
  std::vector<int64_t>& free_;
  std::vector<int64_t>& reusable_;
  Placement& out_;
};

}  // namespace

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

std::string zones_annotation(const PodRequest& pod, const std::vector<Charge>& held) {
  std::vector<plimsoll_numa_charge> where;
  for (uint32_t i = 0; i < pod.containers.size(); ++i) {
    for (const Request& request : pod.containers[i].pinned) {
      for (const Charge& charge : held) {
        if (charge.resource != request.resource || charge.amount <= 0) continue;
        where.push_back({i, charge.zone_id, charge.resource, 0, charge.amount});
      }
    }
  }
  return zones_annotation(pod, where);
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
      uint64_t ids = 0;  // a list may name one again and again
      for (const nlohmann::json& zone : *list) {
        if (!zone.is_number_unsigned() || zone.get<uint64_t>() >= kMaxZones) return {};
        ids |= uint64_t{1} << zone.get<uint64_t>();
      }
      for (; ids != 0; ids &= ids - 1)
        named.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(std::countr_zero(ids)),
                         request.resource, 0, 0});
    }
  }
  return named;
}

Placement placement_of(const std::vector<plimsoll_numa_charge>& named, const PodRequest& pod,
                       const plimsoll_numa_node& node, Scratch& scratch) {
  Placement placement;
  Walk walk(pod, node, scratch, placement);
  auto one = named.begin();  // in the order of the containers and their requests
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    for (const Request& request : pod.containers[i].pinned) {
      const auto first = one;
      while (one != named.end() && one->container == i && one->resource == request.resource) ++one;
      const uint32_t row = row_of(node, request.resource);
      if (row == kNoRow || node.listed[row] == 0) continue;
      uint64_t columns = 0;
      bool known = true;
      for (const plimsoll_numa_charge& charge : std::span(first, one)) {
        const uint32_t* end = node.zone_ids + node.zone_count;
        const uint32_t* at = std::find(node.zone_ids, end, charge.zone_id);
        known = known && at != end;
        if (at != end) columns |= uint64_t{1} << (at - node.zone_ids);
      }
      if (!known || columns == 0) {
        placement = {};
        placement.complete = false;
        return placement;
      }
      walk.place(i, request, row, columns);
    }
  }
  return placement;
}

}  // namespace plimsoll::topology

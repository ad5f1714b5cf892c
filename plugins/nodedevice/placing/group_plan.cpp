#include "plugins/nodedevice/placing/group_plan.hpp"

#include <plimsoll/objects.h>
#include <algorithm>
#include <array>
#include <set>

namespace plimsoll::devices {
namespace {

bool fits_vectors(const Seekers& seekers, const std::vector<int64_t>& free, bool managed) {
  return std::all_of(seekers.requests.begin(), seekers.requests.end(), [&](const auto& request) {
    const auto [index, amount] = request;
    // Extended resources of managed devices are judged by the devices: nodes need not advertise
    // them.
    if (managed && index > PLIMSOLL_RESOURCE_PODS) return true;
    return amount <= 0 || (index < free.size() && amount <= free[index]);
  });
}

void take(const Seekers& seekers, std::vector<int64_t>& free) {
  for (const auto& [index, amount] : seekers.requests)
    if (index < free.size()) free[index] -= amount;
}

// One after the other.
Placement place_in_order(const Allocator& allocator, const NodeRoom& room,
                         std::span<const Seekers> all) {
  Placement placement;
  NodeState node = room.devices;
  const bool managed = !node.unmanaged();
  std::vector<int64_t> free = room.free;
  for (size_t i = 0; i < all.size(); ++i) {
    const Seekers& seekers = all[i];
    // What one is refused for, its equals are refused for too.
    for (size_t placed = 0; placed < seekers.count; ++placed) {
      if (!fits_vectors(seekers, free, managed)) break;
      Allocation allocation;
      if (managed && seekers.demand != nullptr) {
        if (!allocator.allocate(node, room.labels, *seekers.demand, allocation).fits()) break;
        node.add(allocation);
      }
      take(seekers, free);
      placement.given.push_back({i, std::move(allocation)});
    }
  }
  return placement;
}

// Whether the demands of several members can be chosen as if they were one pod's.
bool can_be_added_up(const PodDemand& demand) {
  if (!demand.hints.empty() || demand.request.by_container()) return false;
  return std::none_of(demand.request.types.begin(), demand.request.types.end(),
                      [](const TypeRequest& request) { return request.is_shared; });
}

// The NUMA zones and PCIe ids that devices are at.
struct Places {
  std::set<int> zones;
  std::set<int> pcie;

  void add(const DeviceTypes& types, const NodeState& node, const Allocation& allocation) {
    for (const DeviceShare& share : allocation) {
      const DeviceState* device = node.type(share.type).find(share.minor);
      if (device == nullptr || !types.type(share.type).is_topology_aware) continue;
      if (device->numa >= 0) zones.insert(device->numa);
      if (device->pcie >= 0) pcie.insert(device->pcie);
    }
  }
};

// The less, the nearer: first each member's devices to one another, then all of them.
std::array<size_t, 4> distance(const DeviceTypes& types, const NodeRoom& room,
                               const std::vector<Placement::Given>& given) {
  std::array<size_t, 4> sums{};
  Places all;
  for (const Allocation& near : room.near) all.add(types, room.devices, near);
  for (const auto& [seekers, devices] : given) {
    Places own;
    own.add(types, room.devices, devices);
    all.add(types, room.devices, devices);
    sums[0] += own.zones.size();
    sums[1] += own.pcie.size();
  }
  sums[2] = all.zones.size();
  sums[3] = all.pcie.size();
  return sums;
}

// Chooses the devices of all who have a place as one set, unless that sets them further apart.
void gather(const DeviceTypes& types, const Allocator& allocator, const NodeRoom& room,
            std::span<const Seekers> all, Placement& placement) {
  const Seekers* model = nullptr;
  int64_t count = 0;
  for (const auto& [i, devices] : placement.given) {
    if (all[i].demand == nullptr) continue;
    if (model != nullptr && model->shape != all[i].shape) return;
    model = &all[i];
    ++count;
  }
  if (count < 2 || !can_be_added_up(*model->demand)) return;
  PodDemand sum = *model->demand;
  for (TypeRequest& request : sum.request.types) {
    request.count *= count;
    for (int64_t& amount : request.total.value) amount *= count;
  }
  Allocation set;
  if (!allocator.allocate(room.devices, room.labels, sum, set).fits()) return;
  NodeState node = kept_to(room.devices, set);
  std::vector<Placement::Given> given;
  for (const auto& [i, devices] : placement.given) {
    Allocation part;
    if (all[i].demand != nullptr) {
      if (!allocator.allocate(node, room.labels, *all[i].demand, part).fits()) return;
      node.add(part);
    }
    given.push_back({i, std::move(part)});
  }
  if (distance(types, room, given) <= distance(types, room, placement.given))
    placement.given = std::move(given);
}

void measure(const DeviceTypes& types, const NodeRoom& room, Placement& placement) {
  Places places;
  std::set<std::pair<int, int32_t>> taken;
  const auto add = [&](const Allocation& allocation) {
    places.add(types, room.devices, allocation);
    for (const DeviceShare& share : allocation) taken.emplace(share.type, share.minor);
  };
  for (const Allocation& near : room.near) add(near);
  for (const auto& [seekers, devices] : placement.given) add(devices);
  placement.zones = static_cast<int>(places.zones.size());
  placement.places = static_cast<int>(places.pcie.size());
  int all = 0;
  int idle = 0;
  for (int t = 0; t < types.count(); ++t) {
    for (const DeviceState& device : room.devices.type(t).devices) {
      ++all;
      if (device.available && !device.in_use && !taken.contains({t, device.minor})) ++idle;
    }
  }
  placement.idle = all == 0 ? 100 : 100 * idle / all;
}

}  // namespace

Placement place_together(const DeviceTypes& types, const Allocator& allocator, const NodeRoom& room,
                         std::span<const Seekers> all) {
  Placement placement = place_in_order(allocator, room, all);
  if (placement.given.empty()) return placement;
  if (!room.devices.unmanaged()) gather(types, allocator, room, all, placement);
  measure(types, room, placement);
  return placement;
}

int64_t score_placement(const Placement& placement, size_t members, bool has_fellows) {
  if (placement.given.empty() || members == 0) return 0;
  // First how many of those who need a place have room here, so that few nodes take all; then where
  // the others are; then how near their devices are; then what is left over.
  auto score = static_cast<int64_t>(70 * placement.given.size() / members);
  if (has_fellows) score += 15;
  score += 6 / std::max(placement.zones, 1) + 4 / std::max(placement.places, 1);
  return score + 5 * (100 - placement.idle) / 100;
}

}  // namespace plimsoll::devices

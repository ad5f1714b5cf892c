#include "plugins/nodedevice/groups/group_plan.hpp"

#include <plimsoll/objects.h>
#include <algorithm>
#include <array>
#include <set>

namespace plimsoll::devices {
namespace {

bool fits_vectors(const Seeker& seeker, const std::vector<int64_t>& free, bool managed) {
  return std::all_of(seeker.requests.begin(), seeker.requests.end(), [&](const auto& request) {
    const auto [index, amount] = request;
    // Extended resources of managed devices are judged by the devices: nodes need not advertise
    // them.
    if (managed && index > PLIMSOLL_RESOURCE_PODS) return true;
    return amount <= 0 || (index < free.size() && amount <= free[index]);
  });
}

void take(const Seeker& seeker, std::vector<int64_t>& free) {
  for (const auto& [index, amount] : seeker.requests)
    if (index < free.size()) free[index] -= amount;
}

// One after the other.
Placement place_in_order(const Allocator& allocator, const NodeRoom& room,
                         std::span<const Seeker> seekers, bool alike) {
  Placement placement;
  NodeState node = room.devices;
  const bool managed = !node.unmanaged();
  std::vector<int64_t> free = room.free;
  const Seeker* refused = nullptr;
  for (const Seeker& seeker : seekers) {
    if (alike && static_cast<size_t>(placement.count) < placement.given.size()) break;
    auto& given = placement.given.emplace_back();
    if (!fits_vectors(seeker, free, managed)) continue;
    Allocation allocation;
    if (managed && seeker.demand != nullptr) {
      // What one was refused for, its equals are refused for too.
      if (refused != nullptr && refused->shape == seeker.shape) continue;
      if (!allocator.allocate(node, room.labels, *seeker.demand, allocation).fits()) {
        refused = &seeker;
        continue;
      }
      node.add(allocation);
    }
    take(seeker, free);
    given = std::move(allocation);
    ++placement.count;
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
                               const std::vector<std::optional<Allocation>>& given) {
  std::array<size_t, 4> sums{};
  Places all;
  for (const Allocation& near : room.near) all.add(types, room.devices, near);
  for (const auto& allocation : given) {
    if (!allocation) continue;
    Places own;
    own.add(types, room.devices, *allocation);
    all.add(types, room.devices, *allocation);
    sums[0] += own.zones.size();
    sums[1] += own.pcie.size();
  }
  sums[2] = all.zones.size();
  sums[3] = all.pcie.size();
  return sums;
}

// Chooses the devices of all who have a place as one set, unless that sets them further apart.
void gather(const DeviceTypes& types, const Allocator& allocator, const NodeRoom& room,
            std::span<const Seeker> seekers, Placement& placement) {
  const Seeker* model = nullptr;
  int64_t count = 0;
  for (size_t i = 0; i < placement.given.size(); ++i) {
    if (!placement.given[i] || seekers[i].demand == nullptr) continue;
    if (model != nullptr && model->shape != seekers[i].shape) return;
    model = &seekers[i];
    ++count;
  }
  if (count < 2 || !can_be_added_up(*model->demand)) return;
  PodDemand all = *model->demand;
  for (TypeRequest& request : all.request.types) {
    request.count *= count;
    for (int64_t& amount : request.total.value) amount *= count;
  }
  Allocation set;
  if (!allocator.allocate(room.devices, room.labels, all, set).fits()) return;
  NodeState node = kept_to(room.devices, set);
  std::vector<std::optional<Allocation>> given(placement.given.size());
  for (size_t i = 0; i < placement.given.size(); ++i) {
    if (!placement.given[i]) continue;
    given[i].emplace();
    if (seekers[i].demand == nullptr) continue;
    if (!allocator.allocate(node, room.labels, *seekers[i].demand, *given[i]).fits()) return;
    node.add(*given[i]);
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
  for (const auto& given : placement.given)
    if (given) add(*given);
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

NodeState kept_to(NodeState node, const Allocation& within) {
  uint32_t types = 0;
  for (const DeviceShare& share : within) types |= 1U << share.type;
  for (int t = 0; t < kMaxTypes; ++t) {
    if ((types >> t & 1U) == 0) continue;
    std::vector<int32_t> minors;
    for (const DeviceShare& share : within)
      if (share.type == t) minors.push_back(share.minor);
    node.keep_only(t, minors);
  }
  return node;
}

Placement place_together(const DeviceTypes& types, const Allocator& allocator, const NodeRoom& room,
                         std::span<const Seeker> seekers, bool alike) {
  Placement placement = place_in_order(allocator, room, seekers, alike);
  if (placement.count == 0) return placement;
  if (!room.devices.unmanaged()) gather(types, allocator, room, seekers, placement);
  measure(types, room, placement);
  return placement;
}

int64_t score_placement(const Placement& placement, size_t seekers, bool has_fellows) {
  if (placement.count == 0 || seekers == 0) return 0;
  // First how many of those who need a place have room here, so that few nodes take all; then where
  // the others are; then how near their devices are; then what is left over.
  int64_t score = 70 * placement.count / static_cast<int64_t>(seekers);
  if (has_fellows) score += 15;
  score += 6 / std::max(placement.zones, 1) + 4 / std::max(placement.places, 1);
  return score + 5 * (100 - placement.idle) / 100;
}

}  // namespace plimsoll::devices

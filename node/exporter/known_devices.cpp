#include "node/exporter/known_devices.hpp"

#include <algorithm>

#include "node/report/node_kind.hpp"
#include "plugins/topology/report/facts.hpp"
#include "plugins/topology/report/nrt_object.hpp"

namespace plimsoll::node {

namespace kubelet = topology::kubelet;

void KnownDevices::restore(std::string_view nrt) {
  const auto object = topology::parse_nrt(nrt);
  if (!object) return;
  ResourceIndex resources;
  kubelet::FactsReader reader(
      [&](std::string_view name) { return resources.of(std::string(name)); });
  const kubelet::NodeFacts facts = reader.read(*object);
  for (const kubelet::DeviceType& type : facts.model->devices) {
    for (const kubelet::Device& device : type.devices) {
      if (device.id.empty()) continue;
      Known known;
      for (std::uint32_t column = 0; column < facts.model->zones(); ++column) {
        if ((device.zones >> column & 1) != 0) {
          known.zones.push_back(static_cast<int>(facts.model->zone_ids[column]));
        }
      }
      devices_[resources.name(type.resource)].try_emplace(device.id, std::move(known));
    }
  }
}

DeviceZones KnownDevices::unhealthy(const Allocatable& now, const Amounts& capacity) {
  ++round_;
  for (const auto& [resource, by_id] : now.devices) {
    for (const auto& [id, zones] : by_id) devices_[resource][id] = {zones, round_};
  }
  DeviceZones unhealthy;
  for (auto& [resource, by_id] : devices_) {
    std::vector<std::pair<std::uint64_t, std::string>> gone;
    for (const auto& [id, known] : by_id) {
      if (known.seen != round_) gone.emplace_back(known.seen, id);
    }
    const std::size_t healthy = by_id.size() - gone.size();
    const auto all =
        static_cast<std::size_t>(std::max<std::int64_t>(0, amount_of(capacity, resource)));
    std::sort(gone.begin(), gone.end());
    // Less than what is healthy: after a restart of the kubelet its Node lags behind.
    while (all >= healthy && !gone.empty() && healthy + gone.size() > all) {
      by_id.erase(gone.front().second);
      gone.erase(gone.begin());
    }
    for (const auto& [seen, id] : gone) unhealthy[resource][id] = by_id[id].zones;
  }
  std::erase_if(devices_, [](const auto& type) { return type.second.empty(); });
  return unhealthy;
}

}  // namespace plimsoll::node

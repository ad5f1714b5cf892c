#include "plugins/nodedevice/accounts/device_metrics.hpp"

namespace plimsoll::devices {
namespace {

constexpr std::array<std::string_view, 7> kStateNames{
    "free", "partly_used", "used", "set_aside", "unhealthy", "gone", "without_minor"};
constexpr size_t kWithoutMinor = 6;
constexpr std::array<std::string_view, 3> kObjectNames{"read", "unreadable", "gone"};

size_t state_of(const DeviceType& type, const DeviceState& device) {
  if (!device.present) return 5;
  if (!device.healthy) return 4;
  if (device.withheld) return 3;
  if (!device.in_use) return 0;
  if (device.whole_users > 0) return 2;
  for (size_t dim = 0; dim < type.dims.size(); ++dim)
    if (device.total.value[dim] > 0 && device.free.value[dim] == 0) return 2;
  return 1;
}

}  // namespace

DeviceMetrics::DeviceMetrics(const sdk::Host& host, const Accounts& accounts)
    : accounts_(accounts),
      devices_(host.gauge("devices", "Devices, by type and by what may be done with them",
                          {"type", "state"})),
      objects_(host.gauge("device_objects",
                          "Nodes with a Device object, by whether it can be read, and "
                          "nodes that had one",
                          {"state"})),
      problems_(host.counter("device_problems_total",
                             "Device objects and annotations that could not be read or are ignored",
                             {"object", "problem"})) {}

DeviceMetrics::Counts DeviceMetrics::count(const NodeState* node) const {
  Counts counts;
  if (node == nullptr) return counts;
  if (node->malformed)
    counts.objects[1] = 1;
  else if (node->object != nullptr)
    counts.objects[0] = 1;
  else if (node->gone)
    counts.objects[2] = 1;
  const DeviceTypes& types = accounts_.types();
  for (int t = 0; t < types.count(); ++t) {
    auto& by_state = counts.devices[static_cast<size_t>(t)];
    for (const DeviceState& device : node->type(t).devices)
      ++by_state[state_of(types.type(t), device)];
    if (node->object != nullptr)
      by_state[kWithoutMinor] = node->object->without_minor[static_cast<size_t>(t)];
  }
  return counts;
}

void DeviceMetrics::node_changed(uint32_t slot) {
  if (slot >= by_slot_.size()) by_slot_.resize(slot + size_t{1});
  const Counts now = count(accounts_.at_slot(slot));
  Counts& before = by_slot_[slot];
  const auto tell = [](int64_t& all, int64_t old_count, int64_t new_count, const auto& set) {
    if (old_count == new_count) return;
    all += new_count - old_count;
    set(static_cast<double>(all));
  };
  for (int t = 0; t < accounts_.types().count(); ++t) {
    const auto type = static_cast<size_t>(t);
    for (size_t state = 0; state < kStates; ++state)
      tell(all_.devices[type][state], before.devices[type][state], now.devices[type][state],
           [&](double value) {
             devices_.set(value, accounts_.types().type(t).name, kStateNames[state]);
           });
  }
  for (size_t state = 0; state < kObjects; ++state)
    tell(all_.objects[state], before.objects[state], now.objects[state],
         [&](double value) { objects_.set(value, kObjectNames[state]); });
  before = now;
}

void DeviceMetrics::problem(Problem problem) const {
  switch (problem) {
    case Problem::kDeviceUnreadable:
      return problems_.add(1, "Device", "unreadable");
    case Problem::kEntryUnreadable:
      return problems_.add(1, "Device", "entry_unreadable");
    case Problem::kPartitionsIgnored:
      return problems_.add(1, "Device", "partitions_ignored");
    case Problem::kCheckpointsIgnored:
      return problems_.add(1, "Device", "checkpoints_ignored");
    case Problem::kLinksIgnored:
      return problems_.add(1, "Device", "links_ignored");
    case Problem::kNodeLinksIgnored:
      return problems_.add(1, "Node", "links_ignored");
    case Problem::kOtherIgnored:
      return problems_.add(1, "Device", "other_ignored");
    case Problem::kAllocationUnreadable:
      return problems_.add(1, "Pod", "allocation_unreadable");
    case Problem::kAllocationIgnored:
      return problems_.add(1, "Pod", "allocation_ignored");
  }
}

DeviceMetrics::Problem DeviceMetrics::of_warning(std::string_view warning) {
  const auto about = [&](std::string_view key) { return warning.find(key) != warning.npos; };
  if (about(": spec.devices[")) return Problem::kEntryUnreadable;
  if (about("/gpu-partitions")) return Problem::kPartitionsIgnored;
  if (about("/device-links")) return Problem::kLinksIgnored;
  if (about("/devices-checkpoints") || about("/gpu-checkpoints"))
    return Problem::kCheckpointsIgnored;
  return Problem::kOtherIgnored;
}

}  // namespace plimsoll::devices

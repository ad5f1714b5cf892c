#include "node/machine/machine.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace plimsoll::node {
namespace {

Amounts memory_of(const MachineZone& zone) {
  Amounts amounts = zone.hugepages;
  amounts["memory"] = zone.memory;
  return amounts;
}

}  // namespace

std::optional<std::uint16_t> KubeletSettings::max_numa_nodes() const {
  constexpr int kDefault = 8;  // also the minimum that a kubelet accepts
  constexpr auto kMost = std::numeric_limits<std::uint16_t>::max();
  const auto found = topology_manager_options.find("max-allowable-numa-nodes");
  if (found == topology_manager_options.end()) return kDefault;
  std::string_view text = found->second;
  if (text.starts_with('+')) text.remove_prefix(1);  // as strconv.Atoi
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < kDefault) {
    return std::nullopt;
  }
  return static_cast<std::uint16_t>(std::min<std::int64_t>(number, kMost));
}

Amounts Machine::allocatable_memory(std::size_t column) const {
  const MachineZone& zone = hardware.zones[column];
  Amounts amounts = memory_of(zone);
  for (const auto& [type, bytes] : zone.hugepages) amounts["memory"] -= bytes;
  if (const auto reserved = kubelet.reserved_memory.find(zone.id);
      reserved != kubelet.reserved_memory.end()) {
    for (const auto& [type, bytes] : reserved->second) amounts[type] -= bytes;
  }
  for (auto& [type, bytes] : amounts) bytes = std::max<std::int64_t>(0, bytes);
  return amounts;
}

Amounts Machine::capacity() const {
  Amounts amounts;
  for (const MachineZone& zone : hardware.zones) add_amounts(amounts, memory_of(zone));
  amounts["cpu"] = static_cast<std::int64_t>(hardware.cpus.size()) * kMilli;
  amounts["pods"] = kubelet.max_pods;
  for (const MachineDevice& device : devices) ++amounts[device.resource];
  return amounts;
}

Amounts Machine::allocatable() const {
  Amounts amounts;
  for (std::size_t column = 0; column < hardware.zones.size(); ++column) {
    add_amounts(amounts, allocatable_memory(column));
  }
  amounts["cpu"] =
      static_cast<std::int64_t>(hardware.cpus.size() - kubelet.reserved_cpus.size()) * kMilli;
  amounts["pods"] = kubelet.max_pods;
  for (const MachineDevice& device : devices) amounts[device.resource] += device.healthy ? 1 : 0;
  return amounts;
}

}  // namespace plimsoll::node

#include "sandbox/use_meter.hpp"

#include <algorithm>

namespace plimsoll::sandbox {

void UseMeter::Total::advance(double seconds) {
  const double passed = std::max(0.0, seconds - since);
  used_seconds += static_cast<double>(used) * passed;
  if (nodes > 0) spread_seconds += spread / static_cast<double>(nodes) * passed;
  since = std::max(since, seconds);
}

void UseMeter::update(const std::string& node, const NodeReport& report, double seconds) {
  std::map<std::string, Zones> now;
  for (const ZoneReport& zone : report.zones) {
    for (const auto& [name, allocatable] : zone.allocatable) {
      if (allocatable <= 0) continue;
      const std::int64_t used = allocatable - amount_of(zone.available, name);
      const double share = static_cast<double>(used) / static_cast<double>(allocatable);
      const auto [at, fresh] = now.try_emplace(name);
      Zones& zones = at->second;
      zones.allocatable += allocatable;
      zones.used += used;
      zones.fullest = fresh ? share : std::max(zones.fullest, share);
      zones.emptiest = fresh ? share : std::min(zones.emptiest, share);
    }
  }
  forget(node, seconds);
  for (const auto& [name, zones] : now) {
    const auto [at, fresh] = totals_.try_emplace(name);
    Total& total = at->second;
    if (fresh) total.begin = total.since = seconds;
    total.advance(seconds);
    total.allocatable += zones.allocatable;
    total.used += zones.used;
    total.spread += zones.fullest - zones.emptiest;
    ++total.nodes;
    total.peak = std::max(total.peak, total.used);
  }
  nodes_[node] = std::move(now);
}

void UseMeter::forget(const std::string& node, double seconds) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  for (const auto& [name, zones] : found->second) {
    Total& total = totals_[name];
    total.advance(seconds);
    total.allocatable -= zones.allocatable;
    total.used -= zones.used;
    total.spread -= zones.fullest - zones.emptiest;
    --total.nodes;
  }
  nodes_.erase(found);
}

std::map<std::string, ZoneUse> UseMeter::result(double seconds) const {
  std::map<std::string, ZoneUse> result;
  for (auto [name, total] : totals_) {
    total.advance(seconds);
    ZoneUse& use = result[name];
    use.allocatable = total.allocatable;
    use.used = total.used;
    use.peak = total.peak;
    const double time = total.since - total.begin;
    use.mean = time > 0 ? total.used_seconds / time : static_cast<double>(total.used);
    if (total.nodes > 0) {
      use.spread =
          time > 0 ? total.spread_seconds / time : total.spread / static_cast<double>(total.nodes);
    }
    bool first = true;
    for (const auto& [node, resources] : nodes_) {
      const auto zones = resources.find(name);
      if (zones == resources.end()) continue;
      use.fullest = first ? zones->second.fullest : std::max(use.fullest, zones->second.fullest);
      use.emptiest =
          first ? zones->second.emptiest : std::min(use.emptiest, zones->second.emptiest);
      first = false;
    }
  }
  return result;
}

}  // namespace plimsoll::sandbox

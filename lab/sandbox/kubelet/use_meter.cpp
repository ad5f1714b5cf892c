#include "lab/sandbox/kubelet/use_meter.hpp"

#include <algorithm>

namespace plimsoll::sandbox {

void UseMeter::Total::pass(double seconds) {
  used_seconds += static_cast<double>(used) * seconds;
  if (nodes > 0) spread_seconds += spread / static_cast<double>(nodes) * seconds;
}

void UseMeter::advance(double seconds) {
  if (!running_ || seconds <= since_) return;
  for (auto& [name, total] : totals_) total.pass(seconds - since_);
  since_ = seconds;
}

void UseMeter::update(const std::string& node, const node::NodeReport& report, double seconds) {
  std::map<std::string, Zones> now;
  for (const node::ZoneReport& zone : report.zones) {
    for (const auto& [name, allocatable] : zone.allocatable) {
      if (allocatable <= 0) continue;
      const std::int64_t used = allocatable - node::amount_of(zone.available, name);
      const double share = static_cast<double>(used) / static_cast<double>(allocatable);
      const auto [at, fresh] = now.try_emplace(name);
      Zones& zones = at->second;
      zones.allocatable += allocatable;
      zones.used += used;
      zones.fullest = fresh ? share : std::max(zones.fullest, share);
      zones.emptiest = fresh ? share : std::min(zones.emptiest, share);
    }
  }
  if (!running_ && nodes_.contains(node)) {
    running_ = true;
    begin_ = since_ = seconds;
  }
  advance(seconds);
  take_out(node);
  for (const auto& [name, zones] : now) {
    Total& total = totals_[name];
    total.allocatable += zones.allocatable;
    total.used += zones.used;
    total.spread += zones.fullest - zones.emptiest;
    ++total.nodes;
    total.peak = std::max(total.peak, total.used);
  }
  nodes_[node] = std::move(now);
}

void UseMeter::forget(const std::string& node, double seconds) {
  advance(seconds);
  take_out(node);
}

void UseMeter::take_out(const std::string& node) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  for (const auto& [name, zones] : found->second) {
    Total& total = totals_[name];
    total.allocatable -= zones.allocatable;
    total.used -= zones.used;
    total.spread -= zones.fullest - zones.emptiest;
    --total.nodes;
  }
  nodes_.erase(found);
}

std::map<std::string, ZoneUse> UseMeter::result() const {
  std::map<std::string, ZoneUse> result;
  const double time = since_ - begin_;
  for (const auto& [name, total] : totals_) {
    ZoneUse& use = result[name];
    use.allocatable = total.allocatable;
    use.used = total.used;
    use.peak = total.peak;
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

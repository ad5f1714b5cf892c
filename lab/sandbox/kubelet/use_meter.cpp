#include "lab/sandbox/kubelet/use_meter.hpp"

#include <algorithm>

namespace plimsoll::sandbox {

void UseMeter::Total::begin() {
  used_seconds = spread_seconds = 0;
  peak = used;
}

void UseMeter::Total::pass(double seconds) {
  used_seconds += static_cast<double>(used) * seconds;
  if (nodes > 0) spread_seconds += spread / static_cast<double>(nodes) * seconds;
}

void UseMeter::advance(double seconds) {
  if (seconds <= since_) return;
  // The moment of the last mark is over.
  if (last_mark_ == since_) at_last_mark_ = totals_;
  for (auto& [name, total] : totals_) total.pass(seconds - since_);
  since_ = seconds;
}

void UseMeter::mark(double seconds) {
  advance(seconds);
  if (first_mark_ < 0) {
    first_mark_ = since_;
    for (auto& [name, total] : totals_) total.begin();
  }
  last_mark_ = since_;
  at_last_mark_.clear();
}

const std::map<std::string, UseMeter::Total>& UseMeter::marked() const {
  return last_mark_ >= 0 && last_mark_ < since_ ? at_last_mark_ : totals_;
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
  const double time = last_mark_ - first_mark_;
  for (const auto& [name, total] : totals_) {
    ZoneUse& use = result[name];
    use.allocatable = total.allocatable;
    use.used = total.used;
    const auto found = marked().find(name);
    const Total then = found == marked().end() ? Total() : found->second;
    const double spread = then.nodes > 0 ? then.spread / static_cast<double>(then.nodes) : 0;
    use.peak = then.peak;
    use.mean = time > 0 ? then.used_seconds / time : static_cast<double>(then.used);
    use.spread = time > 0 ? then.spread_seconds / time : spread;
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

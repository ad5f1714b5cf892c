#include <plimsoll/resource_names.hpp>
#include <utility>

#include "plugins/dynamicresources/dynamicresources.hpp"

// The part of DynamicResources that is about extended resources with a DeviceClass behind them.
namespace plimsoll::dra {

using sdk::Pod;
using sdk::view;

std::vector<DynamicResources::Extended> DynamicResources::extended_of(Pod pod) const {
  std::vector<Extended> all;
  bool any = false;
  for (const plimsoll_resource& each : pod.requests()) {
    if (each.value == 0 || each.index <= PLIMSOLL_RESOURCE_PODS) continue;  // a node's own
    const std::string_view name = view(each.name);
    std::string device_class = store_->class_behind(name);
    any = any || !device_class.empty();
    if (device_class.empty() && !sdk::is_extended_resource(name)) continue;
    all.push_back({std::string(name), each.index, std::move(device_class)});
  }
  if (!any) all.clear();
  return all;
}

std::optional<std::string> DynamicResources::from_devices(const Attempt& attempt, sdk::Node node) {
  std::string which;
  for (const Extended& each : attempt.extended) {
    const bool has = each.index != PLIMSOLL_RESOURCE_OF_NO_NODE && node.allocatable(each.index) > 0;
    if (!has && each.device_class.empty()) return std::nullopt;
    which += has ? '0' : '1';
  }
  if (which.find('1') == std::string::npos) which.clear();
  return which;
}

DynamicResources::Variant& DynamicResources::variant(Attempt& attempt, Pod pod,
                                                     const std::string& which) const {
  auto& [last, last_made] = attempt.last;
  if (last_made != nullptr && last == which) return *last_made;
  const auto [at, is_new] = attempt.variants.try_emplace(which);
  Variant& made = at->second;
  attempt.last = {which, &made};
  if (!is_new) return made;
  add_asks(attempt, pod, which, made);
  if (!made.asks.empty()) made.allocator = store_->allocator(made.asks);
  return made;
}

void DynamicResources::add_asks(const Attempt& attempt, Pod pod, const std::string& which,
                                Variant& made) {
  made.asks = attempt.asks;
  if (which.empty()) return;
  std::map<std::string, std::string> classes;
  for (size_t i = 0; i < which.size(); ++i) {
    const Extended& each = attempt.extended[i];
    if (which[i] == '1') classes.emplace(each.resource, each.device_class);
  }
  made.ask = std::make_shared<const ExtendedAsk>(extended_ask(pod, classes));
  made.claim.space = pod.ns();
  made.claim.name = kUnnamed;
  made.claim.requests = made.ask->requests;
  made.asks.push_back(&made.claim);
}

}  // namespace plimsoll::dra

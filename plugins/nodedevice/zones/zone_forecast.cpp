#include "plugins/nodedevice/zones/zone_forecast.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll::devices {
namespace {

using sdk::Pod;
using sdk::str;
using sdk::view;

// Which types of devices a container asks for.
uint32_t types_asked(const plimsoll_container& container, const DeviceTypes& types) {
  uint32_t asked = 0;
  for (const plimsoll_list& list : {container.requests, container.limits})
    for (const plimsoll_resource& resource : sdk::List<plimsoll_resource>(list))
      if (const auto found = types.find_request(view(resource.name)); found && resource.value > 0)
        asked |= 1U << found->first;
  return asked;
}

// By container, init containers first.
std::vector<uint32_t> types_asked(Pod pod, const DeviceTypes& types) {
  std::vector<uint32_t> asked;
  for (const plimsoll_list& list : {pod->init_containers, pod->containers})
    for (const plimsoll_container& container : sdk::List<plimsoll_container>(list))
      asked.push_back(types_asked(container, types));
  return asked;
}

// The type that a resource which the kubelet itself hands out belongs to; -1: none.
int type_of_resource(Pod pod, const DeviceTypes& types, uint32_t resource) {
  for (const plimsoll_list& list : {pod->init_containers, pod->containers})
    for (const plimsoll_container& container : sdk::List<plimsoll_container>(list))
      for (const plimsoll_list& amounts : {container.requests, container.limits})
        for (const plimsoll_resource& each : sdk::List<plimsoll_resource>(amounts))
          if (each.index == resource)
            if (const auto found = types.find_request(view(each.name))) return found->first;
  return -1;
}

}  // namespace

ZoneForecast::ZoneForecast(sdk::Host host, std::function<void()> on_freed)
    : host_(std::move(host)), on_freed_(std::move(on_freed)) {}

ZoneForecast::~ZoneForecast() {
  if (ledger_ != nullptr) ledger_->unsubscribe(this);
}

void ZoneForecast::look() {
  if (ledger_ != nullptr) return;
  ledger_ = topology::LedgerService::find(host_);
  if (ledger_ != nullptr) ledger_->subscribe(this);
}

LedgerPod ZoneForecast::ask(Pod pod) const {
  if (ledger_ == nullptr) return {};
  return {ledger_->inquire(*pod, topology::WithoutReport::kPass), 0, 0};
}

ZoneForecast::WhatIf ZoneForecast::what_if(uint32_t slot,
                                           const LedgerChanges::Changes* changes) const {
  WhatIf what_if;
  if (changes == nullptr) return what_if;
  for (const LedgerChanges::Change& change : *changes) {
    const bool there = ledger_->ask().holds(slot, change.uid);
    if (there && change.net < 0) what_if.without.push_back(str(change.uid));
    if (!there && change.net > 0 && change.demand != nullptr)
      what_if.with.push_back(change.demand->inquiry);
  }
  return what_if;
}

PodZones ZoneForecast::zones(uint32_t slot, Pod pod, const LedgerPod& asked,
                             const DeviceTypes& types,
                             const LedgerChanges::Changes* changes) const {
  PodZones zones;
  if (ledger_ == nullptr || asked.inquiry == nullptr) return zones;
  const WhatIf then = what_if(slot, changes);
  const auto known = ledger_->ask().where(slot, *asked.inquiry, pod.uid(), then.without, then.with);
  zones.is_doubtful = !known && !then.without.empty() && ledger_->ask().node(slot) != nullptr;
  if (!known) return zones;
  zones.spread = known->spread;
  const std::vector<uint32_t> by_container = types_asked(pod, types);
  std::array<ZoneSet, kMaxTypes> handed_out{};  // by the kubelet itself
  for (const plimsoll_numa_place& place : known->places) {
    // What ends before the others run leaves its zones.
    if (place.kind == PLIMSOLL_CONTAINER_INIT) continue;
    zones.all |= place.zones;
    if (const int type = type_of_resource(pod, types, place.resource); type >= 0)
      handed_out[static_cast<size_t>(type)] |= place.zones;
    if (place.container >= by_container.size()) continue;
    for (int type = 0; type < types.count(); ++type)
      if ((by_container[place.container] >> type & 1) != 0)
        zones.of_type[static_cast<size_t>(type)] |= place.zones;
  }
  for (size_t type = 0; type < handed_out.size(); ++type)
    if (handed_out[type] != 0) zones.of_type[type] = handed_out[type];
  return zones;
}

OtherPods ZoneForecast::others(uint32_t slot, Pod pod,
                               const LedgerChanges::Changes* changes) const {
  OtherPods others;
  if (ledger_ == nullptr) return others;
  WhatIf then = what_if(slot, changes);
  then.without.push_back(str(pod.uid()));
  const topology::OccupiedZones occupied = ledger_->ask().occupied(slot, then.without);
  others.by_single = occupied.by_single;
  others.by_spread = occupied.by_spread;
  return others;
}

ZoneSet ZoneForecast::zones_on_record(std::string_view uid) const {
  ZoneSet zones = 0;
  if (ledger_ == nullptr) return zones;
  const std::vector<topology::Charge>* charges = ledger_->ask().charges_of(uid);
  if (charges == nullptr) return zones;
  for (const topology::Charge& charge : *charges)
    if (charge.amount > 0) zones |= zone_bit(static_cast<int>(charge.zone_id));
  return zones;
}

}  // namespace plimsoll::devices

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
    : host_(std::move(host)), on_freed_(std::move(on_freed)) {
  listener_.size = sizeof listener_;
  listener_.ctx = this;
  // Called from another module: no exception may pass.
  listener_.freed = [](void* ctx, uint32_t) {
    const auto& self = *static_cast<ZoneForecast*>(ctx);
    try {
      self.on_freed_();
    } catch (const std::exception& error) {
      self.host_.error_log(error.what());
    }
  };
  listener_.closed = [](void* ctx) { static_cast<ZoneForecast*>(ctx)->ledger_ = nullptr; };
}

ZoneForecast::~ZoneForecast() {
  if (ledger_ != nullptr) ledger_->unsubscribe(ledger_->ctx, &listener_);
}

void ZoneForecast::look() {
  if (ledger_ != nullptr) return;
  ledger_ = host_.find_service<plimsoll_numa_ledger>(PLIMSOLL_NUMA_LEDGER_SERVICE,
                                                     PLIMSOLL_NUMA_LEDGER_VERSION);
  if (ledger_ != nullptr) ledger_->subscribe(ledger_->ctx, &listener_);
}

LedgerPod ZoneForecast::ask(Pod pod) const {
  if (ledger_ == nullptr) return {};
  plimsoll_numa_inquiry* made = ledger_->inquire(ledger_->ctx, &*pod);
  if (made == nullptr) return {};
  return {std::shared_ptr<plimsoll_numa_inquiry>(made, ledger_->inquiry_free)};
}

ZoneForecast::WhatIf ZoneForecast::what_if(uint32_t slot,
                                           const LedgerChanges::Changes* changes) const {
  WhatIf what_if;
  if (changes == nullptr) return what_if;
  for (const LedgerChanges::Change& change : *changes) {
    const bool there = ledger_->holds(ledger_->ctx, slot, str(change.uid)) != 0;
    if (there && change.net < 0) what_if.without.push_back(str(change.uid));
    if (!there && change.net > 0 && change.demand != nullptr && change.demand->inquiry != nullptr)
      what_if.with.push_back(change.demand->inquiry.get());
  }
  return what_if;
}

PodZones ZoneForecast::zones(uint32_t slot, Pod pod, const LedgerPod& asked,
                             const DeviceTypes& types,
                             const LedgerChanges::Changes* changes) const {
  PodZones zones;
  if (ledger_ == nullptr || asked.inquiry == nullptr) return zones;
  std::vector<plimsoll_numa_place> places;
  const auto put = [](void* sink, const plimsoll_numa_place* place) {
    static_cast<std::vector<plimsoll_numa_place>*>(sink)->push_back(*place);
  };
  const WhatIf then = what_if(slot, changes);
  const uint32_t known =
      ledger_->where(ledger_->ctx, slot, asked.inquiry.get(), str(pod.uid()), then.without.data(),
                     static_cast<uint32_t>(then.without.size()), then.with.data(),
                     static_cast<uint32_t>(then.with.size()), put, &places);
  if (known == PLIMSOLL_NUMA_PLACE_UNKNOWN) return zones;
  zones.spread = known == PLIMSOLL_NUMA_PLACE_SPREAD;
  const std::vector<uint32_t> by_container = types_asked(pod, types);
  std::array<ZoneSet, kMaxTypes> handed_out{};  // by the kubelet itself
  for (const plimsoll_numa_place& place : places) {
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
  ledger_->occupied(ledger_->ctx, slot, then.without.data(),
                    static_cast<uint32_t>(then.without.size()), &others.by_single,
                    &others.by_spread);
  return others;
}

ZoneSet ZoneForecast::zones_on_record(std::string_view uid) const {
  ZoneSet zones = 0;
  if (ledger_ == nullptr) return zones;
  const auto put = [](void* sink, const plimsoll_numa_charge* charge) {
    if (charge->amount > 0)
      *static_cast<ZoneSet*>(sink) |= zone_bit(static_cast<int>(charge->zone_id));
  };
  ledger_->promised(ledger_->ctx, str(uid), put, &zones);
  return zones;
}

}  // namespace plimsoll::devices

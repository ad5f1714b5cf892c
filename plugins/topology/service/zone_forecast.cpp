#include "plugins/topology/service/zone_forecast.hpp"

#include <deque>
#include <memory>
#include <plimsoll/views.hpp>
#include <utility>
#include <vector>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/service/ledger_owner.hpp"

namespace plimsoll::topology {
namespace {

using Asked = std::shared_ptr<Inquiry>;

const LedgerOwner* ledger_of(void* self) {
  return static_cast<const LedgerOwner*>(self);
}

void* ask(void* self, const plimsoll_pod* pod) {
  if (self == nullptr) return nullptr;
  Asked asked = ledger_of(self)->inquire(*pod, WithoutReport::kPass);
  return asked == nullptr ? nullptr : new Asked(std::move(asked));
}

void end(void*, void* asked) {
  delete static_cast<Asked*>(asked);
}

int32_t zones(void* self, void* asked, uint32_t slot, plimsoll_str pod_uid, uint64_t* mask) {
  *mask = 0;
  if (asked == nullptr) return 0;
  if (self == nullptr) return -1;
  const auto known =
      ledger_of(self)->ask().where(slot, **static_cast<Asked*>(asked), sdk::view(pod_uid), {}, {});
  if (!known) return -1;
  for (const plimsoll_numa_place& place : known->places) {
    // What ends before the others run leaves its zones.
    if (place.kind != PLIMSOLL_CONTAINER_INIT) *mask |= place.zones;
  }
  return *mask != 0 ? 1 : 0;
}

void hold(void* self, plimsoll_list holdings) {
  auto* owner = static_cast<LedgerOwner*>(self);
  if (owner == nullptr) return;
  std::vector<Ledger::Holding> all;
  for (const auto& holding : sdk::List<plimsoll_zone_holding>(holdings)) {
    Ledger::Holding& now = all.emplace_back(Ledger::Holding{
        sdk::view(holding.holder), sdk::view(holding.node), sdk::view(holding.pod_uid), {}});
    for (const auto& each : sdk::List<plimsoll_zone_amount>(holding.amounts)) {
      const int64_t amount = clamp_amount(each.amount);
      if (amount <= 0) continue;
      now.charges.push_back(
          {each.zone, owner->host.resource_index(sdk::view(each.resource)), amount, amount});
    }
  }
  owner->ledger.hold(std::move(all), owner->host.now_ms());
  owner->tell_changes();
}

}  // namespace

PublishedForecast::PublishedForecast(const sdk::Host& host, LedgerOwner& ledger) {
  static std::deque<plimsoll_zone_forecast> tables;  // a service stays as long as the process
  const auto* known = host.find_service<plimsoll_zone_forecast>(PLIMSOLL_ZONE_FORECAST_SERVICE,
                                                                PLIMSOLL_ZONE_FORECAST_VERSION);
  const bool ours = known != nullptr && known->zones == &zones;
  table_ = ours ? const_cast<plimsoll_zone_forecast*>(known) : &tables.emplace_back();
  *table_ = {sizeof *table_, 0, &ledger, &ask, &end, &zones, &hold};
  if (!ours) {
    (void)host.publish(PLIMSOLL_ZONE_FORECAST_SERVICE, PLIMSOLL_ZONE_FORECAST_VERSION, table_);
  }
}

}  // namespace plimsoll::topology

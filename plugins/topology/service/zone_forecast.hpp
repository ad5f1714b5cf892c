#pragma once
// The ledger's forecast of zones for plugins of others (<plimsoll/services/zone_forecast.h>).

#include <plimsoll/services/zone_forecast.h>
#include <plimsoll/host.hpp>

namespace plimsoll::topology {

class LedgerOwner;

// Publishes it for as long as it lives; the ledger outlives it. Loop only.
class PublishedForecast {
 public:
  PublishedForecast(const sdk::Host& host, LedgerOwner& ledger);
  ~PublishedForecast() { table_->self = nullptr; }
  PublishedForecast(const PublishedForecast&) = delete;
  PublishedForecast& operator=(const PublishedForecast&) = delete;

 private:
  plimsoll_zone_forecast* table_;
};

}  // namespace plimsoll::topology

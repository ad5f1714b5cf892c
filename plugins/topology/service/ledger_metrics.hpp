#pragma once
// The ledger's counts as metrics of its host. Loop only.

#include <plimsoll/host.hpp>

#include "plugins/topology/ledger/ledger.hpp"

namespace plimsoll::topology {

class LedgerMetrics {
 public:
  explicit LedgerMetrics(const sdk::Host& host);
  // Tells the host what changed since the last call.
  void update(const LedgerStats& now, const Ledger::Changes& changes);

 private:
  sdk::CounterMetric reports_;
  sdk::CounterMetric settled_;
  sdk::CounterMetric predictions_;
  sdk::CounterMetric refused_;
  sdk::GaugeMetric promises_;
  sdk::GaugeMetric doubtful_;
  sdk::HistogramMetric waited_;
  LedgerStats told_;
};

}  // namespace plimsoll::topology

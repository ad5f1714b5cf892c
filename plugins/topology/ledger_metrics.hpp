#pragma once
// The ledger's counts as metrics of its host. Loop only.

#include <plimsoll/host.hpp>

#include "plugins/topology/ledger.hpp"

namespace plimsoll::topology {

class LedgerMetrics {
 public:
  explicit LedgerMetrics(const sdk::Host& host);
  // Tells the host what changed since the last call.
  void update(const Ledger& ledger);

 private:
  sdk::CounterMetric reports_;
  sdk::CounterMetric settled_;
  sdk::CounterMetric predictions_;
  sdk::CounterMetric refused_;
  sdk::GaugeMetric promises_;
  sdk::GaugeMetric doubtful_;
  LedgerStats told_;
  uint64_t told_promises_ = UINT64_MAX;  // so that all gauges are told at first
  Ledger::Doubts told_doubts_{SIZE_MAX, SIZE_MAX, SIZE_MAX};
};

}  // namespace plimsoll::topology

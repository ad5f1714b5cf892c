#include "plugins/topology/ledger_metrics.hpp"

namespace plimsoll::topology {
namespace {

template <typename... Labels>
void tell(const sdk::CounterMetric& metric, uint64_t& told, uint64_t now, const Labels&... labels) {
  if (now == told) return;
  metric.add(static_cast<double>(now - told), labels...);
  told = now;
}

}  // namespace

LedgerMetrics::LedgerMetrics(const sdk::Host& host)
    : reports_(host.counter("numa_reports_total",
                            "NodeResourceTopology reports, by whether their fingerprint is that of "
                            "pods known on the node",
                            {"result"})),
      settled_(host.counter("numa_promises_settled_total",
                            "Promises of zones that a report took over, by the evidence", {"by"})),
      predictions_(host.counter("numa_predictions_total",
                                "Predicted zones of pods, by what the next report said",
                                {"result"})),
      refused_(
          host.counter("numa_pods_refused_total",
                       "Pods on watched nodes that a kubelet refused for want of zones, by its "
                       "reason",
                       {"reason"})),
      promises_(host.gauge("numa_promises", "Promises of zones that no report counts yet")),
      doubtful_(host.gauge("numa_uncertain_nodes",
                           "Nodes of which more than one state is possible, by why", {"because"})) {
}

void LedgerMetrics::update(const Ledger& ledger) {
  const LedgerStats& now = ledger.stats();
  tell(reports_, told_.unexplained_reports, now.unexplained_reports, "unexplained");
  uint64_t explained = told_.reports;
  tell(reports_, explained, now.reports, "read");
  told_.reports = explained;
  tell(settled_, told_.settled_by_fingerprint, now.settled_by_fingerprint, "fingerprint");
  tell(settled_, told_.settled_by_drop, now.settled_by_drop, "drop");
  tell(settled_, told_.settled_by_age, now.settled_by_age, "age");
  tell(predictions_, told_.predictions_confirmed, now.predictions_confirmed, "confirmed");
  tell(predictions_, told_.predictions_refuted, now.predictions_refuted, "refuted");
  tell(refused_, told_.refused_affinity, now.refused_affinity, "TopologyAffinityError");
  tell(refused_, told_.refused_smt, now.refused_smt, "SMTAlignmentError");
  tell(refused_, told_.refused_unexpected, now.refused_unexpected, "UnexpectedAdmissionError");
  if (told_promises_ != ledger.pending_promises()) {
    told_promises_ = ledger.pending_promises();
    promises_.set(static_cast<double>(told_promises_));
  }
  const Ledger::Doubts& doubts = ledger.doubts();
  const auto set = [this](size_t& told, size_t nodes, std::string_view because) {
    if (told == nodes) return;
    told = nodes;
    doubtful_.set(static_cast<double>(nodes), because);
  };
  set(told_doubts_.several_worlds, doubts.several_worlds, "order");
  set(told_doubts_.blurred, doubts.blurred, "unknown");
  set(told_doubts_.refused, doubts.refused, "refusal");
}

}  // namespace plimsoll::topology

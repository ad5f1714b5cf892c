#include "plugins/topology/service/ledger_metrics.hpp"

namespace plimsoll::topology {
namespace {

template <typename... Labels>
void tell(const sdk::CounterMetric& metric, uint64_t& told, uint64_t now, const Labels&... labels) {
  if (now == told) return;
  metric.add(static_cast<double>(now - told), labels...);
  told = now;
}

std::string_view word_of(NodeRecord::Doubt doubt) {
  return doubt == NodeRecord::Doubt::kOrder     ? "order"
         : doubt == NodeRecord::Doubt::kUnknown ? "unknown"
         : doubt == NodeRecord::Doubt::kAway    ? "away"
         : doubt == NodeRecord::Doubt::kGone    ? "gone"
                                                : "refusal";
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
                           "Nodes of which more than one state is possible, by why", {"because"})),
      waited_(host.histogram("numa_uncertain_seconds",
                             "How long more than one state was possible of nodes for which a pod "
                             "had to wait because of that, by why",
                             {0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300}, {"because"})) {
  // An alert looks at what comes to these, so they are there before it comes.
  for (const std::string_view reason :
       {"TopologyAffinityError", "SMTAlignmentError", "UnexpectedAdmissionError"}) {
    refused_.add(0, reason);
  }
  // So that all gauges are told at first.
  told_.promises = told_.uncertain_order = UINT64_MAX;
  told_.uncertain_unknown = told_.uncertain_refused = UINT64_MAX;
  told_.uncertain_away = told_.uncertain_gone = UINT64_MAX;
}

void LedgerMetrics::update(const LedgerStats& now, const Ledger::Changes& changes) {
  tell(reports_, told_.unexplained_reports, now.unexplained_reports, "unexplained");
  uint64_t explained = told_.reports;
  tell(reports_, explained, now.reports, "read");
  told_.reports = explained;
  tell(settled_, told_.settled_by_uid, now.settled_by_uid, "uid");
  tell(settled_, told_.settled_by_fingerprint, now.settled_by_fingerprint, "fingerprint");
  tell(settled_, told_.settled_by_age, now.settled_by_age, "age");
  tell(predictions_, told_.predictions_confirmed, now.predictions_confirmed, "confirmed");
  tell(predictions_, told_.predictions_refuted, now.predictions_refuted, "refuted");
  tell(refused_, told_.refused_affinity, now.refused_affinity, "TopologyAffinityError");
  tell(refused_, told_.refused_smt, now.refused_smt, "SMTAlignmentError");
  tell(refused_, told_.refused_unexpected, now.refused_unexpected, "UnexpectedAdmissionError");
  const auto set = [](const sdk::GaugeMetric& gauge, uint64_t& told, uint64_t value,
                      auto... labels) {
    if (told == value) return;
    told = value;
    gauge.set(static_cast<double>(value), labels...);
  };
  set(promises_, told_.promises, now.promises);
  set(doubtful_, told_.uncertain_order, now.uncertain_order, std::string_view("order"));
  set(doubtful_, told_.uncertain_unknown, now.uncertain_unknown, std::string_view("unknown"));
  set(doubtful_, told_.uncertain_refused, now.uncertain_refused, std::string_view("refusal"));
  set(doubtful_, told_.uncertain_away, now.uncertain_away, std::string_view("away"));
  set(doubtful_, told_.uncertain_gone, now.uncertain_gone, std::string_view("gone"));
  for (const Ledger::Changes::Certain& node : changes.certain) {
    waited_.observe_value(static_cast<double>(node.ms) / 1000, word_of(node.because));
  }
}

}  // namespace plimsoll::topology

#include "plugins/builtin/spreading/spread_filter.hpp"

#include "plugins/builtin/census/row_slots.hpp"
#include "plugins/builtin/columns/label_tests.hpp"

namespace plimsoll::builtin {

using namespace sdk;

namespace {

enum DomainVerdict : uint8_t { kFits, kMissing, kTooMany };

}  // namespace

SpreadFilter::SpreadFilter(const plimsoll_pod& pod, const SpreadConstraints& constraints,
                           Census& census) {
  const std::vector<NodeRule> rules = constraints.rules(pod, true, census);
  for (const SpreadConstraint& each : constraints.all()) {
    const NodeRule& rule = rules[limits_.size()];
    Limit& limit = limits_.emplace_back();
    limit.table = census.counts(each.selection(pod), each.key, rule);
    limit.max_skew = each.max_skew;
    limit.self = each.match(pod.meta.labels) ? 1 : 0;
    limit.min_domains = each.min_domains;
    limit.find_most();
    compared_.count(limit.table->pods->spec());
  }
}

// With fewer domains than minDomains, the least counts as 0.
void SpreadFilter::Limit::find_most() {
  const DomainCounts& counts = table->counts;
  const bool too_few = counts.nodes().domain_count() < static_cast<size_t>(min_domains);
  most = max_skew - self + (too_few ? 0 : counts.minimum(changes));
}

bool SpreadFilter::change(const plimsoll_pod& pod, int64_t pods, uint32_t slot,
                          const Namespaces& namespaces) {
  if (!compared_.add_one()) return false;
  for (Limit& limit : limits_) {
    const uint32_t domain = limit.table->counts.nodes().domain(slot);
    if (domain == TopologyKey::kNone) continue;
    if (!limit.table->pods->spec().select(PodTraits::of(pod), namespaces)) continue;
    add_change(limit.changes, domain, pods);
    limit.find_most();
  }
  return true;
}

void SpreadFilter::filter(Nodes nodes, Verdicts verdicts, const SpreadReasons& reasons) const {
  for (const Limit& limit : limits_) {
    if (nodes.size() >= kFewNodes) {
      limit.filter_all(nodes, verdicts, reasons);
      continue;
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!verdicts.open(i)) continue;
      const uint32_t domain = limit.key().domain(nodes[i].slot());
      if (domain == TopologyKey::kNone) {
        verdicts.set(i, Status::unresolvable(reasons.missing_label));
      } else if (limit.exceeded_in(domain)) {
        verdicts.set(i, Status::unschedulable(reasons.too_many));
      }
    }
  }
}

// Once for each domain, then a look at the node's domain.
void SpreadFilter::Limit::filter_all(Nodes nodes, Verdicts verdicts,
                                     const SpreadReasons& reasons) const {
  thread_local std::vector<uint8_t> by_domain;  // kept, so that a call allocates nothing
  by_domain.assign(key().bound(), most < 0 ? kTooMany : kFits);
  by_domain[TopologyKey::kNone] = kMissing;
  table->counts.for_each([&](uint32_t domain, uint32_t pods) {
    by_domain[domain] = int64_t{pods} > most ? kTooMany : kFits;
  });
  for (const CountChange& change : changes) {
    by_domain[change.domain] = exceeded_in(change.domain) ? kTooMany : kFits;
  }
  const uint8_t* const verdict_of = by_domain.data();
  for_each_domain(nodes, key(), [&, verdict_of](size_t row, uint32_t domain) {
    const uint8_t verdict = verdict_of[domain];
    if (verdict == kFits || !verdicts.open(row)) return;
    verdicts.set(row, verdict == kMissing ? Status::unresolvable(reasons.missing_label)
                                          : Status::unschedulable(reasons.too_many));
  });
}

}  // namespace plimsoll::builtin

#include "plugins/builtin/spreading/spread_score.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/builtin/census/row_slots.hpp"
#include "plugins/builtin/columns/column_loops.hpp"

namespace plimsoll::builtin {

using namespace sdk;

namespace {

// topologyNormalizingWeight: the more domains, the less a pod more in one of them matters.
double weight_for(size_t domains) {
  return std::log(static_cast<double>(domains + 2));
}

}  // namespace

SpreadScore::SpreadScore(const plimsoll_pod& pod, const SpreadConstraints& constraints,
                         bool all_keys, Nodes nodes, Census& census) {
  node_count_ = census.topology().node_count();
  for (const SpreadConstraint& each : constraints.all()) {
    Part& part = parts_.emplace_back();
    part.label = part.index = census.topology().key(each.key);
    if (all_keys && part.label->nodes_with_it() != node_count_) ignores_some_ = true;
  }
  const RowSlots slots(nodes);
  size_t scored = nodes.size();
  for (size_t i = 0; ignores_some_ && i < nodes.size(); ++i) {
    if (ignores(slots[i])) --scored;
  }
  const std::vector<NodeRule> rules = constraints.rules(pod, all_keys, census);
  for (size_t i = 0; i < parts_.size(); ++i) {
    const SpreadConstraint& constraint = constraints.all()[i];
    Part& part = parts_[i];
    const bool by_node = constraint.key == kHostnameLabel;
    const SelectionSpec selection = constraint.selection(pod);
    const SelectedCountsRef table = by_node ? census.counts(selection, Topology::kEachNode)
                                            : census.counts(selection, constraint.key, rules[i]);
    if (by_node) part.index = census.topology().key(Topology::kEachNode);
    const double weight = weight_for(by_node ? scored : domains_among(nodes, *part.label));
    const double base = constraint.max_skew - 1;
    part.amounts.assign(part.index->bound(), base);
    table->counts.for_each([&](uint32_t domain, uint32_t pods) {
      part.amounts[domain] = static_cast<double>(pods) * weight + base;
    });
  }
}

bool SpreadScore::ignores(uint32_t slot) const {
  return std::any_of(parts_.begin(), parts_.end(), [slot](const Part& part) {
    return part.label->domain(slot) == TopologyKey::kNone;
  });
}

// Of those nodes that get a score; having no domain counts as one.
size_t SpreadScore::domains_among(Nodes nodes, const TopologyKey& key) const {
  const RowSlots slots(nodes);
  const bool some_lack_it = key.nodes_with_it() != node_count_;
  const size_t most = key.domains_in_use() + (some_lack_it ? 1 : 0);
  std::vector<uint8_t> seen(key.bound(), 0);
  size_t domains = 0;
  for (size_t i = 0; i < nodes.size() && domains < most; ++i) {
    const uint32_t slot = slots[i];
    uint8_t& here = seen[key.domain(slot)];
    if (here != 0 || (ignores_some_ && ignores(slot))) continue;
    here = 1;
    ++domains;
  }
  return domains;
}

void SpreadScore::score(Nodes nodes, std::span<int64_t> scores) const {
  thread_local std::vector<double> sums;  // by row; kept, so that a call allocates nothing
  sums.assign(nodes.size(), 0);
  double* const out = sums.data();
  for (const Part& part : parts_) {
    const double* const amounts = part.amounts.data();
    if (part.label == part.index && part.label->nodes_with_it() == node_count_) {
      for_each_domain(nodes, *part.index,
                      [=](size_t row, uint32_t domain) { out[row] += amounts[domain]; });
    } else {
      const RowSlots slots(nodes);
      for_each_domain(nodes, *part.index, [&, out](size_t row, uint32_t domain) {
        if (part.label->domain(slots[row]) != TopologyKey::kNone) out[row] += amounts[domain];
      });
    }
  }
  round_all(out, nodes.size(), scores.data());
  const RowSlots slots(nodes);
  for (size_t i = 0; ignores_some_ && i < nodes.size(); ++i) {
    if (ignores(slots[i])) scores[i] = 0;
  }
}

void SpreadScore::normalize(Nodes nodes, std::span<int64_t> scores) const {
  const RowSlots slots(nodes);
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (ignores_some_ && ignores(slots[i])) continue;
    least = std::min(least, scores[i]);
    most = std::max(most, scores[i]);
  }
  fewer_is_better(least, most, nodes.size(), scores.data());
  for (size_t i = 0; ignores_some_ && i < nodes.size(); ++i) {
    if (ignores(slots[i])) scores[i] = 0;
  }
}

}  // namespace plimsoll::builtin

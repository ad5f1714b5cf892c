#include "plugins/builtin/affinity/affinity_score.hpp"

#include <algorithm>

#include "plugins/builtin/census/row_slots.hpp"

namespace plimsoll::builtin {

using namespace sdk;

AffinityScore::AffinityScore(const plimsoll_pod& pod, int32_t hard_weight, Census& census) {
  std::vector<TermSpec> own = terms_of(pod);
  std::erase_if(own, [](const TermSpec& term) { return term.required(); });
  std::vector<std::string_view> names;
  for (const TermSpec& each : own) names.push_back(view(each.term->topology_key));
  const std::vector<TopologyKeyRef> keys = census.topology().keys(names);
  for (size_t i = 0; i < own.size(); ++i) {
    const SelectedCountsRef table =
        census.counts(SelectionSpec::of(*own[i].term, pod.meta.ns), names[i]);
    const int64_t weight = own[i].term->weight;
    add(keys[i], table->counts, own[i].kind == TermKind::kPreferred ? weight : -weight);
  }
  const auto weight_of = [hard_weight](const ExistingTerm& term) -> int64_t {
    if (term.kind == TermKind::kAffinity) return hard_weight;
    return term.kind == TermKind::kPreferred ? term.weight : -int64_t{term.weight};
  };
  census.terms().for_each_about(
      PodTraits::of(pod), census.namespaces(),
      [&](const ExistingTerm& term) {
        if (term.kind == TermKind::kAntiAffinity || term.counts.empty()) return false;
        return term.kind != TermKind::kAffinity || hard_weight != 0;
      },
      [&](const ExistingTerm& term) {
        add(term.counts.nodes().key_ref(), term.counts, weight_of(term));
      });
}

void AffinityScore::add(const TopologyKeyRef& key, const DomainCounts& counts, int64_t weight) {
  if (counts.empty()) return;
  auto found =
      std::find_if(keys_.begin(), keys_.end(), [&](const Key& known) { return known.key == key; });
  if (found == keys_.end()) {
    found = keys_.insert(found, Key{key, std::vector<int64_t>(key->bound(), 0)});
  }
  counts.for_each([&](uint32_t domain, uint32_t pods) { found->sums[domain] += weight * pods; });
}

void AffinityScore::score(Nodes nodes, std::span<int64_t> scores) const {
  std::fill(scores.begin(), scores.end(), 0);
  for (const Key& key : keys_) {
    const int64_t* const sums = key.sums.data();
    for_each_domain(nodes, *key.key, [out = scores.data(), sums](size_t row, uint32_t domain) {
      out[row] += sums[domain];
    });
  }
}

void normalize_affinity(std::span<int64_t> scores) {
  constexpr double kBest = 100;
  if (scores.empty()) return;
  const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
  const int64_t lowest = *least;
  const int64_t range = *most - lowest;
  int64_t last = lowest;  // most nodes in a row have the same
  int64_t share_of_last = 0;
  for (int64_t& score : scores) {
    if (score != last) {
      last = score;
      share_of_last = static_cast<int64_t>(
          kBest * (static_cast<double>(score - lowest) / static_cast<double>(range)));
    }
    score = share_of_last;
  }
}

}  // namespace plimsoll::builtin

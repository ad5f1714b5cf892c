#include "plugins/builtin/census/existing_terms.hpp"

#include <algorithm>
#include <tuple>

#include "framework/api/selectors.hpp"

namespace plimsoll::builtin {

using namespace sdk;

namespace {

std::string key_of(const TermSpec& spec, const plimsoll_str& own_ns) {
  std::string key(1, static_cast<char>(spec.kind));
  const int32_t weight = spec.required() ? 0 : spec.term->weight;
  key.append(reinterpret_cast<const char*>(&weight), sizeof weight);
  key.append(reinterpret_cast<const char*>(&spec.term->topology_key.len), sizeof(uint32_t));
  key.append(view(spec.term->topology_key));
  SelectionSpec::of(*spec.term, own_ns).sign(key);
  return key;
}

}  // namespace

bool has_terms(const plimsoll_pod& pod) {
  return pod.pod_affinity != nullptr || pod.pod_anti_affinity != nullptr;
}

std::vector<TermSpec> terms_of(const plimsoll_pod& pod) {
  std::vector<TermSpec> all;
  const auto add = [&](TermKind kind, const plimsoll_list& terms) {
    for (const plimsoll_pod_affinity_term& term : AffinityTerms(terms))
      all.push_back({kind, &term});
  };
  if (pod.pod_affinity != nullptr) {
    add(TermKind::kAffinity, pod.pod_affinity->required);
    add(TermKind::kPreferred, pod.pod_affinity->preferred);
  }
  if (pod.pod_anti_affinity != nullptr) {
    add(TermKind::kAntiAffinity, pod.pod_anti_affinity->required);
    add(TermKind::kPreferredAnti, pod.pod_anti_affinity->preferred);
  }
  return all;
}

OwnerCrowd* ExistingTerms::owners_like(const plimsoll_pod& pod) {
  const std::vector<TermSpec> specs = terms_of(pod);
  if (specs.empty()) return nullptr;
  std::vector<std::string> keys;
  std::string all;
  for (const TermSpec& spec : specs) {
    const std::string& key = keys.emplace_back(key_of(spec, pod.meta.ns));
    all.append(std::to_string(key.size())).append(":").append(key);
  }
  const auto [found, is_new] = owners_.try_emplace(std::move(all));
  if (!is_new) return found->second.get();
  found->second = std::make_unique<OwnerCrowd>();
  OwnerCrowd& crowd = *found->second;
  crowd.key = found->first;
  std::vector<std::string_view> names;
  for (const TermSpec& spec : specs) names.push_back(view(spec.term->topology_key));
  const std::vector<CountedNodesRef> nodes = nodes_of_(names);
  for (size_t i = 0; i < specs.size(); ++i) {
    crowd.join(term(specs[i], pod.meta.ns, std::move(keys[i]), nodes[i]));
  }
  return &crowd;
}

ExistingTerm& ExistingTerms::term(const TermSpec& spec, const plimsoll_str& own_ns, std::string key,
                                  const CountedNodesRef& nodes) {
  auto& kept = terms_[key];
  if (kept != nullptr) return *kept;
  const std::string ns(view(own_ns));
  TermCost& cost = costs_[ns];
  cost.ns = ns;
  ++cost.terms;
  kept = std::make_unique<ExistingTerm>(spec, SelectionSpec::of(*spec.term, own_ns), nodes, cost);
  kept->key = std::move(key);
  kept->id = ++last_id_;
  index_.add(*kept);
  with_namespace_labels_ += kept->spec().need_namespaces() ? 1 : 0;
  return *kept;
}

void ExistingTerms::drop(OwnerCrowd& crowd) {
  while (!crowd.tallies.empty()) {
    auto& term = static_cast<ExistingTerm&>(*crowd.tallies.back().tally);
    crowd.leave_last();
    if (!term.crowds.empty()) continue;
    index_.remove(term);
    with_namespace_labels_ -= term.spec().need_namespaces() ? 1 : 0;
    if (--term.cost.terms == 0) costs_.erase(costs_.find(term.cost.ns));
    terms_.erase(terms_.find(term.key));
  }
  owners_.erase(owners_.find(std::string(crowd.key)));
}

bool ExistingTerms::rest_on_namespaces(const PodTraits& pod) const {
  if (with_namespace_labels_ == 0) return false;
  bool rest = false;
  index_.for_each_candidate(pod, [&](const ExistingTerm& term) {
    term.cost.compare(pod.ns);
    if (rest || term.kind != TermKind::kAntiAffinity || !term.spec().need_namespaces()) return;
    const ClauseSpec& clause = term.spec().clauses.front();
    rest = std::all_of(clause.selectors.begin(), clause.selectors.end(),
                       [&](const auto* selector) { return matches(*selector, pod.labels); });
  });
  return rest;
}

std::vector<TermCost> ExistingTerms::worst(size_t namespaces) const {
  std::vector<TermCost> all;
  for (const auto& [ns, cost] : costs_) all.push_back(cost);
  const size_t few = std::min(namespaces, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(few), all.end(),
                    [](const TermCost& a, const TermCost& b) {
                      return std::tie(b.compared, b.terms, a.ns) <
                             std::tie(a.compared, a.terms, b.ns);
                    });
  all.resize(few);
  return all;
}

}  // namespace plimsoll::builtin

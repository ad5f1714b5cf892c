#include "plugins/builtin/affinity/affinity_filter.hpp"

#include <algorithm>

#include "framework/base/mixed.hpp"
#include "plugins/builtin/census/row_slots.hpp"

namespace plimsoll::builtin {

using namespace sdk;

AffinityFilter::AffinityFilter(const plimsoll_pod& pod, Census& census) {
  add_own_terms(pod, census);
  census.terms().for_each_about(
      PodTraits::of(pod), census.namespaces(),
      [](const ExistingTerm& term) {
        return term.kind == TermKind::kAntiAffinity && !term.counts.empty();
      },
      [&](const ExistingTerm& term) {
        key_of(term.counts.nodes().key_ref()).existing.push_back(&term);
      });
  for (Key& key : keys_) key.find_faults();
}

void AffinityFilter::add_own_terms(const plimsoll_pod& pod, Census& census) {
  const AffinityTerms affinity = required_terms(pod.pod_affinity);
  const AffinityTerms anti = required_terms(pod.pod_anti_affinity);
  std::vector<std::string_view> names;
  for (const AffinityTerms& terms : {affinity, anti}) {
    for (const plimsoll_pod_affinity_term& term : terms) names.push_back(view(term.topology_key));
  }
  if (names.empty()) return;
  const std::vector<TopologyKeyRef> keys = census.topology().keys(names);
  size_t at = 0;
  if (!affinity.empty()) {
    SelectionSpec all;
    for (const auto& term : affinity) all.clauses.push_back(ClauseSpec::of(term, pod.meta.ns));
    matches_itself_ = all.select(PodTraits::of(pod), census.namespaces());
    affinity_ = census.select(all);
    compared_.count(all);
  }
  for (const plimsoll_pod_affinity_term& term : affinity) {
    Key& key = key_of(keys[at++]);
    if (key.affinity == nullptr) key.affinity = census.counts(affinity_, view(term.topology_key));
  }
  for (const plimsoll_pod_affinity_term& term : anti) {
    const SelectionSpec selection = SelectionSpec::of(term, pod.meta.ns);
    key_of(keys[at++]).anti.push_back(census.counts(selection, view(term.topology_key)));
    compared_.count(selection);
  }
}

AffinityFilter::Key& AffinityFilter::key_of(const TopologyKeyRef& key) {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [&](const Key& known) { return known.key == key; });
  if (found != keys_.end()) return *found;
  keys_.emplace_back().key = key;
  return keys_.back();
}

void AffinityFilter::Key::find_faults() {
  std::vector<uint8_t> found(key->bound(), affinity != nullptr ? kNobody : kNone);
  found[TopologyKey::kNone] = affinity != nullptr ? kNoKey : kNone;
  if (affinity != nullptr) {
    affinity->counts.for_each([&](uint32_t domain, uint32_t) { found[domain] = kNone; });
  }
  for (const SelectedCountsRef& table : anti) {
    table->counts.for_each([&](uint32_t domain, uint32_t) { found[domain] |= kAnti; });
  }
  for (const ExistingTerm* term : existing) {
    term->counts.for_each([&](uint32_t domain, uint32_t) { found[domain] |= kExistingAnti; });
  }
  faults = std::make_shared<const std::vector<uint8_t>>(std::move(found));
}

uint8_t AffinityFilter::Key::faults_with(const Change& change) const {
  uint8_t found = kNone;
  if (affinity != nullptr && affinity->counts.at(change.domain) + change.affinity == 0) {
    found |= kNobody;
  }
  int64_t pods = change.anti;
  for (const SelectedCountsRef& table : anti) pods += table->counts.at(change.domain);
  if (pods != 0) found |= kAnti;
  pods = change.existing;
  for (const ExistingTerm* term : existing) pods += term->counts.at(change.domain);
  if (pods != 0) found |= kExistingAnti;
  return found;
}

uint8_t AffinityFilter::Key::faults_of(uint32_t domain) const {
  for (const Change& change : changes) {
    if (change.domain == domain) return faults_with(change);
  }
  return domain < faults->size() ? (*faults)[domain] : uint8_t{kNone};
}

AffinityFilter::Change& AffinityFilter::Key::change_of(uint32_t domain) {
  const auto found = std::find_if(changes.begin(), changes.end(),
                                  [domain](const Change& each) { return each.domain == domain; });
  return found != changes.end() ? *found : changes.emplace_back(Change{domain});
}

void AffinityFilter::Key::tidy() {
  std::erase_if(changes, [](const Change& each) {
    return each.affinity == 0 && each.anti == 0 && each.existing == 0;
  });
}

bool AffinityFilter::Key::has_pods() const {
  if (affinity == nullptr) return false;
  size_t domains = affinity->counts.nonzero();
  for (const Change& change : changes) {
    const int64_t before = affinity->counts.at(change.domain);
    if (before != 0) --domains;
    if (before + change.affinity != 0) ++domains;
  }
  return domains != 0;
}

bool AffinityFilter::change(const plimsoll_pod& pod, const plimsoll_pod& other, int64_t pods,
                            uint32_t slot, Census& census) {
  if (!compared_.add_one()) return false;
  const PodTraits traits = PodTraits::of(other);
  const Namespaces& namespaces = census.namespaces();
  for (const plimsoll_pod_affinity_term& term : required_terms(other.pod_anti_affinity)) {
    const ClauseSpec clause = ClauseSpec::of(term, other.meta.ns);
    if (!clause.select(PodTraits::of(pod), namespaces)) continue;
    const TopologyKeyRef key = census.topology().key(view(term.topology_key));
    const uint32_t domain = key->domain(slot);
    if (domain == TopologyKey::kNone) continue;
    Key& ours = key_of(key);
    if (ours.faults == nullptr) ours.find_faults();
    ours.change_of(domain).existing += pods;
  }
  const bool has_affinity = affinity_ != nullptr && affinity_->spec().select(traits, namespaces);
  for (Key& key : keys_) {
    const uint32_t domain = key.key->domain(slot);
    if (domain == TopologyKey::kNone) continue;
    if (key.affinity != nullptr && has_affinity) key.change_of(domain).affinity += pods;
    for (const SelectedCountsRef& table : key.anti) {
      if (table->pods->spec().select(traits, namespaces)) key.change_of(domain).anti += pods;
    }
    key.tidy();
  }
  return true;
}

// A pod that matches its own terms may be the first of its group, if nobody else matches them.
bool AffinityFilter::is_first_of_group() const {
  return matches_itself_ &&
         std::none_of(keys_.begin(), keys_.end(), [](const Key& key) { return key.has_pods(); });
}

void AffinityFilter::judge(uint8_t faults, size_t row, Verdicts verdicts,
                           const AffinityReasons& reasons) const {
  if (!verdicts.open(row)) return;
  if ((faults & (kNoKey | kNobody)) != 0) {
    verdicts.set(row, Status::unresolvable(reasons.affinity));
  } else if ((faults & kAnti) != 0) {
    verdicts.set(row, Status::unschedulable(reasons.anti_affinity));
  } else {
    verdicts.set(row, Status::unschedulable(reasons.existing_anti_affinity));
  }
}

void AffinityFilter::filter(Nodes nodes, Verdicts verdicts, const AffinityReasons& reasons) const {
  thread_local std::vector<uint8_t> faults;  // by row; kept, so that a call allocates nothing
  faults.assign(nodes.size(), kNone);
  uint8_t* const out = faults.data();
  for (const Key& key : keys_) {
    if (key.changes.empty()) {
      const uint8_t* const by_domain = key.faults->data();
      for_each_domain(nodes, *key.key,
                      [=](size_t row, uint32_t domain) { out[row] |= by_domain[domain]; });
    } else {
      for_each_domain(nodes, *key.key, [&key, out](size_t row, uint32_t domain) {
        out[row] |= key.faults_of(domain);
      });
    }
  }
  const auto counted = static_cast<uint8_t>(is_first_of_group() ? ~kNobody : ~kNone);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if ((out[i] & counted) != kNone) judge(out[i] & counted, i, verdicts, reasons);
  }
}

void AffinityFilter::Key::find_pods_there() const {
  std::vector<uint64_t> found(key->bound());
  const auto add = [&found](uint64_t table, const DomainCounts& counts) {
    counts.for_each([&](uint32_t domain, uint32_t pods) {
      found[domain] += mixed(table, pods);  // in any order
    });
  };
  if (affinity != nullptr) add(affinity->id, affinity->counts);
  for (const SelectedCountsRef& table : anti) add(table->id, table->counts);
  for (const ExistingTerm* term : existing) add(~term->id, term->counts);
  pods_there = std::make_shared<const std::vector<uint64_t>>(std::move(found));
}

// Which of a node's pods its own terms select, and whose terms are about it, follows from the
// tables that count a pod there. Keys are added up: their order says nothing, nor do those by which
// nobody counts.
uint64_t AffinityFilter::basis(uint32_t slot, uint64_t namespaces) const {
  uint64_t all = 0;
  for (const Key& key : keys_) {
    if (key.pods_there == nullptr) key.find_pods_there();
    const uint32_t domain = key.key->domain(slot);
    uint64_t number = (*key.pods_there)[domain];
    if (key.affinity != nullptr) {
      number = mixed(mixed(number, key.affinity->id), key.affinity->counts.nonzero());
      number = mixed(number, domain == TopologyKey::kNone ? 1 : 0);
    }
    for (const Change& change : key.changes) {
      for (const int64_t pods : {change.affinity, change.anti, change.existing}) {
        number = mixed(number, static_cast<uint64_t>(pods));
      }
    }
    if (number != 0) all += mixed(number, 1);
  }
  return mixed(mixed(all, namespaces), matches_itself_ ? 1 : 0);
}

}  // namespace plimsoll::builtin

#include "plugins/builtin/affinity/affinity_hints.hpp"

#include <algorithm>

#include "framework/api/selectors.hpp"
#include "plugins/builtin/census/existing_terms.hpp"
#include "plugins/builtin/events.hpp"

namespace plimsoll::builtin {

using namespace sdk;

namespace {

bool term_selects(const plimsoll_pod_affinity_term& term, const plimsoll_pod& owner,
                  const plimsoll_pod& pod, const Namespaces& namespaces) {
  return ClauseSpec::of(term, owner.meta.ns).select(PodTraits::of(pod), namespaces);
}

// Not without a term.
bool all_select(AffinityTerms terms, const plimsoll_pod& owner, const plimsoll_pod& pod,
                const Namespaces& namespaces) {
  return !terms.empty() && std::all_of(terms.begin(), terms.end(), [&](const auto& term) {
    return term_selects(term, owner, pod, namespaces);
  });
}

bool any_selects(AffinityTerms terms, const plimsoll_pod& owner, const plimsoll_pod& pod,
                 const Namespaces& namespaces) {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const auto& term) { return term_selects(term, owner, pod, namespaces); });
}

// One anti-affinity term of the pod that selects the other no longer is enough: each term keeps it
// away from another domain.
bool lets_go(Pod pod, const plimsoll_pod& before, const plimsoll_pod* after,
             const Namespaces& namespaces) {
  const AffinityTerms terms = required_terms(pod->pod_anti_affinity);
  return std::any_of(terms.begin(), terms.end(), [&](const auto& term) {
    return term_selects(term, *pod, before, namespaces) &&
           (after == nullptr || !term_selects(term, *pod, *after, namespaces));
  });
}

Hint after_pod(Pod pod, const plimsoll_event& event, const Namespaces& namespaces) {
  const plimsoll_pod* before = event.old_pod;
  const plimsoll_pod* after = event.new_pod;
  for (const plimsoll_pod* other : {before, after}) {
    if (other != nullptr && other->node_name.len == 0 && other->nominated_node_name.len == 0) {
      return Hint::kSkip;
    }
  }
  const auto attracts = [&](const plimsoll_pod* other) {
    return other != nullptr &&
           all_select(required_terms(pod->pod_affinity), *pod, *other, namespaces);
  };
  if (attracts(after) && !attracts(before)) return Hint::kQueue;
  if (before == nullptr) return Hint::kSkip;
  // The other pod's own terms are as they were until it goes.
  return queue_if(lets_go(pod, *before, after, namespaces) ||
                  (after == nullptr && any_selects(required_terms(before->pod_anti_affinity),
                                                   *before, *pod, namespaces)));
}

bool has_key(const plimsoll_node& node, const plimsoll_str& key) {
  return find_label(node.meta.labels, key) != nullptr;
}

// The node was in a domain of this key, and is not in it any more.
bool leaves(const plimsoll_str& key, const plimsoll_node& before, const plimsoll_node& after) {
  const plimsoll_str* from = find_label(before.meta.labels, key);
  const plimsoll_str* to = find_label(after.meta.labels, key);
  return from != nullptr && (to == nullptr || !equal(*from, *to));
}

Hint after_node(Pod pod, const plimsoll_event& event, const Census& census) {
  const plimsoll_node* before = event.old_node;
  const plimsoll_node* after = event.new_node;
  if (after == nullptr) return Hint::kQueue;
  const auto helps = [&](const plimsoll_pod_affinity_term& term) {
    return before == nullptr ? has_key(*after, term.topology_key)
                             : leaves(term.topology_key, *after, *before);
  };
  const auto frees = [&](const plimsoll_str& key) {
    return before == nullptr || leaves(key, *before, *after);
  };
  const AffinityTerms affinity = required_terms(pod->pod_affinity);
  if (std::any_of(affinity.begin(), affinity.end(), helps)) return Hint::kQueue;
  const AffinityTerms anti = required_terms(pod->pod_anti_affinity);
  if (std::any_of(anti.begin(), anti.end(),
                  [&](const auto& term) { return frees(term.topology_key); })) {
    return Hint::kQueue;
  }
  // kube-scheduler does not look at terms of existing pods here: a pod that these keep away from
  // all nodes waits there although a new node would take it.
  bool freed = false;
  census.terms().for_each_about(
      PodTraits::of(*pod), census.namespaces(),
      [&](const ExistingTerm& term) {
        return !freed && term.kind == TermKind::kAntiAffinity &&
               frees(str(term.counts.key().name()));
      },
      [&](const ExistingTerm&) { freed = true; });
  return queue_if(freed);
}

}  // namespace

Hint affinity_hint(Pod pod, const plimsoll_event& event, const Census& census) {
  if (is_about(event, pod)) return Hint::kQueue;
  if (event.old_pod != nullptr || event.new_pod != nullptr) {
    return after_pod(pod, event, census.namespaces());
  }
  return after_node(pod, event, census);
}

}  // namespace plimsoll::builtin

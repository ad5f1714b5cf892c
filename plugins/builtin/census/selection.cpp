#include "plugins/builtin/census/selection.hpp"

#include <algorithm>

#include "framework/api/decode/pack.hpp"
#include "framework/api/selectors.hpp"
#include "plugins/builtin/signing.hpp"

namespace plimsoll::builtin {

using namespace sdk;

namespace {

void append_bytes(void* to, const void* from, size_t length) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(from), length);
}

bool is_less(const plimsoll_str& a, const plimsoll_str& b) {
  return view(a) < view(b);
}

}  // namespace

bool is_empty(const plimsoll_label_selector& selector) {
  return selector.present != 0 && selector.match_labels.count == 0 &&
         selector.expressions.count == 0;
}

bool is_broken(const plimsoll_label_selector& selector) {
  const List<plimsoll_requirement> expressions = selector.expressions;
  return std::any_of(expressions.begin(), expressions.end(),
                     [](const auto& each) { return each.op == PLIMSOLL_OP_INVALID; });
}

bool NamespacesSpec::everywhere() const {
  return by_labels != nullptr && is_empty(*by_labels);
}

bool NamespacesSpec::contain(const plimsoll_str& ns, const Namespaces& known) const {
  const Strings all = names;
  if (std::binary_search(all.begin(), all.end(), ns, is_less)) return true;
  if (by_labels == nullptr) return false;
  if (is_empty(*by_labels)) return true;
  // kube-scheduler asks it about nil labels for existing pods, which NotIn and DoesNotExist match.
  const plimsoll_list* labels = known.labels(view(ns));
  return labels != nullptr && matches(*by_labels, *labels);
}

ClauseSpec ClauseSpec::of(const plimsoll_pod_affinity_term& term, const plimsoll_str& own) {
  ClauseSpec clause;
  NamespacesSpec& namespaces = clause.namespaces;
  namespaces.names = term.namespaces;
  if (term.namespace_selector.present != 0) namespaces.by_labels = &term.namespace_selector;
  if (term.namespaces.count == 0 && namespaces.by_labels == nullptr) {
    namespaces.names = {&own, 1, sizeof own};
  }
  clause.selectors = {&term.selector};
  return clause;
}

bool ClauseSpec::select(const PodTraits& pod, const Namespaces& known) const {
  return namespaces.contain(pod.ns, known) &&
         std::all_of(selectors.begin(), selectors.end(),
                     [&](const auto* selector) { return matches(*selector, pod.labels); });
}

bool SelectionSpec::select(const PodTraits& pod, const Namespaces& known) const {
  if (skips_terminating && pod.terminating) return false;
  return std::all_of(clauses.begin(), clauses.end(),
                     [&](const ClauseSpec& clause) { return clause.select(pod, known); });
}

bool SelectionSpec::need_namespaces() const {
  return std::any_of(clauses.begin(), clauses.end(),
                     [](const ClauseSpec& clause) { return clause.namespaces.need_labels(); });
}

uint64_t SelectionSpec::size() const {
  uint64_t sum = 0;
  const auto add = [&sum](const plimsoll_label_selector& selector) {
    sum += uint64_t{selector.match_labels.count} + selector.expressions.count;
  };
  for (const ClauseSpec& clause : clauses) {
    for (const plimsoll_label_selector* selector : clause.selectors) add(*selector);
    if (clause.namespaces.by_labels != nullptr) add(*clause.namespaces.by_labels);
  }
  return sum;
}

void SelectionSpec::sign(std::string& bytes) const {
  Sink sink(append_bytes, &bytes);
  sink.put_value(uint8_t{skips_terminating});
  sink.put_value(uint64_t{clauses.size()});
  for (const ClauseSpec& clause : clauses) {
    sink.put_value(uint64_t{clause.namespaces.names.count});
    for (const plimsoll_str& name : Strings(clause.namespaces.names)) sink.put_field(view(name));
    sink.put_value(uint8_t{clause.namespaces.by_labels != nullptr});
    if (clause.namespaces.by_labels != nullptr) builtin::sign(sink, *clause.namespaces.by_labels);
    sink.put_value(uint64_t{clause.selectors.size()});
    for (const plimsoll_label_selector* selector : clause.selectors) builtin::sign(sink, *selector);
  }
}

Selection::Selection(const SelectionSpec& spec) : spec_(spec) {
  for (ClauseSpec& clause : spec_.clauses) {
    std::vector<plimsoll_str>& names = names_.emplace_back();
    for (const plimsoll_str& name : Strings(clause.namespaces.names)) {
      names.push_back(str(texts_.emplace_back(view(name))));
    }
    clause.namespaces.names = list_of<plimsoll_str>(names);
    const plimsoll_label_selector*& by_labels = clause.namespaces.by_labels;
    if (by_labels != nullptr) by_labels = keep(*by_labels);
    for (const plimsoll_label_selector*& selector : clause.selectors) selector = keep(*selector);
  }
}

const plimsoll_label_selector* Selection::keep(const plimsoll_label_selector& selector) {
  return selectors_.emplace_back(pack_label_selector(selector)).get();
}

}  // namespace plimsoll::builtin

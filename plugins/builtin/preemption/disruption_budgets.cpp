#include "plugins/builtin/preemption/disruption_budgets.hpp"

#include <algorithm>

#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"

namespace plimsoll::builtin {
namespace {

bool is_unreadable(const plimsoll_disruption_budget& budget) {
  return budget.object.unreadable.len != 0 || !validate(budget.selector).has_value();
}

bool is_before(const plimsoll_str& a, const plimsoll_str& b) {
  return view(a) < view(b);
}

bool selects_nobody(const plimsoll_label_selector& selector) {
  const bool empty = selector.match_labels.count == 0 && selector.expressions.count == 0;
  return selector.present == 0 || empty;
}

}  // namespace

DisruptionBudgets::Protects DisruptionBudgets::protects(const plimsoll_disruption_budget& budget) {
  if (is_unreadable(budget)) return Protects::kAll;
  return selects_nobody(budget.selector) ? Protects::kNobody : Protects::kSelected;
}

void DisruptionBudgets::upsert(const plimsoll_disruption_budget& object) {
  const plimsoll_meta& meta = object.object.meta;
  Budget& budget = budgets_[{std::string(view(meta.ns)), std::string(view(meta.name))}];
  if (budget.protects != Protects::kNobody) index_.remove(budget);
  const auto* before = std::exchange(budget.object, &object);
  const Protects protected_before = std::exchange(budget.protects, protects(object));
  ClauseSpec clause;
  clause.namespaces.names = {&meta.ns, 1, sizeof meta.ns};
  if (budget.protects == Protects::kSelected) clause.selectors = {&object.selector};
  budget.selection = {{clause}, false};
  if (budget.protects != Protects::kNobody) index_.add(budget);
  ++statuses_;
  // Two that protect nobody are alike, and so are two that protect everybody.
  const bool same = before != nullptr && protected_before == budget.protects &&
                    (budget.protects != Protects::kSelected ||
                     selector_text(before->selector) == selector_text(object.selector));
  if (!same) ++selectors_;
}

void DisruptionBudgets::remove(std::string_view ns, std::string_view name) {
  ++statuses_;
  ++selectors_;
  const auto found = budgets_.find(std::pair(std::string(ns), std::string(name)));
  if (found == budgets_.end()) return;
  if (found->second.protects != Protects::kNobody) index_.remove(found->second);
  budgets_.erase(found);
}

bool DisruptionBudgets::Budget::charges(sdk::Pod pod) const {
  const auto disrupted = items<plimsoll_str>(object->disrupted_pods);
  return !std::binary_search(disrupted.begin(), disrupted.end(), pod->meta.name, is_before);
}

std::vector<const DisruptionBudgets::Budget*> DisruptionBudgets::protecting(sdk::Pod pod) const {
  std::vector<const Budget*> all;
  if (pod.labels().empty()) return all;
  const PodTraits traits = PodTraits::of(*pod);
  index_.for_each_candidate(traits, [&](const Budget& budget) {
    if (budget.spec().select(traits, no_namespaces_)) all.push_back(&budget);
  });
  std::sort(all.begin(), all.end(), [](const Budget* a, const Budget* b) {
    return is_before(a->object->object.meta.name, b->object->object.meta.name);
  });
  return all;
}

std::vector<bool> DisruptionBudgets::violations(const std::vector<sdk::Pod>& pods) const {
  std::vector<bool> result(pods.size(), false);
  if (budgets_.empty()) return result;
  std::map<const Budget*, int64_t> left;
  for (size_t i = 0; i < pods.size(); ++i) {
    for (const Budget* budget : protecting(pods[i])) {
      if (!budget->charges(pods[i])) continue;
      const int64_t allowed =
          budget->protects == Protects::kAll ? 0 : budget->object->disruptions_allowed;
      int64_t& remaining = left.try_emplace(budget, allowed).first->second;
      result[i] = --remaining < 0;
      if (result[i]) break;
    }
  }
  return result;
}

DisruptionBudgets::Mark DisruptionBudgets::mark(const std::vector<sdk::Pod>& pods) const {
  Mark mark{selectors_, 0};
  if (budgets_.empty()) return mark;
  for (const sdk::Pod pod : pods) {
    if (!protecting(pod).empty()) mark.statuses = statuses_;
  }
  return mark;
}

}  // namespace plimsoll::builtin

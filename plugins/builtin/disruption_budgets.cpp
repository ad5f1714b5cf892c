#include "plugins/builtin/disruption_budgets.hpp"

#include <algorithm>

#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"

namespace plimsoll::builtin {
namespace {

bool is_unreadable(const plimsoll_disruption_budget& budget) {
  return budget.object.unreadable.len != 0 || !validate(budget.selector).has_value();
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
  const Budget before = std::exchange(budget, {&object, protects(object)});
  ++statuses_;
  // Two that protect nobody are alike, and so are two that protect everybody.
  const bool same = before.object != nullptr && before.protects == budget.protects &&
                    (budget.protects != Protects::kSelected ||
                     selector_text(before.object->selector) == selector_text(object.selector));
  if (!same) ++selectors_;
}

void DisruptionBudgets::remove(std::string_view ns, std::string_view name) {
  ++statuses_;
  ++selectors_;
  budgets_.erase(std::pair(std::string(ns), std::string(name)));
}

bool DisruptionBudgets::Budget::selects(sdk::Pod pod) const {
  if (protects != Protects::kSelected) return protects == Protects::kAll;
  return matches(object->selector, pod->meta.labels);
}

bool DisruptionBudgets::Budget::counts(sdk::Pod pod) const {
  const auto disrupted = items<plimsoll_str>(object->disrupted_pods);
  return selects(pod) &&
         !std::binary_search(disrupted.begin(), disrupted.end(), pod->meta.name,
                             [](const auto& a, const auto& b) { return view(a) < view(b); });
}

template <typename Visit>
void DisruptionBudgets::for_each_beside(sdk::Pod pod, const Visit& visit) const {
  if (pod.labels().empty()) return;
  const std::string ns(pod.ns());
  for (auto at = budgets_.lower_bound(std::pair(ns, std::string()));
       at != budgets_.end() && at->first.first == ns; ++at) {
    if (!visit(at->second)) return;
  }
}

std::vector<bool> DisruptionBudgets::violations(const std::vector<sdk::Pod>& pods) const {
  std::vector<bool> result(pods.size(), false);
  if (budgets_.empty()) return result;
  std::map<const Budget*, int64_t> left;
  for (size_t i = 0; i < pods.size(); ++i) {
    for_each_beside(pods[i], [&](const Budget& budget) {
      if (!budget.counts(pods[i])) return true;
      const int64_t allowed =
          budget.protects == Protects::kAll ? 0 : budget.object->disruptions_allowed;
      int64_t& remaining = left.try_emplace(&budget, allowed).first->second;
      if (--remaining < 0) result[i] = true;
      return !result[i];
    });
  }
  return result;
}

DisruptionBudgets::Mark DisruptionBudgets::mark(const std::vector<sdk::Pod>& pods) const {
  Mark mark{selectors_, 0};
  if (budgets_.empty()) return mark;
  for (const sdk::Pod pod : pods) {
    for_each_beside(pod, [&](const Budget& budget) {
      if (budget.selects(pod)) mark.statuses = statuses_;
      return true;
    });
  }
  return mark;
}

}  // namespace plimsoll::builtin

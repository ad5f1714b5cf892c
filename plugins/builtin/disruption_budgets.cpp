#include "plugins/builtin/disruption_budgets.hpp"

#include <nlohmann/json.hpp>

#include "framework/api/decode.hpp"
#include "framework/api/selectors.hpp"

namespace plimsoll::builtin {
namespace {

using Json = nlohmann::json;

// The member, or an empty object.
const Json& object_at(const Json& parent, const char* key) {
  static const Json kEmpty = Json::object();
  const auto found = parent.find(key);
  return found != parent.end() && found->is_object() ? *found : kEmpty;
}

}  // namespace

Result<DisruptionBudgets::Budget> DisruptionBudgets::read(std::string_view json) {
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object()) return fail(ErrorCode::kInvalid, "it is not a JSON object");
  Budget budget;
  const Json& spec = object_at(object, "spec");
  if (const auto selector = spec.find("selector"); selector != spec.end()) {
    budget.selector_text = selector->dump();
    auto decoded = decode_label_selector(budget.selector_text);
    if (!decoded) return fail(decoded.error().within("spec.selector"));
    const plimsoll_label_selector& read = **decoded;
    const bool empty = read.match_labels.count == 0 && read.expressions.count == 0;
    if (read.present != 0 && !empty && validate(read)) budget.selector = std::move(*decoded);
  }
  const Json& status = object_at(object, "status");
  const auto allowed = status.find("disruptionsAllowed");
  if (allowed != status.end() && allowed->is_number_integer()) {
    budget.allowed = allowed->get<int64_t>();
  }
  for (const auto& [pod, since] : object_at(status, "disruptedPods").items()) {
    budget.disrupted.insert(pod);
  }
  return budget;
}

Result<void> DisruptionBudgets::upsert(std::string_view ns, std::string_view name,
                                       std::string_view json) {
  auto budget = read(json);
  const std::pair key{std::string(ns), std::string(name)};
  const auto before = budgets_.find(key);
  const bool same_selector =
      budget && before != budgets_.end() && before->second.selector_text == budget->selector_text;
  ++statuses_;
  if (!same_selector) ++selectors_;
  if (before != budgets_.end()) budgets_.erase(before);
  if (!budget) return fail(budget.error());
  budgets_.emplace(key, std::move(*budget));
  return {};
}

void DisruptionBudgets::remove(std::string_view ns, std::string_view name) {
  ++statuses_;
  ++selectors_;
  budgets_.erase(std::pair(std::string(ns), std::string(name)));
}

bool DisruptionBudgets::Budget::selects(sdk::Pod pod) const {
  return selector != nullptr && matches(*selector, pod->meta.labels);
}

bool DisruptionBudgets::Budget::counts(sdk::Pod pod) const {
  return selects(pod) && !disrupted.contains(pod.name());
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
      int64_t& remaining = left.try_emplace(&budget, budget.allowed).first->second;
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

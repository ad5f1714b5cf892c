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

Result<void> DisruptionBudgets::upsert(std::string_view ns, std::string_view name,
                                       std::string_view json) {
  remove(ns, name);
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object()) return fail(ErrorCode::kInvalid, "it is not a JSON object");
  Budget budget;
  const Json& spec = object_at(object, "spec");
  if (const auto selector = spec.find("selector"); selector != spec.end()) {
    auto decoded = decode_label_selector(selector->dump());
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
  budgets_.emplace(std::pair(std::string(ns), std::string(name)), std::move(budget));
  return {};
}

void DisruptionBudgets::remove(std::string_view ns, std::string_view name) {
  budgets_.erase(std::pair(std::string(ns), std::string(name)));
}

bool DisruptionBudgets::Budget::counts(sdk::Pod pod) const {
  return selector != nullptr && matches(*selector, pod->meta.labels) &&
         !disrupted.contains(pod.name());
}

std::vector<bool> DisruptionBudgets::violations(const std::vector<sdk::Pod>& pods) const {
  std::vector<bool> result(pods.size(), false);
  if (budgets_.empty()) return result;
  std::map<const Budget*, int64_t> left;
  for (size_t i = 0; i < pods.size(); ++i) {
    if (pods[i].labels().empty()) continue;
    const std::string ns(pods[i].ns());
    for (auto at = budgets_.lower_bound(std::pair(ns, std::string()));
         at != budgets_.end() && at->first.first == ns; ++at) {
      const Budget& budget = at->second;
      if (!budget.counts(pods[i])) continue;
      int64_t& remaining = left.try_emplace(&budget, budget.allowed).first->second;
      if (--remaining < 0) result[i] = true;
    }
  }
  return result;
}

}  // namespace plimsoll::builtin

#include "lab/sandbox/admission/pod_level_defaults.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/sandbox/admission/pod_amounts.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

bool is_huge_page_size(const std::string& name) {
  return name.starts_with("hugepages-");
}

// What a pod may have of its own.
bool pod_may_have(const std::string& name) {
  return name == "cpu" || name == "memory" || is_huge_page_size(name);
}

struct LevelSums {
  std::vector<ContainerAmounts> containers;
  node::Amounts requests;
  node::Amounts limits;

  [[nodiscard]] bool all_limit(const std::string& name) const {
    return std::all_of(
        containers.begin(), containers.end(),
        [&](const ContainerAmounts& container) { return container.limits.contains(name); });
  }
};

Result<LevelSums> level_sums_of(const json& spec) {
  auto amounts = pod_amounts({{"spec", spec}});
  if (!amounts) return fail(amounts.error());
  std::vector<node::Amounts> requests;
  std::vector<node::Amounts> limits;
  for (const ContainerAmounts& container : amounts->containers) {
    requests.push_back(container.requests);
    limits.push_back(container.limits);
  }
  LevelSums sums;
  sums.requests = peak_of(amounts->containers, requests);
  sums.limits = peak_of(amounts->containers, limits);
  sums.containers = std::move(amounts->containers);
  return sums;
}

void default_pod_requests(const LevelSums& sums, const json& limits, json& requests) {
  for (const auto& [name, amount] : sums.requests) {
    if (pod_may_have(name) && !is_huge_page_size(name) && !requests.contains(name))
      requests[name] = node::format_amount(name, amount);
  }
  for (const auto& [name, quantity] : limits.items()) {
    if (pod_may_have(name) && !requests.contains(name)) requests[name] = quantity;
  }
}

void default_pod_limits(const LevelSums& sums, const json& requests, json& limits) {
  for (const auto& [name, quantity] : requests.items()) {
    if (!pod_may_have(name) || limits.contains(name) || !sums.all_limit(name)) continue;
    const auto requested = node::parse_amount(name, quantity);
    if (!requested) continue;
    limits[name] =
        node::format_amount(name, std::max(*requested, node::amount_of(sums.limits, name)));
  }
}

}  // namespace

void default_pod_level_resources(json& spec) {
  const auto found = spec.find("resources");
  if (found == spec.end() || !found->is_object()) return;
  json requests = found->value("requests", json());
  json limits = found->value("limits", json());
  if (requests.is_null()) requests = json::object();
  if (limits.is_null()) limits = json::object();
  if (!requests.is_object() || !limits.is_object() || (requests.empty() && limits.empty())) return;
  const auto sums = level_sums_of(spec);
  if (!sums) return;
  for (const auto& [name, amount] : sums->limits) {
    if (is_huge_page_size(name) && !requests.contains(name) && !limits.contains(name))
      limits[name] = node::format_amount(name, amount);
  }
  default_pod_requests(*sums, limits, requests);
  default_pod_limits(*sums, requests, limits);
  if (!requests.empty()) (*found)["requests"] = std::move(requests);
  if (!limits.empty()) (*found)["limits"] = std::move(limits);
}

}  // namespace plimsoll::sandbox

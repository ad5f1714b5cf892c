#include "lab/sandbox/store/amount_rules.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "framework/api/quantity.hpp"
#include "framework/api/requests.hpp"
#include "framework/api/selectors.hpp"
#include "framework/base/json_field.hpp"
#include "framework/base/split.hpp"
#include "lab/sandbox/store/object_shape.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

std::optional<Quantity> read_quantity(const json& value) {
  if (!value.is_string() && !value.is_number()) return std::nullopt;
  auto parsed = Quantity::parse_json(json_text(value));
  return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

bool is_huge(std::string_view name) {
  return name.starts_with("hugepages-");
}

// What a quota counts in whole numbers.
bool is_count(std::string_view name) {
  static const auto kCounts = split(
      "pods,resourcequotas,services,replicationcontrollers,secrets,configmaps,"
      "persistentvolumeclaims,services.nodeports,services.loadbalancers",
      ",");
  return std::ranges::count(kCounts, name) > 0;
}

// ValidateContainerResourceName, IsStandardQuotaResourceName.
bool may_have(AmountsOf owner, std::string_view name) {
  std::string_view resource = name;
  for (const std::string_view prefix : {"requests.", "limits."}) {
    if (owner == AmountsOf::kQuota && name.starts_with(prefix))
      resource.remove_prefix(prefix.size());
  }
  if (owner == AmountsOf::kAnything || resource == "cpu" || resource == "memory" ||
      is_huge(resource))
    return true;
  if (owner == AmountsOf::kPod) return false;
  if (resource == "ephemeral-storage" || resource.find('/') != resource.npos) return true;
  return owner == AmountsOf::kQuota && (name == "requests.storage" || is_count(name));
}

}  // namespace

Wrong type_of(const std::string& path, const char* expected) {
  return {400, path, std::string("expected ") + expected};
}
Wrong value_of(const std::string& path, const json& value, const std::string& why) {
  return {422, path, "Invalid value: " + json_text(value) + ": " + why};
}

bool is_positive(const json& value) {
  const auto amount = read_quantity(value);
  return amount && amount->sign() > 0;
}

Found check_amount(const std::string& path, const json& value, bool negative) {
  if (value.is_null()) return {};
  const auto amount = read_quantity(value);
  if (!amount) return type_of(path, "a quantity");
  if (amount->sign() < 0 && !negative)
    return value_of(path, value, "must be greater than or equal to 0");
  return {};
}

Found check_amounts(const std::string& path, const json& list, AmountsOf owner) {
  if (!list.is_object()) return type_of(path, "an object of quantities");
  for (const auto& [name, value] : list.items()) {
    if (auto wrong = check_amount(path + "[" + name + "]", value)) return wrong;
  }
  for (const auto& [name, value] : list.items()) {
    const std::string here = path + "[" + name + "]";
    if (!is_label_key(name)) return value_of(here, name, "must be a qualified name");
    if (!may_have(owner, name)) return value_of(here, name, "must be a standard resource");
    const auto amount = read_quantity(value);
    const bool whole = is_extended_resource(name) || (owner == AmountsOf::kQuota && is_count(name));
    if (whole && amount && amount->milli_value() % 1000 != 0)
      return value_of(here, value, "must be an integer");
  }
  return {};
}

// ValidateLimitRange: an item of a LimitRange.
Found check_limits(const std::string& path, const json& item) {
  if (!item.is_object()) return type_of(path, "an object");
  const std::string type = text_at(item, "type");
  const bool pod = type == "Pod";
  std::map<std::string, std::map<std::string, Quantity>> of;
  for (const std::string list :
       {"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"}) {
    const auto found = item.find(list);
    if (found == item.end() || found->is_null()) continue;
    const std::string here = path + "." + list;
    const auto owner = pod || type == "Container" ? AmountsOf::kContainer : AmountsOf::kAnything;
    if (auto wrong = check_amounts(here, *found, owner)) return wrong;
    if (pod && list.starts_with("default") && !found->empty())
      return Wrong{422, here, "Forbidden: may not be specified when `type` is 'Pod'"};
    for (const auto& [name, value] : found->items())
      of[list][name] = read_quantity(value).value_or(Quantity());
  }
  if (!type.empty() && !pod && type != "Container" && type != "PersistentVolumeClaim" &&
      type.find('/') == std::string::npos) {
    return value_of(path + ".type", type, "must be a standard limit type or fully qualified");
  }
  if (type == "PersistentVolumeClaim" && !of["min"].contains("storage") &&
      !of["max"].contains("storage")) {
    return Wrong{422, path + ".limits", "Required value: a minimum or maximum of storage"};
  }
  // What must not be more than what.
  constexpr const char* kOrder[][2] = {{"min", "max"},
                                       {"min", "defaultRequest"},
                                       {"defaultRequest", "max"},
                                       {"defaultRequest", "default"},
                                       {"min", "default"},
                                       {"default", "max"}};
  for (const auto& [less, more] : kOrder) {
    for (const auto& [name, amount] : of[less]) {
      const auto other = of[more].find(name);
      if (other == of[more].end()) continue;
      const bool equal = std::string_view(more) == "default" &&
                         std::string_view(less) == "defaultRequest" &&
                         (is_huge(name) || is_extended_resource(name));
      if (equal ? amount.cmp(other->second) != 0 : amount.cmp(other->second) > 0)
        return value_of(path + "." + less + "[" + name + "]", amount.text(),
                        std::string(equal ? "must be " : "must not be more than ") + more + ", " +
                            other->second.text());
    }
  }
  for (const auto& [name, ratio] : of["maxLimitRequestRatio"]) {
    const auto min = of["min"].find(name);
    const auto max = of["max"].find(name);
    const bool bounded = min != of["min"].end() && max != of["max"].end();
    const double most = bounded ? static_cast<double>(max->second.milli_value()) /
                                      static_cast<double>(min->second.milli_value())
                                : std::numeric_limits<double>::infinity();
    const double given = static_cast<double>(ratio.milli_value()) / 1000;
    if (given < 1 || given > most)
      return value_of(path + ".maxLimitRequestRatio[" + name + "]", ratio.text(),
                      "must be at least 1 and at most max/min");
  }
  return {};
}

// Requests and limits of a container, or of a pod.
Found check_resources(const std::string& path, const json& resources, AmountsOf owner,
                      Missing missing) {
  if (!resources.is_object()) return type_of(path, "an object");
  std::map<std::string, Quantity> amounts[2];
  bool any_huge = false;
  bool cpu_or_memory = false;
  for (const int limits : {0, 1}) {
    const char* const list = limits == 0 ? "requests" : "limits";
    const auto found = resources.find(list);
    if (found == resources.end() || found->is_null()) continue;
    const std::string here = path + "." + list;
    if (auto wrong = check_amounts(here, *found, owner)) return wrong;
    for (const auto& [name, value] : found->items()) {
      amounts[limits][name] = read_quantity(value).value_or(Quantity());
      any_huge = any_huge || is_huge(name);
      cpu_or_memory = cpu_or_memory || name == "cpu" || name == "memory";
    }
  }
  for (const auto& [name, request] : amounts[0]) {
    const auto limit = amounts[1].find(name);
    const bool whole = is_huge(name) || is_extended_resource(name);
    if (limit == amounts[1].end()) {
      if (whole && missing == Missing::kRefused)
        return Wrong{422, path + ".limits", "Required value: of " + name};
    } else if (whole ? request.cmp(limit->second) != 0 : request.cmp(limit->second) > 0) {
      return value_of(path + ".requests", request.text(),
                      std::string("must be ") + (whole ? "equal to " : "less than or equal to ") +
                          name + " limit of " + limit->second.text());
    }
  }
  if (missing == Missing::kRefused && any_huge && !cpu_or_memory)
    return Wrong{422, path, "Forbidden: HugePages require cpu or memory"};
  return {};
}

// A scope is for what it says of pods; BestEffort has no amounts (validateResourceQuotaScopes).
Found check_scopes(const std::string& path, const json& spec) {
  if (!spec.is_object()) return type_of(path, "an object");
  const auto scopes = spec.find("scopes");
  const auto hard = spec.find("hard");
  if (scopes == spec.end() || hard == spec.end() || !hard->is_object()) return {};
  for (const json& scope : *scopes) {
    const bool claims = scope == "VolumeAttributesClass";
    for (const auto& [name, value] : hard->items()) {
      if (name.find('/') != std::string::npos || is_huge(name.substr(name.find('.') + 1))) continue;
      const bool amount = name.ends_with("cpu") || name.ends_with("memory");
      const bool fits = claims ? name == "persistentvolumeclaims" || name == "requests.storage"
                               : name == "pods" || (amount && scope != "BestEffort");
      if (!fits)
        return value_of(path + ".scopes", scope, "unsupported scope applied to resource " + name);
    }
  }
  return {};
}

}  // namespace plimsoll::sandbox

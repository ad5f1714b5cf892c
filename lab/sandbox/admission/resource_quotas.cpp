#include "lab/sandbox/admission/resource_quotas.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <plimsoll/join.hpp>
#include <set>

#include "framework/api/symbols.hpp"
#include "framework/base/json_field.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/store/object_shape.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

const Quantity kOne(1, Quantity::Format::kDecimalSI);

// What an object takes of what a quota names; nothing if it does not count there.
using Usage = std::function<std::optional<Quantity>(const std::string& name)>;

// An object that a quota may count.
struct Counted {
  const json& object;
  bool is_pod;
  Usage usage;
};

Usage usage_of_pod(const json& pod, const PodResources& resources) {
  ResourceOptions options;
  options.use_status = true;
  return [ended = is_terminal(pod), requests = pod_requests(resources, options),
          limits =
              pod_limits(resources, options)](const std::string& name) -> std::optional<Quantity> {
    if (name == "count/pods") return kOne;
    if (ended) return std::nullopt;
    if (name == "pods") return kOne;
    const bool limit = name.starts_with("limits.");
    const bool request = name.starts_with("requests.");
    const std::string resource = limit ? name.substr(7) : request ? name.substr(9) : name;
    // Extended resources count by their requests alone.
    if (!request && is_extended_resource(resource)) return std::nullopt;
    const Quantity* found = find_amount(limit ? limits : requests, resource);
    return found == nullptr ? std::nullopt : std::optional(*found);
  };
}

Usage usage_of_claim(const json& claim) {
  const json& spec = object_in(claim, "spec");
  const json asked =
      object_in(object_in(spec, "resources"), "requests").value("storage", json("0"));
  return [of_class = text_at(spec, "storageClassName") + ".storageclass.storage.k8s.io/",
          storage = Quantity::parse_json(asked.dump()).value_or(Quantity())](
             const std::string& name) -> std::optional<Quantity> {
    const bool own = name.starts_with(of_class);
    const std::string resource = own ? name.substr(of_class.size()) : name;
    if (resource == "persistentvolumeclaims" || name == "count/persistentvolumeclaims") return kOne;
    return resource == "requests.storage" ? std::optional(storage) : std::nullopt;
  };
}

struct Scope {
  std::string name;
  std::string op = "Exists";
  std::set<std::string> values;
};

std::vector<Scope> scopes_of(const json& spec) {
  std::vector<Scope> scopes;
  for (const json& each : spec.value("scopes", json::array())) {
    if (each.is_string()) scopes.push_back({each.get<std::string>(), "Exists", {}});
  }
  const json selector = object_in(spec, "scopeSelector");
  for (const json& each : selector.value("matchExpressions", json::array())) {
    if (!each.is_object()) continue;
    Scope scope{text_at(each, "scopeName"), text_at(each, "operator"), {}};
    for (const json& value : each.value("values", json::array()))
      if (value.is_string()) scope.values.insert(value.get<std::string>());
    scopes.push_back(std::move(scope));
  }
  return scopes;
}

// usesCrossNamespacePodAffinity.
bool names_namespaces(const json& spec) {
  const std::string affinity = spec.value("affinity", json()).dump();
  return affinity.find("\"namespaces\":[\"") != std::string::npos ||
         affinity.find("\"namespaceSelector\":{") != std::string::npos;
}

// podMatchesScopeFunc.
bool in_scope(const Scope& scope, const json& pod) {
  const json& spec = pod.at("spec");
  const auto deadline = spec.find("activeDeadlineSeconds");
  const bool ends = deadline != spec.end() && deadline->is_number_integer() && *deadline >= 0;
  if (scope.name == "Terminating") return ends;
  if (scope.name == "NotTerminating") return !ends;
  if (scope.name == "BestEffort") return qos_class(pod) == "BestEffort";
  if (scope.name == "NotBestEffort") return qos_class(pod) != "BestEffort";
  if (scope.name == "CrossNamespacePodAffinity") return names_namespaces(spec);
  if (scope.name != "PriorityClass") return false;
  const std::string named = text_at(spec, "priorityClassName");
  if (scope.op == "Exists") return !named.empty();
  if (scope.op == "DoesNotExist") return named.empty();
  const bool listed = !named.empty() && scope.values.contains(named);
  return scope.op == "In" ? listed : !listed;
}

bool counts(const json& quota, const Counted& counted) {
  const auto scopes = scopes_of(object_in(quota, "spec"));
  if (!counted.is_pod) return scopes.empty();
  return std::ranges::all_of(scopes,
                             [&](const Scope& scope) { return in_scope(scope, counted.object); });
}

using Sums = std::map<std::string, Quantity>;

void add_usage(const json& quota, const Counted& counted, Sums& sums) {
  if (!counts(quota, counted)) return;
  for (auto& [name, sum] : sums) {
    if (const auto usage = counted.usage(name)) sum.add(*usage);
  }
}

// Of everything in the namespace that the quota counts.
void count_again(const ObjectStore& store, const json& quota, Sums& sums) {
  for (auto& [name, sum] : sums) sum = Quantity(0, Quantity::Format::kDecimalSI);
  const std::string ns = text_at(quota.at("metadata"), "namespace");
  SymbolTable symbols;
  if (const auto pods = store.list(kPods, ns)) {
    for (const ObjectPtr& each : pods->objects) {
      const json pod = each->parse();
      if (const auto resources = decode_pod_resources(each->text, symbols))
        add_usage(quota, {pod, true, usage_of_pod(pod, *resources)}, sums);
    }
  }
  if (const auto claims = store.list(kPersistentVolumeClaims, ns)) {
    for (const ObjectPtr& each : claims->objects) {
      const json claim = each->parse();
      add_usage(quota, {claim, false, usage_of_claim(claim)}, sums);
    }
  }
}

// The sums of these names: "cpu=2,memory=1Gi".
std::string words(const std::vector<std::string>& names, const Sums& sums) {
  return sdk::join(names, ",", [&](const std::string& name) {
    const auto found = sums.find(name);
    return name + "=" + (found == sums.end() ? "0" : found->second.canonical());
  });
}

// Adds the object to the quota's status.used; the failure's text if there is no room.
std::optional<std::string> take_room(const ObjectStore& store, const Counted& counted,
                                     json& quota) {
  Sums hard;
  Sums used;
  const json& limits = quota["spec"]["hard"];
  if (!quota["status"].is_object()) quota["status"] = json::object();
  const json known = quota["status"].value("used", json());
  for (const auto& [name, limit] : limits.items()) {
    hard[name] = Quantity::parse_json(limit.dump()).value_or(Quantity());
    const json sum = known.is_object() ? known.value(name, json("0")) : json("0");
    used[name] = Quantity::parse_json(sum.dump()).value_or(Quantity());
  }
  Sums asked;
  for (const auto& [name, limit] : hard) {
    const auto usage = counted.usage(name);
    if (usage && !usage->is_zero()) asked[name] = *usage;
  }
  std::vector<std::string> exceeded;
  for (bool fresh : {false, true}) {
    if (!fresh && !known.is_object()) continue;
    if (fresh) count_again(store, quota, used);
    exceeded.clear();
    for (const auto& [name, amount] : asked) {
      Quantity sum = used[name];
      sum.add(amount);
      if (sum.cmp(hard[name]) > 0) exceeded.push_back(name);
    }
    if (exceeded.empty()) break;
  }
  if (!exceeded.empty()) {
    return "exceeded quota: " + text_at(quota["metadata"], "name") +
           ", requested: " + words(exceeded, asked) + ", used: " + words(exceeded, used) +
           ", limited: " + words(exceeded, hard);
  }
  for (auto& [name, sum] : used) {
    if (const auto found = asked.find(name); found != asked.end()) sum.add(found->second);
    quota["status"]["used"][name] = sum.canonical();
  }
  quota["status"]["hard"] = limits;
  return std::nullopt;
}

// Containers must say what a quota limits of CPU and memory (PodConstraints).
std::string unsaid(const json& quota, const json& pod) {
  const json& spec = pod.at("spec");
  if (!object_in(spec, "resources").empty()) return {};
  std::vector<std::string> parts;
  for (const auto& [name, limit] : quota.at("spec").at("hard").items()) {
    const bool limits = name.starts_with("limits.");
    const std::string resource = name.substr(name.find('.') + 1);
    if (resource != "cpu" && resource != "memory") continue;
    std::set<std::string> without;
    for (const char* list : {"containers", "initContainers"}) {
      for (const json& each : spec.value(list, json::array())) {
        const json& amounts =
            object_in(object_in(each, "resources"), limits ? "limits" : "requests");
        if (!amounts.contains(resource)) without.insert(text_at(each, "name"));
      }
    }
    if (!without.empty()) parts.push_back(name + " for: " + sdk::join(without, ","));
  }
  return parts.empty() ? std::string() : "must specify " + sdk::join(parts, "; ");
}

ApiResult<void> charge(ObjectStore& store, const Counted& counted) {
  const json& metadata = counted.object.at("metadata");
  const char* const resource = counted.is_pod ? "pods" : "persistentvolumeclaims";
  const std::string name = text_at(metadata, "name");
  const auto listed = store.list(kResourceQuotas, text_at(metadata, "namespace"));
  if (!listed) return {};
  for (const ObjectPtr& each : listed->objects) {
    const auto changed =
        store.modify(kResourceQuotas, each->key, {}, [&](json& quota) -> ApiResult<void> {
          if (object_in(object_in(quota, "spec"), "hard").empty()) return {};
          if (!counts(quota, counted)) return {};
          if (counted.is_pod) {
            const std::string missing = unsaid(quota, counted.object);
            if (!missing.empty())
              return forbidden(resource, name, "failed quota: " + each->key.name + ": " + missing);
          }
          const auto full = take_room(store, counted, quota);
          return full ? ApiResult<void>(forbidden(resource, name, *full)) : ApiResult<void>();
        });
    if (!changed && changed.error().code == 403) return ApiFailure(changed.error());
  }
  return {};
}

}  // namespace

ApiResult<void> charge_pod(ObjectStore& store, const json& pod, const PodResources& resources) {
  return charge(store, {pod, true, usage_of_pod(pod, resources)});
}

ApiResult<void> charge_claim(ObjectStore& store, const json& claim) {
  return charge(store, {claim, false, usage_of_claim(claim)});
}

}  // namespace plimsoll::sandbox

#include "lab/sandbox/apiserver/pod_admission.hpp"

#include <algorithm>

#include "framework/api/requests.hpp"
#include "framework/api/symbols.hpp"
#include "framework/base/json_field.hpp"
#include "lab/sandbox/apiserver/limit_ranges.hpp"
#include "lab/sandbox/apiserver/object_shape.hpp"
#include "lab/sandbox/apiserver/pod_rules.hpp"
#include "lab/sandbox/apiserver/resource_quotas.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

// Every cluster has these two (pkg/apis/scheduling/v1/helpers.go).
struct SystemClass {
  const char* name;
  int value;
};
constexpr SystemClass kSystemClasses[] = {{"system-node-critical", 2'000'001'000},
                                          {"system-cluster-critical", 2'000'000'000}};

bool has(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

bool has_value(const json& priority_class) {
  const auto value = priority_class.find("value");
  return value != priority_class.end() && value->is_number_integer();
}

void add_tolerations(json& spec, const json& added) {
  json& all = spec["tolerations"];
  if (!all.is_array()) all = json::array();
  for (const json& each : added) {
    if (std::find(all.begin(), all.end(), each) == all.end()) all.push_back(each);
  }
}

Result<PodResources> resources_of(const json& pod, SymbolTable& symbols) {
  json read = pod;
  set_default(read["metadata"], "name", "generated");
  return decode_pod_resources(read.dump(-1, ' ', false, json::error_handler_t::replace), symbols);
}

}  // namespace

void add_topology_labels(const ObjectStore& store, const std::string& node, json& metadata) {
  const auto found = node.empty() ? ApiResult<ObjectPtr>() : store.get(kNodes, {"", node});
  if (!found || *found == nullptr) return;
  for (const char* key : {"topology.kubernetes.io/region", "topology.kubernetes.io/zone"}) {
    const std::string* value = find_field((*found)->labels, key);
    if (value == nullptr) continue;
    if (!metadata["labels"].is_object()) metadata["labels"] = json::object();
    metadata["labels"][key] = *value;
  }
}

ApiResult<void> PodAdmission::admit(json& pod, std::set<std::string>& missing) {
  json& spec = pod["spec"];
  if (!spec.is_object()) spec = json::object();
  default_requests(spec);
  add_limit_range_defaults(store_, pod);
  {
    const std::lock_guard lock(mutex_);
    set_priority(spec, missing);
    if (auto runs = set_runtime(pod, missing); !runs) return runs;
  }
  add_topology_labels(store_, text_at(spec, "nodeName"), pod["metadata"]);
  set_pod_defaults(pod);
  SymbolTable symbols;
  const auto resources = resources_of(pod, symbols);
  if (!resources) return bad_request("the pod cannot be read: " + resources.error().message);
  if (auto within = check_pod_limits(store_, pod, *resources); !within) return within;
  return charge_pod(store_, pod, *resources);
}

json PodAdmission::class_of(const ResourceName& kind, const char* kind_name,
                            const std::string& name, std::set<std::string>& missing) const {
  if (const auto found = store_.get(kind, {"", name})) return (*found)->parse();
  missing.insert(std::string(kind_name) + " \"" + name + "\"");
  return {};
}

// Of several, the one with the lowest value (getDefaultPriorityClass).
json PodAdmission::default_priority_class() {
  const std::uint64_t newest = store_.last_change(kPriorityClasses);
  if (newest == default_as_of_) return default_class_;
  default_as_of_ = newest;
  default_class_ = nullptr;
  const auto listed = store_.list(kPriorityClasses);
  if (!listed) return default_class_;
  for (const ObjectPtr& each : listed->objects) {
    json read = each->parse();
    const auto marked = read.find("globalDefault");
    if (marked == read.end() || *marked != true || !has_value(read)) continue;
    if (default_class_.is_null() || read["value"] < default_class_["value"]) {
      default_class_ = std::move(read);
    }
  }
  return default_class_;
}

void PodAdmission::set_priority(json& spec, std::set<std::string>& missing) {
  if (has(spec, "priority")) return;
  const std::string name = text_at(spec, "priorityClassName");
  for (const SystemClass& each : kSystemClasses) {
    if (name == each.name) spec["priority"] = each.value;
  }
  if (has(spec, "priority")) return;
  const json found = name.empty() ? default_priority_class()
                                  : class_of(kPriorityClasses, "PriorityClass", name, missing);
  if (!found.is_object() || !has_value(found)) return;
  spec["priority"] = found["value"];
  if (name.empty()) spec["priorityClassName"] = text_at(found["metadata"], "name");
  const std::string policy = text_at(found, "preemptionPolicy");
  if (!policy.empty()) set_default(spec, "preemptionPolicy", policy);
}

ApiResult<void> PodAdmission::set_runtime(json& pod, std::set<std::string>& missing) const {
  json& spec = pod["spec"];
  const std::string name = text_at(spec, "runtimeClassName");
  if (name.empty()) return {};
  const json found = class_of(kRuntimeClasses, "RuntimeClass", name, missing);
  const json& fixed = object_in(object_in(found, "overhead"), "podFixed");
  if (!fixed.empty()) set_default(spec, "overhead", fixed);
  const json& scheduling = object_in(found, "scheduling");
  const json& selector = object_in(scheduling, "nodeSelector");
  if (!selector.empty()) {
    json& own = spec["nodeSelector"];
    if (!own.is_object()) own = json::object();
    for (const auto& [key, value] : selector.items()) {
      if (own.contains(key) && own[key] != value) {
        return forbidden("pods", text_at(pod["metadata"], "name"),
                         "conflict: runtimeClass.scheduling.nodeSelector[" + key +
                             "] = " + text_at(selector, key.c_str()) + "; pod.spec.nodeSelector[" +
                             key + "] = " + text_at(own, key.c_str()));
      }
      own[key] = value;
    }
  }
  const auto tolerations = scheduling.find("tolerations");
  if (tolerations != scheduling.end() && tolerations->is_array()) {
    add_tolerations(spec, *tolerations);
  }
  return {};
}

}  // namespace plimsoll::sandbox

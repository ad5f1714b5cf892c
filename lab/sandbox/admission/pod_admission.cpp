#include "lab/sandbox/admission/pod_admission.hpp"

#include <algorithm>

#include "framework/api/quantity.hpp"
#include "framework/api/symbols.hpp"
#include "framework/base/json_field.hpp"
#include "lab/sandbox/admission/limit_ranges.hpp"
#include "lab/sandbox/admission/pod_amounts.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/admission/resource_quotas.hpp"
#include "lab/sandbox/store/field_rules.hpp"
#include "lab/sandbox/store/object_shape.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

bool has(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

// The priority that a class, or none, gives.
json priority_of(const json& priority_class) {
  const auto found =
      priority_class.is_object() ? priority_class.find("value") : priority_class.end();
  return found != priority_class.end() && found->is_number_integer() ? *found : json(0);
}

bool same_amounts(const json& a, const json& b) {
  return a.size() == b.size() && std::ranges::all_of(a.items(), [&](const auto& each) {
           const auto x = Quantity::parse_json(each.value().dump());
           const auto y = Quantity::parse_json(b.value(each.key(), json()).dump());
           return x && y && x->cmp(*y) == 0;
         });
}

// isSuperset: whether what `a` tolerates includes what `b` does.
bool includes(const json& a, const json& b) {
  if (a == b) return true;
  const auto same = [&](const char* key) { return text_at(a, key) == text_at(b, key); };
  const std::string op = text_at(a, "operator");
  if (!same("key") && (op != "Exists" || !text_at(a, "key").empty())) return false;
  if (!same("effect") && !text_at(a, "effect").empty()) return false;
  if (text_at(a, "effect") == "NoExecute" && has(a, "tolerationSeconds") &&
      (!has(b, "tolerationSeconds") || b["tolerationSeconds"] > a["tolerationSeconds"])) {
    return false;
  }
  return op == "Exists" || (text_at(b, "operator") == "Equal" && same("value"));
}

// MergeTolerations: of two of which one includes the other, that one stays.
void add_tolerations(json& spec, const json& added) {
  json all = spec["tolerations"].is_array() ? spec["tolerations"] : json::array();
  all.insert(all.end(), added.begin(), added.end());
  json merged = json::array();
  for (auto each = all.begin(); each != all.end(); ++each) {
    const bool covered = std::any_of(merged.begin(), merged.end(),
                                     [&](const json& a) { return includes(a, *each); }) ||
                         std::any_of(each + 1, all.end(), [&](const json& a) {
                           return a != *each && includes(a, *each);
                         });
    if (!covered) merged.push_back(*each);
  }
  spec["tolerations"] = std::move(merged);
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

ApiResult<void> PodAdmission::admit(json& pod, std::set<std::string>* missing) {
  json& spec = pod["spec"];
  if (!spec.is_object()) spec = json::object();
  default_requests(spec);
  add_limit_range_defaults(store_, pod);
  {
    const std::lock_guard lock(mutex_);
    if (auto done = set_priority(pod, missing); !done) return done;
  }
  default_tolerations(spec);
  if (auto done = set_runtime(pod, missing); !done) return done;
  add_topology_labels(store_, text_at(spec, "nodeName"), pod["metadata"]);
  set_pod_defaults(pod);
  SymbolTable symbols;
  const auto resources = resources_of(pod, symbols);
  if (!resources) return bad_request("the pod cannot be read: " + resources.error().message);
  if (auto within = check_pod_limits(store_, pod, *resources); !within) return within;
  return charge_pod(store_, pod, *resources);
}

// Of several, the one with the lowest value (getDefaultPriorityClass).
json default_priority_class(const ObjectStore& store) {
  json lowest;
  const auto listed = store.list(kPriorityClasses);
  if (!listed) return lowest;
  for (const ObjectPtr& each : listed->objects) {
    json read = each->parse();
    if (read.value("globalDefault", json()) != true) continue;
    if (lowest.is_null() || priority_of(read) < priority_of(lowest)) lowest = std::move(read);
  }
  return lowest;
}

ApiResult<void> PodAdmission::set_priority(json& pod, std::set<std::string>* missing) {
  json& spec = pod["spec"];
  const auto refuse = [&](const std::string& why) {
    return forbidden("pods", text_at(pod["metadata"], "name"), why);
  };
  const std::string name = text_at(spec, "priorityClassName");
  json found;
  if (name.empty()) {
    if (const auto newest = store_.last_change(kPriorityClasses); newest != default_as_of_) {
      default_class_ = default_priority_class(store_);
      default_as_of_ = newest;
    }
    found = default_class_;
    if (found.is_null()) found = {{"preemptionPolicy", "PreemptLowerPriority"}};
  } else if (const auto value = system_priority(name)) {
    found = {{"value", *value}, {"preemptionPolicy", "PreemptLowerPriority"}};
  } else if (const auto stored = store_.get(kPriorityClasses, {"", name})) {
    found = (*stored)->parse();
  } else if (missing == nullptr) {
    return refuse("no PriorityClass with name " + name + " was found");
  } else {
    missing->insert("PriorityClass \"" + name + "\"");
  }
  const bool given = has(spec, "priority");
  if (given && missing != nullptr) return {};
  if (name.empty() && !default_class_.is_null()) {
    spec["priorityClassName"] = text_at(default_class_["metadata"], "name");
  }
  const json value = priority_of(found);
  if (given && spec["priority"] != value) {
    return refuse("the integer value of priority (" + spec["priority"].dump() +
                  ") must not be provided in pod spec; priority admission controller computed " +
                  value.dump() + " from the given PriorityClass name");
  }
  spec["priority"] = value;
  const std::string policy = text_at(found, "preemptionPolicy");
  const std::string own = text_at(spec, "preemptionPolicy");
  if (missing == nullptr && !policy.empty() && has(spec, "preemptionPolicy") && policy != own) {
    return refuse("the string value of PreemptionPolicy (" + own +
                  ") must not be provided in pod spec; priority admission controller computed " +
                  policy + " from the given PriorityClass name");
  }
  if (!policy.empty()) set_default(spec, "preemptionPolicy", policy);
  return {};
}

ApiResult<void> PodAdmission::set_runtime(json& pod, std::set<std::string>* missing) const {
  json& spec = pod["spec"];
  const std::string name = text_at(spec, "runtimeClassName");
  const auto refuse = [&](const std::string& why) {
    return forbidden("pods", text_at(pod["metadata"], "name"), why);
  };
  json found;
  if (const auto stored = store_.get(kRuntimeClasses, {"", name})) {
    found = (*stored)->parse();
  } else if (name.empty() && has(spec, "runtimeClassName")) {
    return ApiFailure(ApiStatus{500, "InternalError", "resource name may not be empty"});
  } else if (!name.empty() && missing == nullptr) {
    return refuse("pod rejected: RuntimeClass \"" + name + "\" not found");
  } else if (!name.empty()) {
    missing->insert("RuntimeClass \"" + name + "\"");
  }
  const json& fixed = object_in(object_in(found, "overhead"), "podFixed");
  const json& own_overhead = object_in(spec, "overhead");
  const bool fits = fixed.empty() ? !has(spec, "overhead")
                                  : own_overhead.empty() || same_amounts(own_overhead, fixed);
  if (missing == nullptr && !fits) {
    return refuse(fixed.empty() ? "pod rejected: Pod Overhead set without corresponding "
                                  "RuntimeClass defined Overhead"
                                : "pod rejected: Pod's Overhead doesn't match RuntimeClass's "
                                  "defined Overhead");
  }
  if (own_overhead.empty() && !fixed.empty()) spec["overhead"] = fixed;
  const json& scheduling = object_in(found, "scheduling");
  const json& selector = object_in(scheduling, "nodeSelector");
  if (!selector.empty()) {
    json& own = spec["nodeSelector"];
    if (!own.is_object()) own = json::object();
    for (const auto& [key, value] : selector.items()) {
      if (own.contains(key) && own[key] != value) {
        return refuse("conflict: runtimeClass.scheduling.nodeSelector[" + key +
                      "] = " + text_at(selector, key.c_str()) + "; pod.spec.nodeSelector[" + key +
                      "] = " + text_at(own, key.c_str()));
      }
      own[key] = value;
    }
  }
  if (!scheduling.empty()) {
    const json added = scheduling.value("tolerations", json());
    add_tolerations(spec, added.is_array() ? added : json::array());
  }
  return {};
}

}  // namespace plimsoll::sandbox

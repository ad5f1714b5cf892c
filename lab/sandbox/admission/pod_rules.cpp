#include "lab/sandbox/admission/pod_rules.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "framework/api/symbols.hpp"
#include "framework/base/json_field.hpp"
#include "lab/sandbox/admission/pod_amounts.hpp"
#include "lab/sandbox/admission/pod_level_defaults.hpp"
#include "lab/sandbox/store/object_shape.hpp"
#include "lab/sandbox/store/simulated_clock.hpp"

namespace plimsoll::sandbox {
namespace {

bool is_end(std::string_view phase) {
  return phase == "Succeeded" || phase == "Failed";
}

using nlohmann::json;

void default_container_requests(json& owner) {
  if (!owner.is_object()) return;
  const auto resources = owner.find("resources");
  if (resources == owner.end() || !resources->is_object()) return;
  for (const char* amounts : {"requests", "limits"}) settle_amounts(*resources, amounts);
  const auto limits = resources->find("limits");
  if (limits == resources->end() || !limits->is_object()) return;
  const json copy = *limits;
  json& requests = (*resources)["requests"];
  if (!requests.is_object()) requests = json::object();
  for (const auto& [name, quantity] : copy.items()) {
    if (!requests.contains(name)) requests[name] = quantity;
  }
}

bool tolerates_key(const json& tolerations, const char* key) {
  for (const json& toleration : tolerations) {
    const std::string effect = text_at(toleration, "effect");
    if (!effect.empty() && effect != "NoExecute") continue;
    const std::string tolerated = text_at(toleration, "key");
    if (tolerated == key || tolerated.empty()) return true;
  }
  return false;
}

void for_each_container(json& spec, const std::function<void(json& container)>& change) {
  for (const char* list : {"containers", "initContainers"}) for_each_in(spec, list, change);
}

// Ports are TCP's; with the host's network all of them are the host's (defaultHostNetworkPorts).
void default_ports(json& container, bool host_network) {
  for_each_in(container, "ports", [&](json& port) {
    if (!port.is_object()) return;
    set_default(port, "protocol", "TCP");
    if (!host_network || !port.contains("containerPort")) return;
    set_default(port, "hostPort", 0);
    if (port["hostPort"] == 0) port["hostPort"] = port["containerPort"];
  });
}

void add_requirements(json& term, const char* keys, const char* op, const json& labels) {
  const auto listed = term.find(keys);
  const auto selector = term.find("labelSelector");
  if (listed == term.end() || !listed->is_array() || !selector->is_object()) return;
  for (const json& key : *listed) {
    if (!key.is_string() || !labels.contains(key.get<std::string>())) continue;
    const json requirement = {
        {"key", key}, {"operator", op}, {"values", json::array({labels[key.get<std::string>()]})}};
    json& all = (*selector)["matchExpressions"];
    if (!all.is_array()) all = json::array();
    if (std::find(all.begin(), all.end(), requirement) == all.end()) all.push_back(requirement);
  }
}

// The registry merges the pod's own labels into the selectors of its terms and constraints; a null
// selector stays (applyMatchLabelKeysAndMismatchLabelKeys, applyMatchLabelKeys). An exported pod
// has them already.
void merge_label_keys(json& pod) {
  const json labels = object_in(pod["metadata"], "labels");
  const auto merge = [&](json& term) {
    if (!term.is_object() || !term.contains("labelSelector")) return;
    add_requirements(term, "matchLabelKeys", "In", labels);
    add_requirements(term, "mismatchLabelKeys", "NotIn", labels);
  };
  json& spec = pod["spec"];
  for_each_in(spec, "topologySpreadConstraints", merge);
  for (const char* direction : {"podAffinity", "podAntiAffinity"}) {
    if (object_in(object_in(spec, "affinity"), direction).empty()) continue;
    json& terms = spec["affinity"][direction];
    for_each_in(terms, "requiredDuringSchedulingIgnoredDuringExecution", merge);
    for_each_in(terms, "preferredDuringSchedulingIgnoredDuringExecution", [&](json& each) {
      if (each.is_object() && each.contains("podAffinityTerm")) merge(each["podAffinityTerm"]);
    });
  }
}

}  // namespace

std::string qos_class(const json& pod) {
  json read = pod;
  default_requests(read["spec"]);
  SymbolTable symbols;
  const auto resources = resources_of(read, symbols);
  const int qos = resources ? compute_qos(*resources) : int{PLIMSOLL_QOS_BEST_EFFORT};
  return qos == PLIMSOLL_QOS_GUARANTEED  ? "Guaranteed"
         : qos == PLIMSOLL_QOS_BURSTABLE ? "Burstable"
                                         : "BestEffort";
}

void default_tolerations(json& spec) {
  json& tolerations = spec["tolerations"];
  if (!tolerations.is_array()) tolerations = json::array();
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    if (tolerates_key(tolerations, key)) continue;
    tolerations.push_back({{"key", key},
                           {"operator", "Exists"},
                           {"effect", "NoExecute"},
                           {"tolerationSeconds", 300}});
  }
}

void default_requests(json& spec) {
  for_each_container(spec, default_container_requests);
}

void set_pod_defaults(json& pod) {
  json& spec = pod["spec"];
  if (!spec.is_object()) spec = json::object();
  default_requests(spec);
  const bool host_network = spec.contains("hostNetwork") && spec["hostNetwork"] == true;
  for_each_container(spec, [&](json& container) { default_ports(container, host_network); });
  merge_label_keys(pod);
  default_pod_level_resources(spec);
  settle_texts(spec);
  set_default(spec, "schedulerName", "default-scheduler");
  set_default(spec, "restartPolicy", "Always");
  set_default(spec, "terminationGracePeriodSeconds", 30);
  json& grace = spec["terminationGracePeriodSeconds"];
  if (grace.is_number_integer() && grace < 0) grace = 1;
  set_default(spec, "priority", 0);
  set_default(spec, "preemptionPolicy", "PreemptLowerPriority");
  default_tolerations(spec);
  json& status = pod["status"];
  if (!status.is_object()) status = json::object();
  set_default(status, "phase", "Pending");
  set_default(status, "qosClass", qos_class(pod));
  const auto gates = spec.find("schedulingGates");
  if (gates != spec.end() && gates->is_array() && !gates->empty()) {
    set_condition(pod, "PodScheduled", "False", "SchedulingGated",
                  "Scheduling is blocked due to non-empty scheduling gates");
  }
}

bool set_condition(json& object, std::string_view type, std::string_view status,
                   std::string_view reason, std::string_view message) {
  json& conditions = object["status"]["conditions"];
  if (!conditions.is_array()) conditions = json::array();
  json* condition = nullptr;
  for (json& present : conditions) {
    if (text_at(present, "type") == type) condition = &present;
  }
  if (condition == nullptr) {
    conditions.push_back({{"type", type}, {"lastProbeTime", nullptr}});
    condition = &conditions.back();
  } else if (text_at(*condition, "status") == status && text_at(*condition, "reason") == reason &&
             text_at(*condition, "message") == message) {
    return false;
  }
  if (text_at(*condition, "status") != status) (*condition)["lastTransitionTime"] = timestamp_now();
  (*condition)["status"] = status;
  const auto set_or_erase = [&](const char* key, std::string_view value) {
    if (value.empty())
      condition->erase(key);
    else
      (*condition)[key] = value;
  };
  set_or_erase("reason", reason);
  set_or_erase("message", message);
  return true;
}

ApiResult<void> apply_binding(json& pod, const json& binding) {
  const std::string name = text_at(pod.at("metadata"), "name");
  const json target = binding.value("target", json::object());
  const std::string node = text_at(target, "name");
  const std::string kind = text_at(target, "kind");
  if (!kind.empty() && kind != "Node") {
    return invalid("Binding", name,
                   "target.kind: Unsupported value: \"" + kind + "\": supported values: \"Node\"");
  }
  if (node.empty()) return invalid("Binding", name, "target.name: Required value");
  json& spec = pod["spec"];
  if (pod["metadata"].contains("deletionTimestamp")) {
    return conflict("pods/binding", name,
                    "pod " + name + " is being deleted, cannot be assigned to a host");
  }
  if (const std::string assigned = text_at(spec, "nodeName"); !assigned.empty()) {
    return conflict("pods/binding", name,
                    "pod " + name + " is already assigned to node \"" + assigned + "\"");
  }
  if (const auto gates = spec.find("schedulingGates"); gates != spec.end() && !gates->empty()) {
    return conflict("pods/binding", name, "pod " + name + " has non-empty .spec.schedulingGates");
  }
  spec["nodeName"] = node;
  for (const char* map : {"annotations", "labels"}) {
    const json added = binding.at("metadata").value(map, json::object());
    if (added.is_object() && !added.empty()) pod["metadata"][map].update(added);
  }
  set_condition(pod, "PodScheduled", "True");
  pod["status"].erase("nominatedNodeName");
  return {};
}

bool is_terminal(const json& pod) {
  const auto status = pod.find("status");
  return status != pod.end() && is_end(text_at(*status, "phase"));
}

bool is_terminal(const StoredObject& pod) {
  return is_end(pod.field("status.phase"));
}

ApiResult<void> check_pod_update(const json& before, const json& after) {
  const std::string old_node = text_at(before.at("spec"), "nodeName");
  const std::string new_node = text_at(after.value("spec", json::object()), "nodeName");
  if (old_node == new_node) return {};
  return invalid("Pod", text_at(before.at("metadata"), "name"),
                 "spec: Forbidden: pod updates may not change fields other than "
                 "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                 "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
                 "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
                 "was previously negative): nodeName cannot be changed");
}

}  // namespace plimsoll::sandbox

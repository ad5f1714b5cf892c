#include "lab/sandbox/store/field_rules.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <plimsoll/join.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "framework/api/decode/decode.hpp"
#include "framework/api/lists.hpp"
#include "framework/api/quantity.hpp"
#include "framework/api/requests.hpp"
#include "framework/api/selectors.hpp"
#include "framework/base/json_field.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

// A line for each field: its kind ("*": every kind), path, type, and checks. "[]" stands for every
// item of a list, "%" and "&" for several names.
//   required       missing, null or empty is refused
//   given          "" is not as missing
//   unique=A+B     no other item of the list has the same A and B; ".": the same item
//   one=A,B        one of these members, and no other; "*": of kSources
//   most-one=A,B   none of them will do, too
//   apart=A+B+C    the list has not A beside B or C
constexpr const char* kRules = R"(
* apiVersion text
* kind text
* metadata.name text name
* metadata.generateName text prefix
* metadata.namespace text
* metadata.uid text
* metadata.resourceVersion text
* metadata.labels labels
* metadata.annotations annotations
* metadata.finalizers[] text finalizer
* metadata.ownerReferences[].apiVersion text required
* metadata.ownerReferences[].kind text required
* metadata.ownerReferences[].name text required
* metadata.ownerReferences[].uid text required
Pod spec map required
Pod spec.containers list required
Pod spec.%[] map unique=name
Pod spec.%[].name text required label
Pod spec.%[].image text
Pod spec.%[].restartPolicy text in=Always,OnFailure,Never
Pod spec.%[].resources container-resources
Pod spec.%[].ports[].containerPort int required min=1 max=65535
Pod spec.%[].ports[].hostPort int min=0 max=65535
Pod spec.%[].ports[].protocol text in=TCP,UDP,SCTP
Pod spec.%[].ports[].hostIP text
Pod spec.%[].ports[].name text
Pod spec.resources pod-resources
Pod spec.overhead container-amounts
Pod spec.priority int
Pod spec.priorityClassName text
Pod spec.preemptionPolicy text in=Never,PreemptLowerPriority
Pod spec.runtimeClassName text name
Pod spec.schedulerName text
Pod spec.serviceAccountName text
Pod spec.hostname text
Pod spec.hostNetwork bool
Pod spec.nodeName text name
Pod spec.nodeSelector labels
Pod spec.restartPolicy text in=Always,OnFailure,Never
Pod spec.terminationGracePeriodSeconds long
Pod spec.schedulingGates[] map unique=name
Pod spec.schedulingGates[].name text required key
Pod spec.tolerations[] toleration
Pod spec.tolerations[].key text key
Pod spec.tolerations[].operator text in=Exists,Equal
Pod spec.tolerations[].value text
Pod spec.tolerations[].effect text in=NoSchedule,PreferNoSchedule,NoExecute
Pod spec.tolerations[].tolerationSeconds long
Pod spec.topologySpreadConstraints[] spread-constraint unique=topologyKey+whenUnsatisfiable
Pod spec.topologySpreadConstraints[].maxSkew int required min=1
Pod spec.topologySpreadConstraints[].minDomains int min=1
Pod spec.topologySpreadConstraints[].topologyKey text required key
Pod spec.topologySpreadConstraints[].whenUnsatisfiable text required in=DoNotSchedule,ScheduleAnyway
Pod spec.topologySpreadConstraints[].nodeAffinityPolicy text in=Honor,Ignore
Pod spec.topologySpreadConstraints[].nodeTaintsPolicy text in=Honor,Ignore
Pod spec.topologySpreadConstraints[].labelSelector selector
Pod spec.affinity map
Pod spec.affinity.nodeAffinity map
Pod spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution node-selector
Pod spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[].weight int required min=1 max=100
Pod spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[].preference node-term
Pod spec.affinity.podAffinity map
Pod spec.affinity.podAntiAffinity map
Pod spec.affinity.&.preferredDuringSchedulingIgnoredDuringExecution[].weight int required min=1 max=100
Pod spec.affinity.&.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.topologyKey text required key
Pod spec.affinity.&.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.labelSelector selector
Pod spec.affinity.&.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.namespaceSelector selector
Pod spec.affinity.&.requiredDuringSchedulingIgnoredDuringExecution[].topologyKey text required key
Pod spec.affinity.&.requiredDuringSchedulingIgnoredDuringExecution[].labelSelector selector
Pod spec.affinity.&.requiredDuringSchedulingIgnoredDuringExecution[].namespaceSelector selector
Pod spec.volumes[] map unique=name most-one=*
Pod spec.volumes[].name text required label
Pod spec.volumes[].persistentVolumeClaim.claimName text required
Pod spec.volumes[].ephemeral.volumeClaimTemplate map required
Pod spec.volumes[].ephemeral.volumeClaimTemplate.spec.accessModes list required
Pod spec.volumes[].ephemeral.volumeClaimTemplate.spec.resources.requests.storage amount required positive
Pod spec.resourceClaims[] map unique=name one=resourceClaimName,resourceClaimTemplateName
Pod spec.resourceClaims[].name text required label
Namespace metadata.name text label
Namespace spec.finalizers[] text finalizer
Node spec.unschedulable bool
Node spec.podCIDR text
Node spec.providerID text
Node spec.taints[] map unique=key+effect
Node spec.taints[].key text required key
Node spec.taints[].value text value
Node spec.taints[].effect text required in=NoSchedule,PreferNoSchedule,NoExecute
Node status.capacity amounts
Node status.allocatable amounts
Node status.%[] map
Node status.declaredFeatures[] text key unique=.
PersistentVolume spec map required one=*
PersistentVolume spec.capacity amounts required
PersistentVolume spec.capacity.storage amount required positive
PersistentVolume spec.accessModes list required apart=ReadWriteOncePod+ReadWriteOnce+ReadOnlyMany+ReadWriteMany
PersistentVolume spec.accessModes[] text in=ReadWriteOnce,ReadOnlyMany,ReadWriteMany,ReadWriteOncePod
PersistentVolume spec.persistentVolumeReclaimPolicy text in=Retain,Delete,Recycle
PersistentVolume spec.volumeMode text given in=Filesystem,Block
PersistentVolume spec.storageClassName text name
PersistentVolume spec.csi.driver text required
PersistentVolume spec.csi.volumeHandle text required
PersistentVolume spec.hostPath.path text required
PersistentVolume spec.claimRef map
PersistentVolume spec.nodeAffinity map
PersistentVolume spec.nodeAffinity.required node-selector required
PersistentVolumeClaim spec map required
PersistentVolumeClaim spec.accessModes list required apart=ReadWriteOncePod+ReadWriteOnce+ReadOnlyMany+ReadWriteMany
PersistentVolumeClaim spec.accessModes[] text in=ReadWriteOnce,ReadOnlyMany,ReadWriteMany,ReadWriteOncePod
PersistentVolumeClaim spec.resources map required
PersistentVolumeClaim spec.resources.requests amounts required
PersistentVolumeClaim spec.resources.requests.storage amount required positive
PersistentVolumeClaim spec.storageClassName text name
PersistentVolumeClaim spec.volumeName text
PersistentVolumeClaim spec.volumeMode text given in=Filesystem,Block
PersistentVolumeClaim spec.selector selector
PersistentVolumeClaim spec.dataSource map
StorageClass provisioner text required key
StorageClass reclaimPolicy text in=Delete,Retain
StorageClass volumeBindingMode text given in=Immediate,WaitForFirstConsumer
StorageClass allowVolumeExpansion bool
StorageClass parameters texts
StorageClass mountOptions list
StorageClass allowedTopologies[] map unique=matchLabelExpressions
StorageClass allowedTopologies[].matchLabelExpressions list required
StorageClass allowedTopologies[].matchLabelExpressions[] map unique=key
StorageClass allowedTopologies[].matchLabelExpressions[].key text required key
StorageClass allowedTopologies[].matchLabelExpressions[].values list required
StorageClass allowedTopologies[].matchLabelExpressions[].values[] text unique=.
CSINode spec map
CSINode spec.drivers[] map unique=name
CSINode spec.drivers[].name text required caseless-name
CSINode spec.drivers[].nodeID text required
CSINode spec.drivers[].topologyKeys[] text key unique=.
CSINode spec.drivers[].allocatable map
CSINode spec.drivers[].allocatable.count int min=0
CSIDriver spec map
CSIDriver spec.attachRequired bool
CSIDriver spec.storageCapacity bool
CSIDriver spec.podInfoOnMount bool
CSIDriver spec.preventPodSchedulingIfMissing bool
CSIDriver spec.fsGroupPolicy text given in=None,File,ReadWriteOnceWithFSType
CSIDriver spec.volumeLifecycleModes[] text in=Persistent,Ephemeral
CSIStorageCapacity storageClassName text required name
CSIStorageCapacity capacity amount
CSIStorageCapacity maximumVolumeSize any-amount
CSIStorageCapacity nodeTopology selector
VolumeAttachment spec map required
VolumeAttachment spec.attacher text required caseless-name
VolumeAttachment spec.nodeName text required name
VolumeAttachment spec.source map required one=persistentVolumeName,inlineVolumeSpec
PodDisruptionBudget spec map most-one=minAvailable,maxUnavailable
PodDisruptionBudget spec.minAvailable int-or-share
PodDisruptionBudget spec.maxUnavailable int-or-share
PodDisruptionBudget spec.selector selector
PodDisruptionBudget spec.unhealthyPodEvictionPolicy text given in=IfHealthyBudget,AlwaysAllow
PriorityClass value int
PriorityClass globalDefault bool
PriorityClass preemptionPolicy text given in=Never,PreemptLowerPriority
PriorityClass description text
RuntimeClass handler text required label
RuntimeClass overhead.podFixed container-amounts
RuntimeClass scheduling.nodeSelector labels
RuntimeClass scheduling.tolerations[] toleration
RuntimeClass scheduling.tolerations[].operator text in=Exists,Equal
LimitRange spec.limits[] limits unique=type
LimitRange spec.limits[].type text required key
ResourceQuota spec quota
ResourceQuota spec.hard quota-amounts
ResourceQuota spec.scopes[] text in=Terminating,NotTerminating,BestEffort,NotBestEffort,PriorityClass,CrossNamespacePodAffinity,VolumeAttributesClass
ResourceQuota spec.scopes list apart=BestEffort+NotBestEffort apart=Terminating+NotTerminating
Service spec.selector labels
ReplicationController spec.selector texts
ReplicationController spec.replicas int min=0
ReplicaSet spec.selector selector required
ReplicaSet spec.replicas int min=0
StatefulSet spec.selector selector required
StatefulSet spec.replicas int min=0
)";

struct Rule {
  std::string path;
  std::string type;
  std::vector<std::string> checks;
};

const std::multimap<std::string, Rule, std::less<>>& rules() {
  static const auto all = [] {
    std::multimap<std::string, Rule, std::less<>> read;
    std::istringstream lines(kRules);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string kind;
      Rule rule;
      if (!(words >> kind >> rule.path >> rule.type)) continue;
      for (std::string check; words >> check;) rule.checks.push_back(check);
      const auto add = [&](const char* mark, const std::vector<const char*>& texts) {
        const std::size_t at = rule.path.find(mark);
        for (const char* text : texts) {
          Rule made = rule;
          if (at != std::string::npos) made.path.replace(at, 1, text);
          read.emplace(kind, std::move(made));
          if (at == std::string::npos) break;
        }
      };
      if (rule.path.find('&') != std::string::npos) {
        add("&", {"podAffinity", "podAntiAffinity"});
      } else if (kind == "Node") {
        add("%", {"conditions", "images", "addresses", "volumesAttached"});
      } else {
        add("%", {"containers", "initContainers"});
      }
    }
    return read;
  }();
  return all;
}

// What is wrong: the path, and 400 for a type or 422.
struct Wrong {
  int code;
  std::string path;
  std::string why;
};
using Found = std::optional<Wrong>;

Wrong type_of(const std::string& path, const char* expected) {
  return {400, path, std::string("expected ") + expected};
}
Wrong value_of(const std::string& path, const json& value, const std::string& why) {
  return {
      422, path,
      "Invalid value: " + value.dump(-1, ' ', false, json::error_handler_t::replace) + ": " + why};
}

bool is_label_name(std::string_view name) {
  return name.size() <= 63 && name.find('.') == std::string_view::npos && is_subdomain_name(name);
}

std::optional<Quantity> read_quantity(const json& value) {
  if (!value.is_string() && !value.is_number()) return std::nullopt;
  auto parsed = Quantity::parse_json(value.dump(-1, ' ', false, json::error_handler_t::replace));
  return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

bool is_huge(std::string_view name) {
  return name.starts_with("hugepages-");
}

// What a pod has of its own.
bool is_pod_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || is_huge(name);
}

// What containers have; nodes may have others (ValidateContainerResourceName).
bool is_container_resource(std::string_view name) {
  return is_pod_resource(name) || name == "ephemeral-storage" ||
         name.find('/') != std::string_view::npos;
}

// What a quota counts (IsStandardQuotaResourceName); the first ones in whole numbers.
constexpr std::string_view kCounts[] = {"pods",
                                        "resourcequotas",
                                        "services",
                                        "replicationcontrollers",
                                        "secrets",
                                        "configmaps",
                                        "persistentvolumeclaims",
                                        "services.nodeports",
                                        "services.loadbalancers"};

bool is_quota_resource(std::string_view name) {
  std::string_view of = name;
  for (const std::string_view prefix : {"requests.", "limits."}) {
    if (name.starts_with(prefix)) of = name.substr(prefix.size());
  }
  return is_container_resource(of) || name == "requests.storage" ||
         std::ranges::count(kCounts, name) > 0;
}

bool any_resource(std::string_view /*name*/) {
  return true;
}

Found check_amount(const std::string& path, const json& value, bool negative = false) {
  if (value.is_null()) return {};
  const auto amount = read_quantity(value);
  if (!amount) return type_of(path, "a quantity");
  if (amount->sign() < 0 && !negative)
    return value_of(path, value, "must be greater than or equal to 0");
  return {};
}

Found check_amounts(const std::string& path, const json& list,
                    bool (*may_have)(std::string_view name) = any_resource) {
  if (!list.is_object()) return type_of(path, "an object of quantities");
  for (const auto& [name, value] : list.items()) {
    if (auto wrong = check_amount(path + "[" + name + "]", value)) return wrong;
  }
  for (const auto& [name, value] : list.items()) {
    const std::string here = path + "[" + name + "]";
    if (!is_label_key(name)) return value_of(here, name, "must be a qualified name");
    if (!may_have(name)) return value_of(here, name, "must be a standard resource");
    const auto amount = read_quantity(value);
    const bool whole = is_extended_resource(name) ||
                       (std::ranges::count(kCounts, name) > 0 && may_have == is_quota_resource);
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
    const bool of_containers = pod || type == "Container";
    if (auto wrong =
            check_amounts(here, *found, of_containers ? is_container_resource : any_resource))
      return wrong;
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
Found check_resources(const std::string& path, const json& resources, bool of_pod,
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
    if (auto wrong = check_amounts(here, *found, of_pod ? is_pod_resource : is_container_resource))
      return wrong;
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

Found check_texts(const std::string& path, const json& map, bool keys, bool values) {
  if (!map.is_object()) return type_of(path, "an object of strings");
  for (const auto& [key, value] : map.items()) {
    if (!value.is_string() && !value.is_null()) return type_of(path + "[" + key + "]", "a string");
  }
  for (const auto& [key, value] : map.items()) {
    std::string lower = key;
    if (!values)
      std::ranges::transform(lower, lower.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (keys && !is_label_key(lower)) return value_of(path, key, "must be a qualified name");
    if (!keys && key.empty()) return value_of(path, key, "a key cannot be empty");
    if (values && value.is_string() && !is_label_value(value.get<std::string>()))
      return value_of(path, value, "must be a valid label");
  }
  return {};
}

Found check_selector(const std::string& path, const json& value) {
  const auto read =
      decode_label_selector(value.dump(-1, ' ', false, json::error_handler_t::replace));
  if (!read) return type_of(path, "a label selector");
  const auto valid = validate(**read);
  return valid ? Found() : Found(value_of(path, value, valid.error().message));
}

Found check_node_term(const std::string& path, const json& term) {
  const json affinity = {{"requiredDuringSchedulingIgnoredDuringExecution",
                          {{"nodeSelectorTerms", json::array({term})}}}};
  const auto read =
      decode_node_affinity(affinity.dump(-1, ' ', false, json::error_handler_t::replace));
  if (!read) return type_of(path, "a node selector term");
  for (const auto& each : sdk::List<plimsoll_node_selector_term>((*read)->required)) {
    if (has_error(each)) return value_of(path, term, "a requirement is not valid");
  }
  return {};
}

Found check_node_selector(const std::string& path, const json& selector) {
  const auto terms = selector.is_object() ? selector.find("nodeSelectorTerms") : selector.end();
  if (!selector.is_object() || (terms != selector.end() && !terms->is_null() && !terms->is_array()))
    return type_of(path, "a node selector");
  if (terms == selector.end() || terms->empty())
    return Wrong{422, path + ".nodeSelectorTerms",
                 "Required value: must have at least one node selector term"};
  for (std::size_t i = 0; i < terms->size(); ++i) {
    const std::string here = path + ".nodeSelectorTerms[" + std::to_string(i) + "]";
    if (auto wrong = check_node_term(here, (*terms)[i])) return wrong;
  }
  return {};
}

Found check_toleration(const std::string& path, const json& toleration) {
  if (toleration.is_null())
    return value_of(path, toleration, "operator must be Exists when `key` is empty");
  if (!toleration.is_object()) return type_of(path, "an object");
  const std::string op = text_at(toleration, "operator");
  if (text_at(toleration, "key").empty() && op != "Exists")
    return value_of(path + ".operator", op, "operator must be Exists when `key` is empty");
  if (op == "Exists" && !text_at(toleration, "value").empty())
    return value_of(path + ".operator", op, "value must be empty when `operator` is 'Exists'");
  if (op != "Exists" && !is_label_value(text_at(toleration, "value")))
    return value_of(path + ".operator", text_at(toleration, "value"), "must be a valid label");
  if (toleration.contains("tolerationSeconds") && !toleration["tolerationSeconds"].is_null() &&
      text_at(toleration, "effect") != "NoExecute") {
    return value_of(path + ".effect", text_at(toleration, "effect"),
                    "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
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

Found check_spread_constraint(const std::string& path, const json& constraint) {
  if (!constraint.is_object()) return type_of(path, "an object");
  const auto has = [&](const char* key) {
    const auto found = constraint.find(key);
    return found != constraint.end() && !found->empty();
  };
  if (has("minDomains") && text_at(constraint, "whenUnsatisfiable") == "ScheduleAnyway")
    return value_of(path + ".minDomains", constraint["minDomains"],
                    "is for `whenUnsatisfiable: DoNotSchedule`");
  if (has("matchLabelKeys") && !has("labelSelector"))
    return Wrong{422, path + ".matchLabelKeys", "Forbidden: must be used with labelSelector"};
  return {};
}

Found check_int_or_share(const std::string& path, const json& value) {
  if (value.is_number_integer()) {
    return value < 0 ? Found(value_of(path, value, "must be greater than or equal to 0")) : Found();
  }
  if (!value.is_string()) return type_of(path, "a number or a string");
  const std::string text = value.get<std::string>();
  const bool share = text.size() > 1 && text.size() <= 4 && text.ends_with('%') &&
                     std::all_of(text.begin(), text.end() - 1,
                                 [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!share) return value_of(path, value, "must be an integer or percentage");
  return std::stoi(text) > 100 ? Found(value_of(path, value, "must not be greater than 100%"))
                               : Found();
}

Found check_type(const std::string& path, const std::string& type, const json& value,
                 Missing missing) {
  const bool integer = value.is_number_integer();
  if (type == "text") return value.is_string() ? Found() : type_of(path, "a string");
  if (type == "bool") return value.is_boolean() ? Found() : type_of(path, "true or false");
  if (type == "list") return value.is_array() ? Found() : type_of(path, "a list");
  if (type == "map") return value.is_object() ? Found() : type_of(path, "an object");
  if (type == "long") return integer ? Found() : type_of(path, "an integer");
  if (type == "int") {
    const bool fits = integer && value >= std::numeric_limits<std::int32_t>::min() &&
                      value <= std::numeric_limits<std::int32_t>::max();
    return fits ? Found() : type_of(path, "an integer of 32 bits");
  }
  if (type == "labels") return check_texts(path, value, true, true);
  if (type == "annotations") return check_texts(path, value, true, false);
  if (type == "texts") return check_texts(path, value, false, false);
  if (type == "amount") return check_amount(path, value);
  if (type == "any-amount") return check_amount(path, value, true);
  if (type == "amounts") return check_amounts(path, value);
  if (type == "container-amounts") return check_amounts(path, value, is_container_resource);
  if (type == "quota-amounts") return check_amounts(path, value, is_quota_resource);
  if (type == "limits") return check_limits(path, value);
  if (type == "quota") return check_scopes(path, value);
  if (type == "spread-constraint") return check_spread_constraint(path, value);
  if (type == "container-resources") return check_resources(path, value, false, missing);
  if (type == "pod-resources") return check_resources(path, value, true, missing);
  if (type == "selector") return check_selector(path, value);
  if (type == "node-selector") return check_node_selector(path, value);
  if (type == "node-term") return check_node_term(path, value);
  if (type == "toleration") return check_toleration(path, value);
  return check_int_or_share(path, value);
}

std::vector<std::string> split(const std::string& list, char mark) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, mark);) parts.push_back(part);
  return parts;
}

// The members of a volume that say what it is.
constexpr const char* kSources =
    "hostPath,emptyDir,gcePersistentDisk,awsElasticBlockStore,gitRepo,secret,nfs,iscsi,glusterfs,"
    "persistentVolumeClaim,rbd,flexVolume,cinder,cephfs,flocker,downwardAPI,fc,azureFile,configMap,"
    "vsphereVolume,quobyte,azureDisk,photonPersistentDisk,projected,portworxVolume,scaleIO,"
    "storageos,csi,ephemeral,image,local";

// "one=" and "most-one=": which members an object has.
Found check_members(const std::string& path, const std::string& names, const json& object,
                    bool none) {
  const auto listed = split(names == "*" ? kSources : names, ',');
  const auto has = std::ranges::count_if(listed, [&](const std::string& name) {
    const auto found = object.find(name);
    return found != object.end() && !found->is_null();
  });
  if (has == 0 && !none) return Wrong{422, path, "Required value: must have one of " + names};
  if (has > 1) return Wrong{422, path, "Forbidden: may not have more than one of " + names};
  return {};
}

// `given`: "" is not as missing.
Found check_value(const std::string& path, const std::string& check, const json& value,
                  bool given) {
  const std::string text = value.is_string() ? value.get<std::string>() : std::string();
  const auto number = [&](std::size_t from) { return std::stoll(check.substr(from)); };
  if (check.starts_with("in=")) {
    const std::string all = "," + check.substr(3) + ",";
    if ((text.empty() && !given) || all.find("," + text + ",") != std::string::npos) return {};
    return Wrong{
        422, path,
        "Unsupported value: " + json(text).dump(-1, ' ', false, json::error_handler_t::replace) +
            ": supported values: " + check.substr(3)};
  }
  if (check.starts_with("min="))
    return value < number(4) ? Found(value_of(path, value, "must be at least " + check.substr(4)))
                             : Found();
  if (check.starts_with("max="))
    return value > number(4) ? Found(value_of(path, value, "must be at most " + check.substr(4)))
                             : Found();
  if (check == "positive") {
    const auto amount = read_quantity(value);
    return amount && amount->sign() > 0 ? Found()
                                        : Found(value_of(path, value, "must be greater than zero"));
  }
  if (check.starts_with("apart=")) {
    const auto names = split(check.substr(6), '+');
    const auto in_list = [&](const std::string& name) {
      return std::ranges::count(value, json(name)) > 0;
    };
    const bool both = in_list(names[0]) && std::any_of(names.begin() + 1, names.end(), in_list);
    return both ? Found(Wrong{422, path, "Forbidden: may not have " + names[0] + " with others"})
                : Found();
  }
  if (text.empty() && !given) return {};
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool dash = text.size() > 1 && text.ends_with('-');
  const bool fine =
      check == "label"           ? is_label_name(text)
      : check == "name"          ? is_subdomain_name(text)
      : check == "caseless-name" ? text.size() <= 63 && is_subdomain_name(lower)
      : check == "prefix"        ? is_subdomain_name(dash ? text.substr(0, text.size() - 1) : text)
      : check == "key"           ? is_label_key(text)
      : check == "value"         ? is_label_value(text)
      : check == "finalizer"
          ? is_label_key(text) && (text.find('/') != std::string::npos || text == "orphan" ||
                                   text == "foregroundDeletion" || text == "kubernetes")
          : true;
  return fine ? Found()
              : Found(value_of(path, value,
                               check == "name" ? kSubdomainRule : "is not a valid " + check));
}

class Check {
 public:
  Check(const Rule& rule, Missing missing) : rule_(rule), missing_(missing) {}

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the path of the rule
  Found look(const json& owner, std::string_view rest, const std::string& path) {
    const std::size_t end = rest.find_first_of(".[");
    const std::string name(rest.substr(0, end));
    const std::string here = path.empty() ? name : path + "." + name;
    if (!owner.is_object()) {
      return owner.is_null() ? Found()
                             : Found(type_of(path.empty() ? "object" : path, "an object"));
    }
    const auto found = owner.find(name);
    static const json kNull;
    const json& value = found == owner.end() ? kNull : *found;
    if (end == std::string_view::npos) return leaf(value, here);
    if (value.is_null()) return {};
    rest.remove_prefix(end);
    if (!rest.starts_with("[]")) return look(value, rest.substr(1), here);
    if (!value.is_array()) return type_of(here, "a list");
    rest.remove_prefix(2);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string item = here + "[" + std::to_string(i) + "]";
      // A typed decoder reads null as an item without any field.
      static const json kNone = json::object();
      const Found wrong = rest.empty()
                              ? leaf(value[i], item, true)
                              : look(value[i].is_null() ? kNone : value[i], rest.substr(1), item);
      if (wrong) return wrong;
      if (rest.empty() && repeats(value[i], seen)) return Wrong{422, item, "Duplicate value"};
    }
    return {};
  }

 private:
  Found leaf(const json& of, const std::string& path, bool item = false) const {
    static const json kEmpty = "";
    const json& value = item && of.is_null() && rule_.type == "text" ? kEmpty : of;
    const auto has = [&](const char* check) {
      return std::ranges::find(rule_.checks, check) != rule_.checks.end();
    };
    const bool required = missing_ == Missing::kRefused && has("required");
    const bool empty = value.is_null() || (value.is_structured() && value.empty()) ||
                       (value.is_string() && value.get_ref<const std::string&>().empty());
    if (!value.is_null()) {
      if (auto wrong = check_type(path, rule_.type, value, missing_)) return wrong;
    } else if (rule_.type == "toleration") {
      return check_toleration(path, value);
    }
    if (required && empty) return Wrong{422, path, "Required value"};
    if (value.is_null()) return {};
    for (const std::string& check : rule_.checks) {
      const bool most = check.starts_with("most-one=");
      if (most || check.starts_with("one=")) {
        const bool none = most || missing_ == Missing::kTaken;
        if (auto wrong = check_members(path, check.substr(check.find('=') + 1), value, none))
          return wrong;
        continue;
      }
      if (check == "required" || check == "given" || check.starts_with("unique=")) continue;
      if (auto wrong = check_value(path, check, value, item || has("given"))) return wrong;
    }
    return {};
  }

  // Whether another item had the same values of the fields that tell items apart.
  bool repeats(const json& item, std::set<std::string>& seen) const {
    for (const std::string& check : rule_.checks) {
      if (!check.starts_with("unique=")) continue;
      std::string key;
      for (const std::string& field : split(check.substr(7), '+')) {
        const json part = item.is_object() ? item.value(field, json()) : item;
        key += part.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
      }
      return !seen.insert(key).second;
    }
    return false;
  }

  const Rule& rule_;
  const Missing missing_;
};

// ValidatePriorityClass.
Found check_priority_class(const json& object) {
  const auto found = object.find("value");
  const json value = found == object.end() || found->is_null() ? json(0) : *found;
  const std::string name = text_at(object.value("metadata", json::object()), "name");
  if (name.starts_with("system-")) {
    if (system_priority(name) == value) return {};
    return Wrong{422, "metadata.name", "Forbidden: names with system- are those of the system"};
  }
  if (value.is_number_integer() && value > 1'000'000'000)
    return Wrong{422, "value", "Forbidden: maximum allowed value is 1000000000"};
  return {};
}

}  // namespace

std::optional<int> system_priority(std::string_view name) {
  if (name == "system-node-critical") return 2'000'001'000;
  if (name == "system-cluster-critical") return 2'000'000'000;
  return std::nullopt;
}

bool is_subdomain_name(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  char before = '.';
  for (const char c : name) {
    if (!letter(c) && c != '-' && c != '.') return false;
    if (!letter(c) && (before == '.' || (c == '.' && before == '-'))) return false;
    before = c;
  }
  return letter(before);
}

ApiResult<void> check_fields(const KindInfo& kind, const json& object, Missing missing) {
  Found first;
  for (const std::string_view of : {std::string_view("*"), std::string_view(kind.kind)}) {
    const auto [begin, end] = rules().equal_range(of);
    for (auto rule = begin; rule != end; ++rule) {
      auto wrong = Check(rule->second, missing).look(object, rule->second.path, "");
      // A wrong type is found before any value is looked at.
      if (wrong && (!first || (wrong->code == 400 && first->code != 400))) first = std::move(wrong);
    }
  }
  if (!first && kind.resource == kPriorityClasses) first = check_priority_class(object);
  if (!first) return {};
  const std::string what = first->path + ": " + first->why;
  if (first->code == 400) {
    return bad_request(kind.kind + " in version \"" + kind.versions.front() +
                       "\" cannot be handled as a " + kind.kind + ": " + what);
  }
  const auto metadata = object.find("metadata");
  return invalid(kind.qualified_kind(),
                 metadata == object.end() ? std::string() : text_at(*metadata, "name"), what);
}

}  // namespace plimsoll::sandbox

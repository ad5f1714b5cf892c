#include "lab/sandbox/store/field_rules.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "framework/api/decode/decode.hpp"
#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"
#include "framework/base/json_field.hpp"
#include "framework/base/split.hpp"
#include "lab/sandbox/store/amount_rules.hpp"
#include "lab/sandbox/store/object_shape.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

// A line for each field: its kind ("*": every kind), path, type, and checks. "[]" stands for every
// item of a list, "{A,B}" for each of several names.
//   required       missing, null or empty is refused
//   given          "" is not as missing
//   unique=A,B     no other item of the list has the same A and B; ".": the same item
//   one=A,B        one of these members, and no other; "*": of kSources
//   most-one=A,B   none of them will do, too
//   apart=A,B,C    the list has not A beside B or C
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
Pod spec.{containers,initContainers}[] map unique=name
Pod spec.{containers,initContainers}[].name text required label
Pod spec.{containers,initContainers}[].image text
Pod spec.{containers,initContainers}[].restartPolicy text in=Always,OnFailure,Never
Pod spec.{containers,initContainers}[].resources container-resources
Pod spec.{containers,initContainers}[].ports[].containerPort int required min=1 max=65535
Pod spec.{containers,initContainers}[].ports[].hostPort int min=0 max=65535
Pod spec.{containers,initContainers}[].ports[].protocol text in=TCP,UDP,SCTP
Pod spec.{containers,initContainers}[].ports[].hostIP text
Pod spec.{containers,initContainers}[].ports[].name text
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
Pod spec.topologySpreadConstraints[] spread-constraint unique=topologyKey,whenUnsatisfiable
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
Pod spec.affinity.{podAffinity,podAntiAffinity}.preferredDuringSchedulingIgnoredDuringExecution[].weight int required min=1 max=100
Pod spec.affinity.{podAffinity,podAntiAffinity}.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.topologyKey text required key
Pod spec.affinity.{podAffinity,podAntiAffinity}.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.labelSelector selector
Pod spec.affinity.{podAffinity,podAntiAffinity}.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.namespaceSelector selector
Pod spec.affinity.{podAffinity,podAntiAffinity}.requiredDuringSchedulingIgnoredDuringExecution[].topologyKey text required key
Pod spec.affinity.{podAffinity,podAntiAffinity}.requiredDuringSchedulingIgnoredDuringExecution[].labelSelector selector
Pod spec.affinity.{podAffinity,podAntiAffinity}.requiredDuringSchedulingIgnoredDuringExecution[].namespaceSelector selector
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
Node spec.taints[] map unique=key,effect
Node spec.taints[].key text required key
Node spec.taints[].value text value
Node spec.taints[].effect text required in=NoSchedule,PreferNoSchedule,NoExecute
Node status.capacity amounts
Node status.allocatable amounts
Node status.{conditions,images,addresses,volumesAttached}[] map
Node status.declaredFeatures[] text key unique=.
PersistentVolume spec map required one=*
PersistentVolume spec.capacity amounts required
PersistentVolume spec.capacity.storage amount required positive
PersistentVolume spec.accessModes list required apart=ReadWriteOncePod,ReadWriteOnce,ReadOnlyMany,ReadWriteMany
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
PersistentVolumeClaim spec.accessModes list required apart=ReadWriteOncePod,ReadWriteOnce,ReadOnlyMany,ReadWriteMany
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
ResourceQuota spec.scopes list apart=BestEffort,NotBestEffort apart=Terminating,NotTerminating
Service spec.selector labels
ReplicationController spec.selector texts
ReplicationController spec.replicas int min=0
ReplicaSet spec.selector selector required
ReplicaSet spec.replicas int min=0
StatefulSet spec.selector selector required
StatefulSet spec.replicas int min=0
)";

// The members of a volume that say what it is.
constexpr const char* kSources =
    "hostPath,emptyDir,gcePersistentDisk,awsElasticBlockStore,gitRepo,secret,nfs,iscsi,glusterfs,"
    "persistentVolumeClaim,rbd,flexVolume,cinder,cephfs,flocker,downwardAPI,fc,azureFile,configMap,"
    "vsphereVolume,quobyte,azureDisk,photonPersistentDisk,projected,portworxVolume,scaleIO,"
    "storageos,csi,ephemeral,image,local";

struct Condition {
  std::string what;  // "unique"
  std::string text;  // "A,B"
  std::vector<std::string> names;
};

struct Rule {
  std::string path;
  std::string type;
  std::vector<Condition> conditions;
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
      for (std::string word; words >> word;) {
        const std::size_t end = std::min(word.find('='), word.size());
        const std::string text = word.substr(std::min(end + 1, word.size()));
        rule.conditions.push_back(
            {word.substr(0, end), text, split(text == "*" ? kSources : text, ",")});
      }
      const std::string path = rule.path;
      const std::size_t open = path.find('{');
      if (open == path.npos) {
        read.emplace(kind, std::move(rule));
        continue;
      }
      const std::size_t close = path.find('}');
      for (const std::string& name : split(path.substr(open + 1, close - open - 1), ",")) {
        rule.path = path.substr(0, open) + name + path.substr(close + 1);
        read.emplace(kind, rule);
      }
    }
    return read;
  }();
  return all;
}

bool is_label_name(std::string_view name) {
  return name.size() <= 63 && name.find('.') == std::string_view::npos && is_subdomain_name(name);
}

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

Found check_texts(const std::string& path, const json& map, bool keys, bool values) {
  if (!map.is_object()) return type_of(path, "an object of strings");
  for (const auto& [key, value] : map.items()) {
    if (!value.is_string() && !value.is_null()) return type_of(path + "[" + key + "]", "a string");
  }
  for (const auto& [key, value] : map.items()) {
    if (keys && !is_label_key(values ? key : in_small_letters(key)))
      return value_of(path, key, "must be a qualified name");
    if (!keys && key.empty()) return value_of(path, key, "a key cannot be empty");
    if (values && value.is_string() && !is_label_value(value.get<std::string>()))
      return value_of(path, value, "must be a valid label");
  }
  return {};
}

Found check_selector(const std::string& path, const json& value) {
  const auto read = decode_label_selector(json_text(value));
  if (!read) return type_of(path, "a label selector");
  const auto valid = validate(**read);
  return valid ? Found() : Found(value_of(path, value, valid.error().message));
}

Found check_node_term(const std::string& path, const json& term) {
  const json affinity = {{"requiredDuringSchedulingIgnoredDuringExecution",
                          {{"nodeSelectorTerms", json::array({term})}}}};
  const auto read = decode_node_affinity(json_text(affinity));
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
  if (type == "container-amounts") return check_amounts(path, value, AmountsOf::kContainer);
  if (type == "quota-amounts") return check_amounts(path, value, AmountsOf::kQuota);
  if (type == "limits") return check_limits(path, value);
  if (type == "quota") return check_scopes(path, value);
  if (type == "spread-constraint") return check_spread_constraint(path, value);
  if (type == "container-resources")
    return check_resources(path, value, AmountsOf::kContainer, missing);
  if (type == "pod-resources") return check_resources(path, value, AmountsOf::kPod, missing);
  if (type == "selector") return check_selector(path, value);
  if (type == "node-selector") return check_node_selector(path, value);
  if (type == "node-term") return check_node_term(path, value);
  if (type == "toleration") return check_toleration(path, value);
  return check_int_or_share(path, value);
}

// "one" and "most-one": which members an object has.
Found check_members(const std::string& path, const Condition& condition, const json& object,
                    bool none) {
  const auto has = std::ranges::count_if(condition.names, [&](const std::string& name) {
    const auto found = object.find(name);
    return found != object.end() && !found->is_null();
  });
  if (has == 0 && !none)
    return Wrong{422, path, "Required value: must have one of " + condition.text};
  if (has > 1)
    return Wrong{422, path, "Forbidden: may not have more than one of " + condition.text};
  return {};
}

// `given`: "" is not as missing.
Found check_value(const std::string& path, const Condition& condition, const json& value,
                  bool given) {
  const auto& [what, wanted, names] = condition;
  const std::string text = value.is_string() ? value.get<std::string>() : std::string();
  const auto unless = [&](bool fine, const std::string& why) {
    return fine ? Found() : Found(value_of(path, value, why));
  };
  if (what == "in") {
    if ((text.empty() && !given) || std::ranges::count(names, text) > 0) return {};
    return Wrong{422, path,
                 "Unsupported value: " + json_text(text) + ": supported values: " + wanted};
  }
  if (what == "min") return unless(value >= std::stoll(wanted), "must be at least " + wanted);
  if (what == "max") return unless(value <= std::stoll(wanted), "must be at most " + wanted);
  if (what == "positive") return unless(is_positive(value), "must be greater than zero");
  if (what == "apart") {
    const auto in_list = [&](const std::string& name) {
      return std::ranges::count(value, json(name)) > 0;
    };
    if (!in_list(names[0]) || std::none_of(names.begin() + 1, names.end(), in_list)) return {};
    return Wrong{422, path, "Forbidden: may not have " + names[0] + " with others"};
  }
  if (text.empty() && !given) return {};
  const bool dash = text.size() > 1 && text.ends_with('-');
  const bool fine =
      what == "label"           ? is_label_name(text)
      : what == "name"          ? is_subdomain_name(text)
      : what == "caseless-name" ? text.size() <= 63 && is_subdomain_name(in_small_letters(text))
      : what == "prefix"        ? is_subdomain_name(dash ? text.substr(0, text.size() - 1) : text)
      : what == "key"           ? is_label_key(text)
      : what == "value"         ? is_label_value(text)
      : what == "finalizer"
          ? is_label_key(text) && (text.find('/') != std::string::npos || text == "orphan" ||
                                   text == "foregroundDeletion" || text == "kubernetes")
          : true;
  return unless(fine, what == "name" ? kSubdomainRule : "is not a valid " + what);
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
    const auto has = [&](std::string_view what) {
      return std::ranges::count(rule_.conditions, what, &Condition::what) > 0;
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
    for (const Condition& each : rule_.conditions) {
      const bool most = each.what == "most-one";
      if (most || each.what == "one") {
        const bool none = most || missing_ == Missing::kTaken;
        if (auto wrong = check_members(path, each, value, none)) return wrong;
      } else if (each.what != "required" && each.what != "given" && each.what != "unique") {
        if (auto wrong = check_value(path, each, value, item || has("given"))) return wrong;
      }
    }
    return {};
  }

  // Whether another item had the same values of the fields that tell items apart.
  bool repeats(const json& item, std::set<std::string>& seen) const {
    for (const Condition& each : rule_.conditions) {
      if (each.what != "unique") continue;
      std::string key;
      for (const std::string& field : each.names) {
        key += json_text(item.is_object() ? item.value(field, json()) : item) + '\n';
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

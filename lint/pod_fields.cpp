// Random pods: who they are, and what they ask for. Rules about nodes and other pods are in
// pod_rule_fields.cpp.

#include <cstdlib>
#include <iterator>

#include "lint/fields.hpp"

namespace plimsoll::lint {
namespace {

Json& first_container(Json& pod) {
  Json& containers = pod["spec"]["containers"];
  if (!containers.is_array() || containers.empty()) {
    containers = Json::array({Json{{"name", "main"}, {"image", "example.com/app:0"}}});
  }
  return containers[0];
}

std::string app_image(Dice& dice) {
  return "example.com/app:" + std::to_string(dice.below(4));
}

// Requests alone, the same limits (Guaranteed, if all have them), or higher ones.
Json container_resources(Dice& dice, const Vocabulary& words) {
  const Json requests = words.amounts(dice);
  switch (dice.below(3)) {
    case 0:
      return {{"requests", requests}};
    case 1:
      return {{"requests", requests}, {"limits", requests}};
    default: {
      Json limits = requests;
      limits["cpu"] = "16";
      return {{"requests", requests}, {"limits", limits}};
    }
  }
}

void set_resources(Json& pod, Dice& dice, const Vocabulary& words) {
  first_container(pod);
  for (Json& container : pod["spec"]["containers"]) {
    container["resources"] = container_resources(dice, words);
  }
}

void set_limits(Json& pod, Dice& dice, const Vocabulary&) {
  Json& resources = first_container(pod)["resources"];
  const Json requests =
      resources.is_object() ? resources.value("requests", Json::object()) : Json::object();
  resources = {{"requests", requests}, {"limits", requests}};
  if (dice.one_in(2)) resources["limits"]["cpu"] = std::to_string(17 + dice.below(8));
}

void set_containers(Json& pod, Dice& dice, const Vocabulary& words) {
  first_container(pod);
  Json& containers = pod["spec"]["containers"];
  if (containers.size() > 1 && dice.one_in(2)) {
    containers.erase(containers.size() - 1);
    return;
  }
  containers.push_back({{"name", "side-" + std::to_string(containers.size())},
                        {"image", app_image(dice)},
                        {"resources", container_resources(dice, words)}});
}

void set_init_containers(Json& pod, Dice& dice, const Vocabulary& words) {
  Json containers = Json::array();
  for (size_t i = dice.below(3); i > 0; --i) {
    Json container = {{"name", "init-" + std::to_string(i)},
                      {"image", app_image(dice)},
                      {"resources", container_resources(dice, words)}};
    if (dice.one_in(2)) container["restartPolicy"] = "Always";
    containers.push_back(std::move(container));
  }
  pod["spec"]["initContainers"] = std::move(containers);
}

void set_ports(Json& pod, Dice& dice, const Vocabulary&) {
  constexpr std::array kProtocols = {"TCP", "UDP"};
  constexpr std::array kAddresses = {"", "127.0.0.1", "10.0.0.1"};
  Json ports = Json::array();
  for (size_t left = dice.below(3); left > 0; --left) {
    ports.push_back({{"containerPort", 80},
                     {"hostPort", 8080 + dice.below(3)},
                     {"protocol", dice.of(kProtocols)},
                     {"hostIP", dice.of(kAddresses)}});
  }
  first_container(pod)["ports"] = std::move(ports);
}

void set_volumes(Json& pod, Dice& dice, const Vocabulary&) {
  Json volumes = Json::array();
  if (dice.one_in(2)) volumes.push_back({{"name", "scratch"}, {"emptyDir", Json::object()}});
  if (dice.one_in(2)) {
    const std::string claim = "claim-" + std::to_string(dice.below(3));
    volumes.push_back({{"name", "data"}, {"persistentVolumeClaim", {{"claimName", claim}}}});
  }
  if (dice.one_in(4)) {
    volumes.push_back({{"name", "disk"},
                       {"gcePersistentDisk", {{"pdName", "d" + std::to_string(dice.below(2))}}}});
  }
  pod["spec"]["volumes"] = std::move(volumes);
}

std::string some_time(Dice& dice) {
  return "2026-02-" + std::to_string(10 + dice.below(18)) + "T00:00:00Z";
}

constexpr Field kPodFields[] = {
    {"spec.containers[].resources", "/spec/containers", false, 1, set_resources},
    {"spec.containers[0].resources.limits", "/spec/containers/0/resources", false, 0, set_limits},
    {"spec.containers", "/spec/containers", false, 3, set_containers},
    {"spec.initContainers", "/spec/initContainers", false, 5, set_init_containers},
    {"spec.containers[0].ports", "/spec/containers/0/ports", false, 4, set_ports},
    {"spec.containers[0].image", "/spec/containers/0/image", false, 3,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       first_container(pod)["image"] = app_image(dice);
     }},
    {"spec.containers[0].name", "/spec/containers/0/name", false, 0,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       first_container(pod)["name"] = "c" + std::to_string(dice.below(1000));
     }},
    {"spec.overhead", "/spec/overhead", false, 8,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       pod["spec"]["overhead"] = {{"cpu", std::to_string(1 + dice.below(3))}, {"memory", "1Gi"}};
     }},
    {"spec.resources", "/spec/resources", false, 8,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       const std::string cpus = std::to_string(4 + dice.below(12));
       pod["spec"]["resources"] = {{"requests", {{"cpu", cpus}, {"memory", "12Gi"}}}};
     }},
    {"spec.volumes", "/spec/volumes", false, 5, set_volumes},
    {"spec.resourceClaims", "/spec/resourceClaims", false, 12,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       pod["spec"]["resourceClaims"] = Json::array(
           {Json{{"name", "claim"}, {"resourceClaimName", "r" + std::to_string(dice.below(3))}}});
     }},
    {"metadata.labels", "/metadata/labels", true, 1,
     [](Json& pod, Dice& dice, const Vocabulary& words) {
       pod["metadata"]["labels"] = words.labels(dice);
     }},
    {"metadata.annotations", "/metadata/annotations", true, 2,
     [](Json& pod, Dice& dice, const Vocabulary& words) {
       pod["metadata"]["annotations"] = words.annotation_map(dice);
     }},
    {"metadata.name", "/metadata/name", false, 0,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       pod["metadata"]["name"] = "other-" + std::to_string(dice.below(1000));
     }},
    {"metadata.namespace", "/metadata/namespace", false, 3,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       pod["metadata"]["namespace"] = "team-" + std::to_string(dice.below(3));
     }},
    {"metadata.uid", "/metadata/uid", false, 0,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       pod["metadata"]["uid"] = "uid-other-" + std::to_string(dice.below(1000));
     }},
    {"metadata.resourceVersion", "/metadata/resourceVersion", false, 0,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       pod["metadata"]["resourceVersion"] = std::to_string(1 + dice.below(100000));
     }},
    {"metadata.generation", "/metadata/generation", false, 0,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       pod["metadata"]["generation"] = 1 + dice.below(100);
     }},
    {"metadata.creationTimestamp", "/metadata/creationTimestamp", false, 1,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       pod["metadata"]["creationTimestamp"] = some_time(dice);
     }},
    {"metadata.deletionTimestamp", "/metadata/deletionTimestamp", false, 0,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       pod["metadata"]["deletionTimestamp"] = some_time(dice);
     }},
    {"metadata.ownerReferences", "/metadata/ownerReferences", false, 4,
     [](Json& pod, Dice& dice, const Vocabulary& words) {
       constexpr std::array kKinds = {"ReplicaSet", "Job", "StatefulSet"};
       pod["metadata"]["ownerReferences"] =
           Json::array({Json{{"apiVersion", "apps/v1"},
                             {"kind", dice.of(kKinds)},
                             {"name", words.value(dice)},
                             {"uid", "owner-" + std::to_string(dice.below(9))},
                             {"controller", dice.one_in(2)}}});
     }},
    {"spec.schedulerName", "/spec/schedulerName", false, 0,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       pod["spec"]["schedulerName"] = "scheduler-" + std::to_string(dice.below(100));
     }},
    {"spec.priority", "/spec/priority", false, 2,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       pod["spec"]["priority"] = static_cast<int>(dice.below(6)) * 1000 - 1000;
     }},
    {"spec.priorityClassName", "/spec/priorityClassName", false, 4,
     [](Json& pod, Dice& dice, const Vocabulary& words) {
       pod["spec"]["priorityClassName"] =
           dice.one_in(2) ? "system-node-critical" : words.value(dice);
     }},
    {"spec.preemptionPolicy", "/spec/preemptionPolicy", false, 5,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       pod["spec"]["preemptionPolicy"] = dice.one_in(2) ? "Never" : "PreemptLowerPriority";
     }},
    {"spec.runtimeClassName", "/spec/runtimeClassName", false, 6,
     [](Json& pod, Dice& dice, const Vocabulary& words) {
       pod["spec"]["runtimeClassName"] = words.value(dice);
     }},
    {"spec.hostNetwork", "/spec/hostNetwork", false, 6,
     [](Json& pod, Dice&, const Vocabulary&) {
       pod["spec"]["hostNetwork"] = !pod["spec"].value("hostNetwork", false);
     }},
    {"status.qosClass", "/status/qosClass", false, 0,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       constexpr std::array kClasses = {"Guaranteed", "Burstable", "BestEffort"};
       pod["status"]["qosClass"] = dice.of(kClasses);
     }},
    {"status.startTime", "/status/startTime", false, 0,
     [](Json& pod, Dice& dice, const Vocabulary&) {
       pod["status"]["startTime"] = some_time(dice);
     }},
    {"status.reason", "/status/reason", false, 0,
     [](Json& pod, Dice& dice, const Vocabulary& words) {
       pod["status"]["reason"] = words.value(dice);
     }},
    {"status.conditions", "/status/conditions", false, 0,
     [](Json& pod, Dice& dice, const Vocabulary& words) {
       pod["status"]["conditions"] =
           Json::array({Json{{"type", "PodScheduled"},
                             {"status", "False"},
                             {"reason", "Unschedulable"},
                             {"message", words.value(dice)}},
                        Json{{"type", "DisruptionTarget"},
                             {"status", dice.one_in(2) ? "True" : "False"},
                             {"reason", words.value(dice)}}});
     }},
};

}  // namespace

std::span<const Field> pod_fields() {
  return kPodFields;
}

std::vector<Field> all_pod_fields() {
  std::vector<Field> all(std::begin(kPodFields), std::end(kPodFields));
  const auto rules = pod_rule_fields();
  all.insert(all.end(), rules.begin(), rules.end());
  return all;
}

Json random_pod(Dice& dice, const Vocabulary& words, const std::string& name) {
  static const std::vector<Field> kAll = all_pod_fields();
  const bool given = !words.pods.empty() && !dice.one_in(4);
  Json pod = given ? dice.of(words.pods) : Json::object();
  for (const char* part : {"metadata", "spec", "status"}) {
    if (!pod[part].is_object()) pod[part] = Json::object();
  }
  pod["metadata"]["name"] = name;
  pod["metadata"]["uid"] = "uid-" + name;
  if (!pod["metadata"].contains("namespace")) pod["metadata"]["namespace"] = "default";
  pod["spec"]["schedulerName"] = "lint";
  pod["status"]["phase"] = "Pending";
  first_container(pod);
  if (given && dice.one_in(3)) return pod;
  for (const Field& field : kAll) {
    if (field.presence == 0) continue;
    if (dice.one_in(given ? 5 * field.presence : field.presence)) field.set(pod, dice, words);
  }
  return pod;
}

const Field& pod_field(std::string_view name) {
  for (const Field& field : pod_fields()) {
    if (field.name == name) return field;
  }
  std::abort();  // a name of this file's own
}

std::string name_of(const Json& object) {
  return object["metadata"]["name"].get<std::string>();
}

std::string value_text(const Json& object, std::string_view pointer) {
  constexpr size_t kShown = 160;
  const Json::json_pointer at{std::string(pointer)};
  if (!object.contains(at)) return "none";
  std::string text = object.at(at).dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return text;
}

}  // namespace plimsoll::lint

#include "tests/cycle/random_objects.hpp"

namespace plimsoll::testing {
namespace {

using lint::draw;
using Json = nlohmann::json;

// Patterns (lint/draw.hpp).
const lint::Words& words() {
  static const lint::Words kWords = {.lists = {}, .parts = Json::parse(R"({
    "asked": {"cpu": "{250-3000/250}m", "memory": "{1-3}Gi"},
    "zone": {"cpu": "{1-4}", "memory": "{1-6}Gi"},
    "gpus": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "{1-2}"},
    "share": "{30-70/10}",
    "part": {"koordinator.sh/gpu-core": "=share", "koordinator.sh/gpu-memory-ratio": "==share"},
    "guaranteed": {"limits": "=zone", "requests": "==zone"},
    "resources": {"|": [
      {},
      {"requests": "=asked"}, {"requests": "=asked"},
      {"limits": "=gpus", "requests": "==gpus"},
      {"limits": "=part", "requests": {"+": ["==part", {"cpu": "100m"}]}},
      "=guaranteed", "=guaranteed", "=guaranteed"]},
    "app": "{web|batch|db}",
    "image": "app{0-2}:1",
    "images": [{"*2": {"names": ["=image"], "sizeBytes": "#{100-3000/100}000000"}}],
    "disk": "{ssd|hdd}",
    "area": "{a|b}",
    "key": "{zone|zone|kubernetes.io/hostname|disk}",
    "selector": {"|": [{"matchLabels": {"app": "=app"}},
      {"matchExpressions": [{"key": "app", "operator": "{In|NotIn}", "values": ["=app"]}]},
      {"matchExpressions": [{"key": "wait", "operator": "DoesNotExist"}]}]},
    "claim": {"claimName": "c{0-5}"},
    "storage": {"name": "data{0-999}", "persistentVolumeClaim": "=claim"},
    "term": {"topologyKey": "=key", "labelSelector": "=selector"},
    "preference": {"weight": "#{1-100}", "podAffinityTerm": "=term"},
    "terms": {"requiredDuringSchedulingIgnoredDuringExecution?2": ["=term", {"?4": "=term"}],
              "preferredDuringSchedulingIgnoredDuringExecution?2": ["=preference"]},
    "constraint": {"maxSkew": "#{1-2}", "topologyKey": "=key", "labelSelector": "=selector",
                   "whenUnsatisfiable": "{DoNotSchedule|ScheduleAnyway}",
                   "nodeTaintsPolicy?3": "Honor", "nodeAffinityPolicy?3": "Ignore",
                   "matchLabelKeys?4": ["app"]}
  })")};
  return kWords;
}

}  // namespace

Json random_pod(Dice& dice, const std::string& name, size_t node_names) {
  static const Json kPod = Json::parse(R"({
    "metadata": {"namespace": "ns", "labels": {"app": "=app", "wait?8": "yes"}, "annotations": {}},
    "spec": {
      "schedulerName": "topo",
      "priority": "#{0|0|0|10|10|1000}",
      "containers": [{"name": "main", "image": "=image", "resources": "=resources",
                      "ports?8": [{"containerPort": 80, "hostPort": "#{8080-8081}"}]}],
      "preemptionPolicy?10": "Never",
      "nodeSelector?4": {"disk": "=disk"},
      "affinity?4": {"podAffinity?2": "=terms", "podAntiAffinity?2": "=terms"},
      "topologySpreadConstraints?4": ["=constraint", {"?2": "=constraint"}],
      "volumes?3": ["=storage", {"?3": "=storage"}],
      "tolerations?3": [{"key": "dedicated", "operator": "Exists"}],
      "schedulingGates?10": [{"name": "example.com/hold"}]},
    "status": {"phase": "Pending"}
  })");
  static const Json kNuma =
      R"({"numaTopologyPolicy": "{||BestEffort|Restricted|SingleNUMANode}"})"_json;
  Json pod = draw(dice, kPod, words());
  pod["metadata"]["name"] = name;
  const Json& spec = pod["spec"];
  if (spec["containers"][0].contains("/resources/limits/nvidia.com~1gpu"_json_pointer)) {
    pod["metadata"]["annotations"][kNumaAnnotation] = draw(dice, kNuma).dump();
  }
  if (dice.one_in(20)) {
    pod["status"]["nominatedNodeName"] = "n" + std::to_string(dice.below(node_names));
  }
  return pod;
}

Json random_node(Dice& dice, const std::string& name) {
  static const Json kNode = Json::parse(R"({
    "metadata": {"labels": {"disk": "=disk", "zone?5/6": "=area", "topology.kubernetes.io/zone?2": "=area"}},
    "spec": {},
    "status": {"allocatable": {
      "cpu": "8", "memory": "16Gi", "pods": "{4-8}", "nvidia.com/gpu": "2",
      "koordinator.sh/gpu-core": "200", "koordinator.sh/gpu-memory-ratio": "200"},
      "images": "=images"}
  })");
  Json node = draw(dice, kNode, words());
  node["metadata"]["name"] = name;
  node["metadata"]["labels"]["kubernetes.io/hostname"] = name;
  if (dice.one_in(4)) change_node(dice, node);
  return node;
}

void change_node(Dice& dice, Json& node) {
  Json& spec = node["spec"];
  switch (dice.below(7)) {
    case 0:
      spec["unschedulable"] = !spec.value("unschedulable", false);
      break;
    case 1:
      if (spec.erase("taints") != 0) break;
      spec["taints"] =
          Json::array({Json{{"key", "dedicated"}, {"value", "x"}, {"effect", "NoSchedule"}}});
      break;
    default: {
      static const Json kChanges = Json::parse(R"({"|": [
        {"status": {"allocatable": {"cpu": "{5-8}"}}},
        {"status": {"allocatable": {"memory": "{10-16}Gi"}}},
        {"status": {"allocatable": {"pods": "{3-8}"}}},
        {"status": {"images": "=images"}},
        {"status": {"images": "=images"}},
        {"metadata": {"labels": {"disk": "=disk"}}},
        {"metadata": {"labels": {"zone": "=area"}}},
        {"metadata": {"labels": {"note": "{0-999}"}}}
      ]})");  // nobody reads the note
      node.merge_patch(draw(dice, kChanges, words()));
    }
  }
}

Json two_gpus(const std::string& node, int ill) {
  Json devices = Json::array();
  for (int minor = 0; minor < 2; ++minor) {
    devices.push_back(
        {{"type", "gpu"},
         {"id", "GPU-" + std::to_string(minor)},
         {"minor", minor},
         {"health", minor != ill},
         {"resources",
          {{"koordinator.sh/gpu-core", "100"},
           {"koordinator.sh/gpu-memory", "80Gi"},
           {"koordinator.sh/gpu-memory-ratio", "100"}}},
         {"topology", {{"socketID", -1}, {"nodeID", minor}, {"pcieID", std::to_string(minor)}}}});
  }
  return {{"apiVersion", "scheduling.koordinator.sh/v1alpha1"},
          {"kind", "Device"},
          {"metadata", {{"name", node}}},
          {"spec", {{"devices", devices}}}};
}

Json random_devices(Dice& dice, const std::string& node) {
  return two_gpus(node, static_cast<int>(dice.one_in(3) ? dice.below(2) : 2));
}

bool finished(const Json& pod) {
  const std::string phase = pod["status"].value("phase", "");
  return phase == "Failed" || phase == "Succeeded";
}

Json random_budget(Dice& dice, const std::string& name) {
  static const Json kBudget = Json::parse(R"({
    "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
    "metadata": {"namespace": "ns"},
    "spec": {"selector": {"matchLabels": {"app": "=app"}}},
    "status": {"disruptionsAllowed": "#{0-2}"}
  })");
  Json budget = draw(dice, kBudget, words());
  budget["metadata"]["name"] = name;
  return budget;
}

}  // namespace plimsoll::testing

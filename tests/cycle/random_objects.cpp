#include "tests/cycle/random_objects.hpp"

#include <array>

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;

constexpr std::array kApps = {"web", "batch", "db"};
constexpr std::array kDisks = {"ssd", "hdd"};

std::string gib(size_t amount) {
  return std::to_string(amount) + "Gi";
}

Json guaranteed(size_t cpus, size_t memory) {
  const Json amounts = {{"cpu", std::to_string(cpus)}, {"memory", gib(memory)}};
  return {{"requests", amounts}, {"limits", amounts}};
}

Json random_resources(Dice& dice) {
  switch (dice.below(8)) {
    case 0:
      return Json::object();  // BestEffort
    case 1:
    case 2:
      return {{"requests",
               {{"cpu", std::to_string(250 * (1 + dice.below(12))) + "m"},
                {"memory", gib(1 + dice.below(3))}}}};
    case 3: {  // a whole GPU or two
      Json resources = guaranteed(1, 1);
      const std::string count = std::to_string(1 + dice.below(2));
      for (const char* part : {"requests", "limits"}) resources[part]["nvidia.com/gpu"] = count;
      return resources;
    }
    case 4: {  // a part of one
      Json resources = {{"requests", {{"cpu", "100m"}}}, {"limits", Json::object()}};
      const std::string share = std::to_string(30 + 10 * dice.below(5));
      for (const char* part : {"requests", "limits"}) {
        resources[part]["koordinator.sh/gpu-core"] = share;
        resources[part]["koordinator.sh/gpu-memory-ratio"] = share;
      }
      return resources;
    }
    default:  // whole CPUs and memory of a zone
      return guaranteed(1 + dice.below(4), 1 + dice.below(6));
  }
}

}  // namespace

Json random_pod(Dice& dice, const std::string& name, size_t node_names) {
  Json container = {{"name", "main"}, {"image", "i"}, {"resources", random_resources(dice)}};
  if (dice.one_in(8)) {
    container["ports"] =
        Json::array({Json{{"containerPort", 80}, {"hostPort", 8080 + dice.below(2)}}});
  }
  constexpr std::array kPriorities = {0, 0, 0, 10, 10, 1000};
  Json spec = {{"schedulerName", "topo"},
               {"priority", kPriorities.at(dice.below(kPriorities.size()))},
               {"containers", Json::array({container})}};
  if (dice.one_in(10)) spec["preemptionPolicy"] = "Never";
  if (dice.one_in(4)) spec["nodeSelector"] = {{"disk", kDisks.at(dice.below(2))}};
  if (dice.one_in(3)) {
    spec["tolerations"] = Json::array({Json{{"key", "dedicated"}, {"operator", "Exists"}}});
  }
  if (dice.one_in(10)) {
    spec["schedulingGates"] = Json::array({Json{{"name", "example.com/hold"}}});
  }
  Json annotations = Json::object();
  if (container["resources"].value("limits", Json::object()).contains("nvidia.com/gpu")) {
    constexpr std::array kPolicies = {"", "", "BestEffort", "Restricted", "SingleNUMANode"};
    const Json spec_text = {{"numaTopologyPolicy", kPolicies.at(dice.below(kPolicies.size()))}};
    annotations[kNumaAnnotation] = spec_text.dump();
  }
  Json labels = {{"app", kApps.at(dice.below(kApps.size()))}};
  if (dice.one_in(8)) labels["wait"] = "yes";
  Json status = {{"phase", "Pending"}};
  // Of a gated pod with a nomination, kube-scheduler's nominator hears only once the pod changes:
  // such a pod is no fresh scheduler's business.
  if (dice.one_in(20) && !spec.contains("schedulingGates")) {
    status["nominatedNodeName"] = "n" + std::to_string(dice.below(node_names));
  }
  return {{"metadata",
           {{"name", name}, {"namespace", "ns"}, {"labels", labels}, {"annotations", annotations}}},
          {"spec", spec},
          {"status", status}};
}

Json random_node(Dice& dice, const std::string& name) {
  Json node = {{"metadata", {{"name", name}, {"labels", {{"disk", kDisks.at(dice.below(2))}}}}},
               {"spec", Json::object()},
               {"status",
                {{"allocatable",
                  {{"cpu", "8"},
                   {"memory", "16Gi"},
                   {"pods", std::to_string(4 + dice.below(5))},
                   {"nvidia.com/gpu", "2"},
                   {"koordinator.sh/gpu-core", "200"},
                   {"koordinator.sh/gpu-memory-ratio", "200"}}}}}};
  if (dice.one_in(4)) change_node(dice, node);
  return node;
}

void change_node(Dice& dice, Json& node) {
  Json& allocatable = node["status"]["allocatable"];
  switch (dice.below(7)) {
    case 0:
      allocatable["cpu"] = std::to_string(5 + dice.below(4));
      break;
    case 1:
      allocatable["memory"] = gib(10 + dice.below(7));
      break;
    case 2:
      allocatable["pods"] = std::to_string(3 + dice.below(6));
      break;
    case 3:
      node["metadata"]["labels"]["disk"] = kDisks.at(dice.below(2));
      break;
    case 4:
      if (node["spec"].contains("taints")) {
        node["spec"].erase("taints");
      } else {
        node["spec"]["taints"] =
            Json::array({Json{{"key", "dedicated"}, {"value", "x"}, {"effect", "NoSchedule"}}});
      }
      break;
    case 5:
      node["spec"]["unschedulable"] = !node["spec"].value("unschedulable", false);
      break;
    case 6:
      node["metadata"]["labels"]["note"] = std::to_string(dice.below(1000));  // nobody reads it
      break;
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
  return {
      {"apiVersion", "policy/v1"},
      {"kind", "PodDisruptionBudget"},
      {"metadata", {{"name", name}, {"namespace", "ns"}}},
      {"spec", {{"selector", {{"matchLabels", {{"app", kApps.at(dice.below(kApps.size()))}}}}}}},
      {"status", {{"disruptionsAllowed", dice.below(3)}}}};
}

}  // namespace plimsoll::testing

#include "tests/e2e/facts.hpp"

#include <stdexcept>

#include "tests/kube/kube_objects.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

json annotation(const json& pod, const char* key) {
  const json annotations = value_at(pod, "/metadata/annotations");
  if (!annotations.is_object() || !annotations.contains(key)) return json::object();
  return json::parse(annotations[key].get<std::string>());
}

ContainerFacts container_facts(const json& container, bool init_list) {
  ContainerFacts facts;
  facts.name = container["name"];
  facts.init = init_list && container.value("restartPolicy", "") != "Always";
  facts.requests = amounts_of(value_at(container, "/resources/requests"));
  return facts;
}

// Sum of app containers and sidecars, or what an init container needs beside the sidecars that run
// before it.
Amounts pod_requests(const std::vector<ContainerFacts>& containers, const Amounts& overhead) {
  Amounts running;
  Amounts peak;
  for (const ContainerFacts& container : containers) {
    if (!container.init) {
      add(running, container.requests);
      continue;
    }
    Amounts step = running;  // sidecars so far
    add(step, container.requests);
    raise(peak, step);
  }
  raise(running, peak);
  add(running, overhead);
  return running;
}

// The request as Koordinator's pages state it, for the combinations that tests use.
std::vector<DeviceNeed> device_needs(const Amounts& requests) {
  static const std::string kCore = "koordinator.sh/gpu-core";
  static const std::string kRatio = "koordinator.sh/gpu-memory-ratio";
  static const std::string kMemory = "koordinator.sh/gpu-memory";
  std::vector<DeviceNeed> needs;
  const auto percent = [&](const std::string& type, std::int64_t value,
                           const std::vector<std::string>& names) {
    DeviceNeed need{type, value > 100 ? value / 100 : 1, {}};
    for (const std::string& name : names) need.each[name] = value / need.count;
    needs.push_back(std::move(need));
  };
  if (const auto whole = get(requests, "nvidia.com/gpu")) {
    percent("gpu", 100 * whole, {kCore, kRatio});
  }
  if (const auto gpu = get(requests, "koordinator.sh/gpu")) percent("gpu", gpu, {kCore, kRatio});
  if (const auto ratio = get(requests, kRatio)) {
    percent("gpu", ratio, {kRatio});
    needs.back().each[kCore] = get(requests, kCore) / needs.back().count;
  } else if (const auto memory = get(requests, kMemory)) {
    needs.push_back({"gpu", 1, {{kMemory, memory}, {kCore, get(requests, kCore)}}});
  }
  if (const auto rdma = get(requests, "koordinator.sh/rdma")) {
    percent("rdma", rdma, {"koordinator.sh/rdma"});
  }
  return needs;
}

void read_topology(const json& nrt, NodeFacts& node) {
  for (const json& attribute : nrt.value("attributes", json::array())) {
    if (attribute["name"] == "topologyManagerPolicy") node.policy = attribute["value"];
    if (attribute["name"] == "topologyManagerScope") node.scope = attribute["value"];
  }
  for (const json& zone : nrt["zones"]) {
    const std::string name = zone["name"];
    if (zone["type"] != "Node" || !name.starts_with("node-")) continue;
    Stock& stock = node.zones[std::stoi(name.substr(5))];
    for (const json& resource : zone.value("resources", json::array())) {
      const std::string of = resource["name"];
      stock.all[of] = amount_of(of, resource["allocatable"].get<std::string>());
    }
  }
}

}  // namespace

json value_at(const json& object, const char* pointer) {
  return object.is_object() ? object.value(json::json_pointer(pointer), json()) : json();
}

std::string text_at(const json& object, const char* pointer) {
  const json value = value_at(object, pointer);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::map<std::string, std::string> texts_at(const json& object, const char* pointer) {
  const json value = value_at(object, pointer);
  return value.is_object() ? value.get<std::map<std::string, std::string>>()
                           : std::map<std::string, std::string>();
}

Result<ClusterObjects> read_cluster(KubeClient& client) {
  ClusterObjects objects;
  const std::pair<std::string, std::vector<json>*> kinds[] = {
      {std::string(kNodes), &objects.nodes},
      {std::string(kNrts), &objects.nrts},
      {std::string(kDevices), &objects.devices},
      {"/api/v1/pods", &objects.pods}};
  for (const auto& [path, into] : kinds) {
    Result<std::vector<json>> listed = client.list(path);
    if (!listed) return fail(listed.error());
    *into = std::move(*listed);
  }
  return objects;
}

PodFacts pod_facts(const json& pod) {
  PodFacts facts;
  facts.name = text_at(pod, "/metadata/namespace") + "/" + text_at(pod, "/metadata/name");
  facts.uid = text_at(pod, "/metadata/uid");
  facts.node = text_at(pod, "/spec/nodeName");
  facts.scheduler = text_at(pod, "/spec/schedulerName");
  const std::string phase = text_at(pod, "/status/phase");
  facts.finished = phase == "Succeeded" || phase == "Failed";
  facts.guaranteed = text_at(pod, "/status/qosClass") == "Guaranteed";
  facts.node_selector = texts_at(pod, "/spec/nodeSelector");
  for (const json& container : pod["spec"].value("initContainers", json::array())) {
    facts.containers.push_back(container_facts(container, true));
  }
  for (const json& container : pod["spec"]["containers"]) {
    facts.containers.push_back(container_facts(container, false));
  }
  facts.requests = pod_requests(facts.containers, amounts_of(value_at(pod, "/spec/overhead")));
  facts.devices = device_needs(facts.requests);
  facts.zones = annotation(pod, "topology.plimsoll.io/zones");
  facts.allocated = annotation(pod, "scheduling.koordinator.sh/device-allocated");
  for (const json& condition : pod["status"].value("conditions", json::array())) {
    if (condition["type"] != "PodScheduled" || condition["status"] != "False") continue;
    facts.unschedulable_reason = condition.value("reason", "");
  }
  return facts;
}

std::map<std::string, NodeFacts> node_facts(const ClusterObjects& objects) {
  std::map<std::string, NodeFacts> nodes;
  for (const json& object : objects.nodes) {
    NodeFacts node;
    node.name = text_at(object, "/metadata/name");
    node.labels = texts_at(object, "/metadata/labels");
    node.unschedulable = value_at(object, "/spec/unschedulable") == true;
    node.stock.all = amounts_of(value_at(object, "/status/allocatable"));
    nodes.emplace(node.name, std::move(node));
  }
  for (const json& nrt : objects.nrts) {
    const auto node = nodes.find(text_at(nrt, "/metadata/name"));
    if (node != nodes.end()) read_topology(nrt, node->second);
  }
  for (const json& object : objects.devices) {
    const auto node = nodes.find(text_at(object, "/metadata/name"));
    if (node == nodes.end()) continue;
    for (const json& device : object["spec"]["devices"]) {
      Stock& stock = node->second.devices[{device["type"], device["minor"]}];
      if (device["health"] == true) stock.all = amounts_of(device["resources"]);
    }
  }
  return nodes;
}

}  // namespace plimsoll::test

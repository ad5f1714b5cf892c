#include "tests/e2e/placement_facts.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "tests/e2e/provisioner.hpp"
#include "tests/kube/kube_objects.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

// An object may have no other fields: what is not read here might matter.
void expect_only(const json& object, const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : object.items()) {
    if (std::ranges::find(known, name) == known.end()) {
      throw std::invalid_argument("this recount does not know " + name + " in " + object.dump());
    }
  }
}

json list_at(const json& object, const char* pointer) {
  json value = value_at(object, pointer);
  return value.is_array() ? value : json::array();
}

Labels selector_of(const json& object) {
  const json selector = value_at(object, "/labelSelector");
  expect_only(selector, {"matchLabels"});
  return texts_at(selector, "/matchLabels");
}

std::vector<SpreadRule> spread_rules(const json& pod) {
  std::vector<SpreadRule> rules;
  for (const json& constraint : list_at(pod, "/spec/topologySpreadConstraints")) {
    if (text_at(constraint, "/whenUnsatisfiable") != "DoNotSchedule") continue;
    expect_only(constraint, {"labelSelector", "maxSkew", "nodeTaintsPolicy", "topologyKey",
                             "whenUnsatisfiable"});
    rules.push_back({.key = text_at(constraint, "/topologyKey"),
                     .max_skew = constraint["maxSkew"],
                     .selector = selector_of(constraint),
                     .honors_taints = text_at(constraint, "/nodeTaintsPolicy") == "Honor"});
  }
  return rules;
}

std::vector<NeighbourRule> neighbour_rules(const json& pod, const char* pointer) {
  std::vector<NeighbourRule> rules;
  for (const json& term : list_at(pod, pointer)) {
    expect_only(term, {"labelSelector", "topologyKey"});
    rules.push_back({text_at(term, "/topologyKey"), selector_of(term)});
  }
  return rules;
}

PlacedPod placed_pod(const json& object) {
  PlacedPod pod;
  pod.facts = pod_facts(object);
  pod.labels = texts_at(object, "/metadata/labels");
  for (const json& toleration : list_at(object, "/spec/tolerations")) {
    if (text_at(toleration, "/effect") != "NoSchedule") continue;
    pod.tolerated[text_at(toleration, "/key")] = text_at(toleration, "/value");
  }
  pod.spread = spread_rules(object);
  static constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  const std::string affinity = "/spec/affinity/";
  pod.affinity = neighbour_rules(object, (affinity + "podAffinity/" + kRequired).c_str());
  pod.anti_affinity = neighbour_rules(object, (affinity + "podAntiAffinity/" + kRequired).c_str());
  for (const json& volume : list_at(object, "/spec/volumes")) {
    const std::string claim = text_at(volume, "/persistentVolumeClaim/claimName");
    if (claim.empty()) continue;
    pod.claims.push_back(text_at(object, "/metadata/namespace") + "/" + claim);
  }
  return pod;
}

std::map<std::string, PlacedNode> placed_nodes(const ClusterObjects& objects,
                                               const std::vector<json>& csi_nodes) {
  std::map<std::string, PlacedNode> nodes;
  for (auto& [name, facts] : node_facts(objects)) nodes[name].facts = facts;
  for (const json& object : objects.nodes) {
    Labels& taints = nodes.at(text_at(object, "/metadata/name")).taints;
    for (const json& taint : list_at(object, "/spec/taints")) {
      if (text_at(taint, "/effect") != "NoSchedule") continue;
      taints[text_at(taint, "/key")] = text_at(taint, "/value");
    }
  }
  for (const json& object : csi_nodes) {
    const auto node = nodes.find(text_at(object, "/metadata/name"));
    if (node == nodes.end()) continue;
    for (const json& driver : list_at(object, "/spec/drivers")) {
      const json count = value_at(driver, "/allocatable/count");
      if (count.is_number()) node->second.limits[text_at(driver, "/name")] = count;
    }
  }
  return nodes;
}

VolumeFacts volume_facts(const json& object) {
  VolumeFacts volume;
  volume.phase = text_at(object, "/status/phase");
  volume.storage_class = text_at(object, "/spec/storageClassName");
  volume.driver = text_at(object, "/spec/csi/driver");
  const std::string claim = text_at(object, "/spec/claimRef/name");
  if (!claim.empty()) volume.claim = text_at(object, "/spec/claimRef/namespace") + "/" + claim;
  volume.claim_uid = text_at(object, "/spec/claimRef/uid");
  const json terms = list_at(object, "/spec/nodeAffinity/required/nodeSelectorTerms");
  if (terms.size() > 1) throw std::invalid_argument("this recount knows one term only");
  for (const json& term : terms) {
    expect_only(term, {"matchExpressions"});
    for (const json& expression : term["matchExpressions"]) {
      if (expression["operator"] != "In") throw std::invalid_argument(expression.dump());
      volume.affinity[text_at(expression, "/key")] =
          expression["values"].get<std::vector<std::string>>();
    }
  }
  return volume;
}

}  // namespace

Result<StorageObjects> read_storage(KubeClient& client) {
  StorageObjects objects;
  const std::pair<const char*, std::vector<json>*> kinds[] = {
      {"/api/v1/persistentvolumeclaims", &objects.claims},
      {kVolumesPath, &objects.volumes},
      {kClassesPath, &objects.classes},
      {kCsiNodesPath, &objects.csi_nodes}};
  for (const auto& [path, into] : kinds) {
    Result<std::vector<json>> listed = client.list(path);
    if (!listed) return fail(listed.error());
    *into = std::move(*listed);
  }
  return objects;
}

Placement placement_of(ClusterObjects objects, const StorageObjects& storage) {
  Placement placement;
  placement.nodes = placed_nodes(objects, storage.csi_nodes);
  for (const json& pod : objects.pods) placement.pods.push_back(placed_pod(pod));
  for (const json& claim : storage.claims) {
    placement
        .claims[text_at(claim, "/metadata/namespace") + "/" + text_at(claim, "/metadata/name")] = {
        .uid = text_at(claim, "/metadata/uid"),
        .phase = text_at(claim, "/status/phase"),
        .storage_class = text_at(claim, "/spec/storageClassName"),
        .volume = text_at(claim, "/spec/volumeName"),
        .selected_node =
            text_at(claim, "/metadata/annotations/volume.kubernetes.io~1selected-node"),
        .of_one_pod = text_at(claim, "/spec/accessModes/0") == "ReadWriteOncePod"};
  }
  for (const json& volume : storage.volumes) {
    placement.volumes[text_at(volume, "/metadata/name")] = volume_facts(volume);
  }
  for (const json& each : storage.classes) {
    placement.classes[text_at(each, "/metadata/name")] = {
        .provisioner = text_at(each, "/provisioner"),
        .waits = text_at(each, "/volumeBindingMode") == "WaitForFirstConsumer"};
  }
  placement.objects = std::move(objects);
  return placement;
}

bool selects(const Labels& selector, const Labels& labels) {
  return std::ranges::all_of(selector, [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
}

std::string domain_of(const PlacedNode& node, const std::string& key) {
  const auto label = node.facts.labels.find(key);
  return label == node.facts.labels.end() ? std::string() : label->second;
}

bool node_selected(const PlacedPod& pod, const PlacedNode& node) {
  return selects(pod.facts.node_selector, node.facts.labels);
}

bool taints_tolerated(const PlacedPod& pod, const PlacedNode& node) {
  return std::ranges::all_of(node.taints, [&](const auto& taint) {
    const auto found = pod.tolerated.find(taint.first);
    return found != pod.tolerated.end() && found->second == taint.second;
  });
}

bool usable_on(const VolumeFacts& volume, const PlacedNode& node) {
  return std::ranges::all_of(volume.affinity, [&](const auto& wanted) {
    const std::string value = domain_of(node, wanted.first);
    return !value.empty() && std::ranges::find(wanted.second, value) != wanted.second.end();
  });
}

}  // namespace plimsoll::test

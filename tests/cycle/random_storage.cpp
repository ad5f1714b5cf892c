#include "tests/cycle/random_storage.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll::testing {
namespace {

using lint::draw;

constexpr const char* kDriver = "disk.example.com";
constexpr size_t kVolumeNames = 8;
constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";

const lint::Words& storage_words() {
  static const lint::Words kWords = {.lists = {}, .parts = Json::parse(R"({
    "area": "{a|b}",
    "mode": "{ReadWriteOnce|ReadWriteOnce|ReadWriteMany|ReadWriteOncePod}",
    "expression": {"|": [
      {"key": "zone", "operator": "In", "values": ["=area"]},
      {"key": "zone", "operator": "In", "values": ["=area"]},
      {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n{0-4}", "n{0-4}"]}]},
    "place": {"required": {"nodeSelectorTerms": [{"matchExpressions": ["=expression"]}]}}
  })")};
  return kWords;
}

Json storage_class(const std::string& name, const char* provisioner, const char* mode) {
  return {{"apiVersion", "storage.k8s.io/v1"},
          {"kind", "StorageClass"},
          {"metadata", {{"name", name}}},
          {"provisioner", provisioner},
          {"volumeBindingMode", mode}};
}

void put_class_made(Dice& dice, RandomCluster& cluster) {
  Json made = storage_class("made", kDriver, "WaitForFirstConsumer");
  if (dice.one_in(3)) {
    static const Json kTopologies =
        Json::parse(R"([{"matchLabelExpressions": [{"key": "zone", "values": ["=area"]}]}])");
    made["allowedTopologies"] = draw(dice, kTopologies, storage_words());
  }
  cluster.put(Kind::kClasses, std::move(made));
}

void put_csi_node(Dice& dice, RandomCluster& cluster, const std::string& node) {
  cluster.put(Kind::kCsiNodes,
              {{"apiVersion", "storage.k8s.io/v1"},
               {"kind", "CSINode"},
               {"metadata", {{"name", node}}},
               {"spec",
                {{"drivers", Json::array({{{"name", kDriver},
                                           {"nodeID", node},
                                           {"topologyKeys", {"zone"}},
                                           {"allocatable", {{"count", 1 + dice.below(4)}}}}})}}}});
}

Json volume(const std::string& name, const std::string& storage_class) {
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolume"},
          {"metadata", {{"name", name}, {"labels", Json::object()}}},
          {"spec",
           {{"capacity", {{"storage", "5Gi"}}},
            {"accessModes", {"ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"}},
            {"storageClassName", storage_class},
            {"csi", {{"driver", kDriver}, {"volumeHandle", name}}}}},
          {"status", {{"phase", "Available"}}}};
}

void put_volume(Dice& dice, RandomCluster& cluster, const std::string& name) {
  if (cluster.find(Kind::kVolumes, name) != nullptr) return;
  Json made = volume(name, dice.one_in(4) ? "now" : "local");
  if (!dice.one_in(3)) made["spec"]["nodeAffinity"] = draw(dice, "=place", storage_words());
  if (dice.one_in(3)) {
    made["metadata"]["labels"]["topology.kubernetes.io/zone"] =
        draw(dice, "=area", storage_words());
  }
  cluster.put(Kind::kVolumes, std::move(made));
}

void put_claim(Dice& dice, RandomCluster& cluster, const std::string& name) {
  if (cluster.find(Kind::kClaims, name) != nullptr) return;
  static const Json kClaim = Json::parse(R"({
    "apiVersion": "v1", "kind": "PersistentVolumeClaim",
    "metadata": {"namespace": "ns", "annotations": {}},
    "spec": {"accessModes": ["=mode"], "storageClassName": "{local|local|made|made|now}",
             "resources": {"requests": {"storage": "1Gi"}}},
    "status": {"phase": "Pending"}
  })");
  Json claim = draw(dice, kClaim, storage_words());
  claim["metadata"]["name"] = name;
  cluster.put(Kind::kClaims, std::move(claim));
}

bool is_used(const RandomCluster& cluster, const std::string& claim) {
  const auto& pods = cluster.all(Kind::kPods);
  return std::any_of(pods.begin(), pods.end(), [&](const auto& pod) {
    return pod.second["spec"].value("volumes", Json::array()).dump().find('"' + claim + '"') !=
           std::string::npos;
  });
}

// Its volume goes with it. Somebody may force away what pods use.
void remove_claim(Dice& dice, RandomCluster& cluster, const std::string& name) {
  const Json* claim = cluster.find(Kind::kClaims, name);
  if (claim == nullptr || (is_used(cluster, name) && !dice.one_in(3))) return;
  const std::string bound = (*claim)["spec"].value("volumeName", "");
  cluster.remove(Kind::kClaims, name);
  if (!bound.empty()) cluster.remove(Kind::kVolumes, bound);
}

void remove_volume(RandomCluster& cluster, const std::string& name) {
  const Json* known = cluster.find(Kind::kVolumes, name);
  if (known != nullptr && !(*known)["spec"].contains("claimRef")) {
    cluster.remove(Kind::kVolumes, name);
  }
}

// An Immediate claim gets the first free volume of its class.
void bind_immediate(RandomCluster& cluster, const std::string& name) {
  const Json* claim = cluster.find(Kind::kClaims, name);
  if (claim == nullptr || (*claim)["spec"].contains("volumeName")) return;
  if ((*claim)["spec"]["storageClassName"] != "now") return;
  for (const auto& [volume_name, known] : cluster.all(Kind::kVolumes)) {
    if (known["spec"]["storageClassName"] != "now" || known["spec"].contains("claimRef")) continue;
    Json taken = known;
    taken["spec"]["claimRef"] = {{"kind", "PersistentVolumeClaim"},
                                 {"namespace", "ns"},
                                 {"name", name},
                                 {"uid", (*claim)["metadata"]["uid"]}};
    cluster.put(Kind::kVolumes, std::move(taken));
    return bind_claims(cluster);
  }
}

void bind_to(RandomCluster& cluster, Json claim, Json taken) {
  const std::string name = taken["metadata"]["name"];
  taken["spec"]["claimRef"]["uid"] = claim["metadata"]["uid"];
  taken["status"]["phase"] = "Bound";
  cluster.put(Kind::kVolumes, std::move(taken));
  claim["spec"]["volumeName"] = name;
  claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = "yes";
  claim["status"]["phase"] = "Bound";
  cluster.put(Kind::kClaims, std::move(claim));
}

// Usable from the node's zone, or from that node alone.
void provision(RandomCluster& cluster, const Json& claim, const std::string& node) {
  const std::string name = "made-" + claim["metadata"]["uid"].get<std::string>();
  Json made = volume(name, "made");
  const Json* known = cluster.find(Kind::kNodes, node);
  const Json labels = known == nullptr ? Json::object() : (*known)["metadata"]["labels"];
  const std::string key = labels.contains("zone") ? "zone" : "kubernetes.io/hostname";
  made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] = Json::array(
      {{{"matchExpressions",
         Json::array(
             {{{"key", key}, {"operator", "In"}, {"values", {labels.value(key, node)}}}})}}});
  made["spec"]["claimRef"] = {
      {"kind", "PersistentVolumeClaim"}, {"namespace", "ns"}, {"name", claim["metadata"]["name"]}};
  bind_to(cluster, claim, std::move(made));
}

}  // namespace

void put_first_storage(Dice& dice, RandomCluster& cluster, size_t node_names) {
  cluster.put(Kind::kClasses,
              storage_class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"));
  cluster.put(Kind::kClasses, storage_class("now", kDriver, "Immediate"));
  put_class_made(dice, cluster);
  for (size_t i = 0; i < kVolumeNames; i += 2) put_volume(dice, cluster, "v" + std::to_string(i));
  for (size_t i = 0; i < kClaimNames; ++i) put_claim(dice, cluster, "c" + std::to_string(i));
  for (size_t i = 0; i < node_names; i += 2) put_csi_node(dice, cluster, "n" + std::to_string(i));
}

std::string change_storage(Dice& dice, RandomCluster& cluster, size_t node_names) {
  const std::string node = "n" + std::to_string(dice.below(node_names));
  const std::string claim = "c" + std::to_string(dice.below(kClaimNames));
  const std::string volume = "v" + std::to_string(dice.below(kVolumeNames));
  switch (dice.below(9)) {
    case 0:
      put_class_made(dice, cluster);
      return "class made";
    case 1:
      put_csi_node(dice, cluster, node);
      return "the driver of " + node;
    case 2:
      cluster.remove(Kind::kCsiNodes, node);
      return "no driver on " + node;
    case 3:
      remove_volume(cluster, volume);
      return "remove volume " + volume;
    case 4:
      remove_claim(dice, cluster, claim);
      return "remove claim " + claim;
    case 5:
      bind_immediate(cluster, claim);
      return "bind claim " + claim + " if it can be bound at once";
    case 6:
    case 7:
      put_claim(dice, cluster, claim);
      return "claim " + claim;
    default:
      put_volume(dice, cluster, volume);
      return "volume " + volume;
  }
}

void bind_claims(RandomCluster& cluster) {
  const auto claims = cluster.all(Kind::kClaims);  // copies: binding changes both
  const auto volumes = cluster.all(Kind::kVolumes);
  for (const auto& [name, claim] : claims) {
    if (claim["spec"].contains("volumeName")) continue;
    const auto named = std::find_if(volumes.begin(), volumes.end(), [&, &key = name](auto& entry) {
      const Json reference = entry.second["spec"].value("claimRef", Json::object());
      return reference.value("name", "") == key;
    });
    const std::string node = claim["metadata"]["annotations"].value(kSelectedNode, "");
    if (named != volumes.end()) {
      bind_to(cluster, claim, named->second);
    } else if (claim["spec"]["storageClassName"] == "made" && !node.empty()) {
      provision(cluster, claim, node);
    }
  }
}

}  // namespace plimsoll::testing

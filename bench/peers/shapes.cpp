#include "bench/peers/shapes.hpp"

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/kube/kube_objects.hpp"

namespace plimsoll::bench {
namespace {

using nlohmann::json;

constexpr const char* kZoneLabel = "topology.kubernetes.io/zone";
constexpr const char* kDriver = "ebs.csi.aws.com";
constexpr int kVolumesOfNode = 39;
constexpr int kZonesToSpread = 3;
constexpr const char* kClaims = "/api/v1/namespaces/default/persistentvolumeclaims";
constexpr const char* kVolumes = "/api/v1/persistentvolumes";
constexpr const char* kCsiNodes = "/apis/storage.k8s.io/v1/csinodes";
constexpr int kWriters = 8;

std::string claim_name(int index) {
  return "claim-" + std::to_string(index);
}
std::string volume_name(int index) {
  return "volume-" + std::to_string(index);
}

test::KubeObject csi_node(int index) {
  const std::string node = node_name(index);
  const json object = {
      {"apiVersion", "storage.k8s.io/v1"},
      {"kind", "CSINode"},
      {"metadata", {{"name", node}}},
      {"spec",
       {{"drivers", json::array({{{"name", kDriver},
                                  {"nodeID", node},
                                  {"allocatable", {{"count", kVolumesOfNode}}}}})}}}};
  return {kCsiNodes, object.dump()};
}

test::KubeObject claim(int index) {
  const json object = {{"apiVersion", "v1"},
                       {"kind", "PersistentVolumeClaim"},
                       {"metadata",
                        {{"name", claim_name(index)},
                         {"annotations", {{"pv.kubernetes.io/bind-completed", "true"}}}}},
                       {"spec",
                        {{"accessModes", {"ReadOnlyMany"}},
                         {"resources", {{"requests", {{"storage", "1Gi"}}}}},
                         {"volumeName", volume_name(index)}}}};
  return {kClaims, object.dump()};
}

test::KubeObject volume(int index) {
  const std::string name = volume_name(index);
  const json object = {{"apiVersion", "v1"},
                       {"kind", "PersistentVolume"},
                       {"metadata", {{"name", name}}},
                       {"spec",
                        {{"accessModes", {"ReadOnlyMany"}},
                         {"capacity", {{"storage", "1Gi"}}},
                         {"csi", {{"driver", kDriver}, {"volumeHandle", name}}},
                         {"persistentVolumeReclaimPolicy", "Retain"},
                         {"claimRef",
                          {{"apiVersion", "v1"},
                           {"kind", "PersistentVolumeClaim"},
                           {"namespace", "default"},
                           {"name", claim_name(index)}}}}}};
  return {kVolumes, object.dump()};
}

// The server leaves out the status of what is created.
Result<void> mark_bound(const test::KubeAccess& access, int count) {
  std::atomic<int> next{0};
  std::atomic<int> refused{0};
  const json bound = {{"status", {{"phase", "Bound"}}}};
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&] {
      test::KubeClient client(access);
      for (int i = next++; i < count; i = next++) {
        for (const std::string& path : {kClaims + ("/" + claim_name(i)) + "/status",
                                        kVolumes + ("/" + volume_name(i)) + "/status"}) {
          if (!client.patch(path, bound).ok()) ++refused;
        }
      }
    });
  }
  writers.clear();  // joins
  if (refused == 0) return {};
  return fail(ErrorCode::kInternal, std::to_string(refused) + " statuses were refused");
}

Result<void> create_volumes(test::KubeCluster& cluster, const FleetShape& fleet) {
  std::vector<test::KubeObject> objects;
  for (int i = 0; i < fleet.nodes; ++i) objects.push_back(csi_node(i));
  for (int i = 0; i < fleet.pods; ++i) objects.push_back(claim(i));
  for (int i = 0; i < fleet.pods; ++i) objects.push_back(volume(i));
  return test::create_all(cluster.admin(), objects).and_then([&] {
    return mark_bound(cluster.admin(), fleet.pods);
  });
}

void change_node(json& node, Shape shape, int index) {
  json& labels = node["metadata"]["labels"];
  if (shape == Shape::kSpread)
    labels[kZoneLabel] = "moon-" + std::to_string(index % kZonesToSpread + 1);
  if (shape == Shape::kAffinity) labels[kZoneLabel] = "zone1";
  if (shape != Shape::kCsiVolumes) return;
  for (const char* amounts : {"allocatable", "capacity"}) {
    node["status"][amounts][std::string("attachable-volumes-csi-") + kDriver] =
        std::to_string(kVolumesOfNode);
  }
}

void change_pod(json& pod, Shape shape, int index) {
  const json blue = {{"matchLabels", {{"color", "blue"}}}};
  if (shape == Shape::kCsiVolumes) {
    pod["spec"]["volumes"] = json::array(
        {{{"name", "vol"}, {"persistentVolumeClaim", {{"claimName", claim_name(index)}}}}});
    return;
  }
  pod["metadata"]["labels"]["color"] = "blue";
  if (shape == Shape::kSpread) {
    pod["spec"]["topologySpreadConstraints"] = json::array({{{"maxSkew", 5},
                                                             {"topologyKey", kZoneLabel},
                                                             {"whenUnsatisfiable", "DoNotSchedule"},
                                                             {"labelSelector", blue}}});
  } else {
    pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json::array({{{"topologyKey", kZoneLabel}, {"labelSelector", blue}}});
  }
}

template <typename Change>
void change_all(std::vector<test::KubeObject>& objects, const Change& change) {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    json object = json::parse(objects[i].body);
    change(object, static_cast<int>(i));
    objects[i].body = object.dump();
  }
}

}  // namespace

Result<void> create_shaped(test::KubeCluster& cluster, Shape shape, const FleetShape& fleet) {
  if (shape == Shape::kPlain) {
    return create_nodes(cluster, fleet).and_then([&] { return create_pods(cluster, fleet); });
  }
  std::vector<test::KubeObject> nodes = node_objects(fleet);
  change_all(nodes, [&](json& node, int i) { change_node(node, shape, i); });
  std::vector<test::KubeObject> pods;
  for (int i = 0; i < fleet.pods; ++i) pods.push_back(pod(i));
  change_all(pods, [&](json& pod, int i) { change_pod(pod, shape, i); });
  return test::create_all(cluster.admin(), nodes)
      .and_then([&]() -> Result<void> {
        if (shape != Shape::kCsiVolumes) return {};
        return create_volumes(cluster, fleet);
      })
      .and_then([&] { return test::create_all(cluster.admin(), pods); });
}

}  // namespace plimsoll::bench

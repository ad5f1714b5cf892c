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
  if (has_claims(shape)) {
    pod["spec"]["resourceClaims"] =
        json::array({{{"name", "device"}, {"resourceClaimName", claim_name(index)}}});
    return;
  }
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

// ---- resource claims

constexpr const char* kResources = "/apis/resource.k8s.io/v1/";
constexpr const char* kDeviceDriver = "devices.example.com";
constexpr int kDevices = 8;

std::string resource_claims() {
  return kResources + std::string("namespaces/default/resourceclaims");
}

test::KubeObject device_slice(int index) {
  const std::string node = node_name(index);
  json devices = json::array();
  for (int i = 0; i < kDevices; ++i) {
    devices.push_back(
        {{"name", "device-" + std::to_string(i)}, {"attributes", {{"pair", {{"int", i / 2}}}}}});
  }
  return {kResources + std::string("resourceslices"),
          json{{"apiVersion", "resource.k8s.io/v1"},
               {"kind", "ResourceSlice"},
               {"metadata", {{"name", node}}},
               {"spec",
                {{"driver", kDeviceDriver},
                 {"nodeName", node},
                 {"pool", {{"name", node}, {"generation", 1}, {"resourceSliceCount", 1}}},
                 {"devices", devices}}}}
              .dump()};
}

test::KubeObject resource_claim(Shape shape, int index) {
  json devices{
      {"requests",
       {{{"name", "device"},
         {"exactly",
          {{"deviceClassName", "devices"}, {"count", shape == Shape::kMatching ? 2 : 1}}}}}}};
  if (shape == Shape::kMatching) {
    devices["constraints"] = {{{"matchAttribute", std::string(kDeviceDriver) + "/pair"}}};
  }
  return {resource_claims(), json{{"apiVersion", "resource.k8s.io/v1"},
                                  {"kind", "ResourceClaim"},
                                  {"metadata", {{"name", claim_name(index)}}},
                                  {"spec", {{"devices", devices}}}}
                                 .dump()};
}

Result<void> create_claims(test::KubeCluster& cluster, Shape shape, const FleetShape& fleet) {
  const std::string expression = std::string("device.driver == '") + kDeviceDriver + "'";
  std::vector<test::KubeObject> objects;
  objects.push_back({kResources + std::string("deviceclasses"),
                     json{{"apiVersion", "resource.k8s.io/v1"},
                          {"kind", "DeviceClass"},
                          {"metadata", {{"name", "devices"}}},
                          {"spec", {{"selectors", {{{"cel", {{"expression", expression}}}}}}}}}
                         .dump()});
  for (int i = 0; i < fleet.nodes; ++i) objects.push_back(device_slice(i));
  for (int i = 0; i < fleet.pods; ++i) objects.push_back(resource_claim(shape, i));
  return test::create_all(cluster.admin(), objects);
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

std::vector<ApiRequest> claim_writes(Shape shape, std::size_t index, const PodName& pod,
                                     const std::string& node, int nodes) {
  const std::string path = resource_claims() + "/" + claim_name(static_cast<int>(index));
  const int count = shape == Shape::kMatching ? 2 : 1;
  const int first = static_cast<int>(index) / nodes * count;
  json results = json::array();
  for (int i = first; i < first + count; ++i) {
    results.push_back({{"request", "device"},
                       {"driver", kDeviceDriver},
                       {"pool", node},
                       {"device", "device-" + std::to_string(i)}});
  }
  const json in_use{{"metadata", {{"finalizers", {"resource.kubernetes.io/delete-protection"}}}}};
  const json allocated{
      {"status",
       {{"allocation",
         {{"devices", {{"results", results}}},
          {"nodeSelector",
           {{"nodeSelectorTerms",
             {{{"matchFields",
                {{{"key", "metadata.name"}, {"operator", "In"}, {"values", {node}}}}}}}}}},
          {"allocationTimestamp", "2026-01-01T00:00:00Z"}}},
        {"reservedFor", {{{"resource", "pods"}, {"name", pod.name}, {"uid", pod.uid}}}}}}};
  constexpr const char* kMerge = "application/merge-patch+json";
  return {{"PATCH", path, kMerge, in_use.dump()},
          {"PATCH", path + "/status", kMerge, allocated.dump()}};
}

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
        if (has_claims(shape)) return create_claims(cluster, shape, fleet);
        if (shape != Shape::kCsiVolumes) return {};
        return create_volumes(cluster, fleet);
      })
      .and_then([&] { return test::create_all(cluster.admin(), pods); });
}

}  // namespace plimsoll::bench

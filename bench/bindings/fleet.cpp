#include "bench/bindings/fleet.hpp"

#include <nlohmann/json.hpp>

#include "tests/kube/kube_objects.hpp"

namespace plimsoll::bench {
namespace {

using nlohmann::json;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
// Room for several times the pods of a benchmark, so that every contestant has enough, even one
// that charges a pod to every zone of its node.
constexpr int kNodeCpus = 64;
constexpr int kNodeGi = 256;

test::Resources amounts(int parts) {
  return {{"cpu", std::to_string(kNodeCpus / parts)},
          {"memory", std::to_string(kNodeGi / parts) + "Gi"}};
}

}  // namespace

std::string node_name(int index) {
  return "node-" + std::to_string(index);
}

test::KubeObject pod(int index) {
  const json object = test::pod_object({.name = "pod-" + std::to_string(index),
                                        .scheduler = kSchedulerName,
                                        .requests = {{"cpu", "1"}, {"memory", "1Gi"}}});
  return {kPods, object.dump()};
}

Result<informer::ServerAccess> server_access(const test::KubeCluster& cluster) {
  informer::KubeconfigOptions options;
  options.path = cluster.kubeconfig().string();
  return informer::load_server_access(options);
}

std::vector<test::KubeObject> node_objects(const FleetShape& shape) {
  std::vector<test::KubeObject> objects;
  test::Resources whole = amounts(1);
  whole.emplace_back("pods", "110");
  for (int i = 0; i < shape.nodes; ++i) {
    const std::string name = node_name(i);
    objects.push_back({std::string(test::kNodes), test::node_object(name, whole).dump()});
    if (shape.zones == 0) continue;
    const json nrt =
        test::nrt_object({.node = name,
                          .zones = std::vector<test::Resources>(
                              static_cast<std::size_t>(shape.zones), amounts(shape.zones))});
    objects.push_back({std::string(test::kNrts), nrt.dump()});
  }
  return objects;
}

Result<void> create_nodes(test::KubeCluster& cluster, const FleetShape& shape) {
  if (shape.zones > 0) {
    if (auto crds = cluster.install_crds(); !crds) return crds;
  }
  return test::create_all(cluster.admin(), node_objects(shape));
}

Result<void> create_pods(test::KubeCluster& cluster, const FleetShape& shape) {
  std::vector<test::KubeObject> objects;
  for (int i = 0; i < shape.pods; ++i) objects.push_back(pod(i));
  return test::create_all(cluster.admin(), objects);
}

Result<std::vector<PodName>> list_pods(test::KubeCluster& cluster) {
  test::KubeClient client(cluster.admin());
  const auto listed = client.list(kPods);
  if (!listed) return fail(listed.error());
  std::vector<PodName> pods;
  for (const json& object : *listed) {
    const json& metadata = object.at("metadata");
    pods.push_back({metadata.at("name"), metadata.at("uid"), metadata.at("resourceVersion")});
  }
  return pods;
}

Result<long> count_events(test::KubeClient& client) {
  const test::KubeReply reply =
      client.get("/apis/events.k8s.io/v1/namespaces/default/events?limit=1");
  const json list = reply.json();
  if (!reply.ok() || list.is_discarded()) {
    return fail(ErrorCode::kUnavailable, "counting events: " + reply.body);
  }
  const long listed = static_cast<long>(list.at("items").size());
  return listed + list.at("metadata").value("remainingItemCount", 0L);
}

}  // namespace plimsoll::bench

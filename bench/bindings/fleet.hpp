#pragma once
// The cluster of a benchmark against a real API server: nodes without kubelets, optionally with
// NUMA zones, and identical pods.

#include <string>
#include <vector>

#include "informer/http/kubeconfig.hpp"
#include "tests/kube/kube_fixture.hpp"

namespace plimsoll::bench {

// The scheduler name of a benchmark's pods, and of every contestant's profile file.
inline constexpr const char* kSchedulerName = "bench-scheduler";

struct FleetShape {
  int nodes = 1'000;
  int pods = 5'000;
  // Of a node, with a NodeResourceTopology (policy single-numa-node, scope container) each; 0: no
  // such objects, and the nodes are as large. Pods are Guaranteed with 1 CPU and 1 GiB either way.
  int zones = 0;
};

// The name of a pod in the API server.
struct PodName {
  std::string name;
  std::string uid;
  std::string resource_version;
};

[[nodiscard]] std::string node_name(int index);
// "pod-<index>", in namespace default.
[[nodiscard]] test::KubeObject pod(int index);

// Access to the API server as administrator, for the scheduler's own client.
[[nodiscard]] Result<informer::ServerAccess> server_access(const test::KubeCluster& cluster);

// The nodes, and their NodeResourceTopologies.
[[nodiscard]] std::vector<test::KubeObject> node_objects(const FleetShape& shape);

// Creates the nodes and the `pods` of the shape. Blocks; stops at the first failure.
[[nodiscard]] Result<void> create_nodes(test::KubeCluster& cluster, const FleetShape& shape);
[[nodiscard]] Result<void> create_pods(test::KubeCluster& cluster, const FleetShape& shape);

// All pods of namespace default.
[[nodiscard]] Result<std::vector<PodName>> list_pods(test::KubeCluster& cluster);

// How many events the API server holds.
[[nodiscard]] Result<long> count_events(test::KubeClient& client);

}  // namespace plimsoll::bench

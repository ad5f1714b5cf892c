#pragma once
// The objects that end-to-end tests create, as JSON: short to write, changed further by the test
// where it matters.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::test {

inline constexpr std::string_view kNodes = "/api/v1/nodes";
inline constexpr std::string_view kNrts =
    "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies";
inline constexpr std::string_view kDevices = "/apis/scheduling.koordinator.sh/v1alpha1/devices";

// Resource names and quantities, in the order that is given: {{"cpu", "2"}, {"memory", "4Gi"}}.
using Resources = std::vector<std::pair<std::string, std::string>>;

// The collection that an object of deploy/ belongs to, by its apiVersion, kind and namespace. A
// kind that is not there fails the test.
[[nodiscard]] std::string collection_of(const nlohmann::json& object);

// A node whose status has these as capacity and allocatable, and is Ready.
[[nodiscard]] nlohmann::json node_object(const std::string& name, const Resources& allocatable);

// A pod of one container "main"; Guaranteed if limits are the requests (the default).
struct PodSpec {
  std::string name = {};
  std::string scheduler = "default-scheduler";
  Resources requests = {};
  bool guaranteed = true;
};
[[nodiscard]] nlohmann::json pod_object(const PodSpec& spec);

// A NodeResourceTopology v1alpha2: zones "node-0", "node-1", ... that have all of the resources
// available, distance 10 within a zone and 20 between two.
struct NrtSpec {
  std::string node = {};
  std::string policy = "single-numa-node";
  std::string scope = "container";
  std::vector<Resources> zones = {};
};
[[nodiscard]] nlohmann::json nrt_object(const NrtSpec& spec);

// One entry of a Device's spec: a healthy GPU with 100 gpu-core and gpu-memory-ratio, and the given
// memory.
[[nodiscard]] nlohmann::json gpu_device(int minor, int numa_node,
                                        const std::string& memory = "16Gi");
[[nodiscard]] nlohmann::json device_object(const std::string& node,
                                           std::vector<nlohmann::json> devices);

// The CustomResourceDefinition of scheduler-plugins' PodGroups, scheduling.x-k8s.io/v1alpha1.
[[nodiscard]] nlohmann::json coscheduling_crd();

// A v1 Binding to a node; posted to <pod>/binding. With a uid it holds only for that very pod.
[[nodiscard]] nlohmann::json binding_object(const std::string& pod, const std::string& node,
                                            const std::string& uid = {});

}  // namespace plimsoll::test

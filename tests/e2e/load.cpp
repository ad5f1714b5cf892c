#include "tests/e2e/load.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/kube/kube_objects.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

constexpr std::int64_t kZoneMemoryGi = 32;
constexpr std::int64_t kGpuMemoryGi = 16;

std::string gi(std::int64_t amount) {
  return std::to_string(amount) + "Gi";
}

class Maker {
 public:
  Maker(std::uint64_t seed, const LoadShape& shape) : random_(seed), shape_(shape) {}

  Load make() {
    for (int i = 0; i < shape_.nodes; ++i) add_node(i);
    const auto gpu_pods = shape_.pods / 4;
    for (int i = 0; i < gpu_pods; ++i) add_pod("gpu-" + std::to_string(i), gpu_pod());
    for (int i = gpu_pods; i < shape_.pods; ++i) {
      const int kind = pick(0, 9);
      if (kind < 2) {
        add_pod("plain-" + std::to_string(i), plain_pod());
      } else {
        add_pod("numa-" + std::to_string(i), numa_pod());
      }
    }
    std::ranges::shuffle(load_.pods, random_);
    return std::move(load_);
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  void add_node(int index) {
    const std::string name = "node-" + std::to_string(index);
    static constexpr int kZones[] = {2, 2, 4, 8};
    const int zones = kZones[pick(0, 3)];
    const int cpus = pick(1, 3) * 2;
    const int gpus = index % shape_.gpus_every == 0 ? pick(2, 4) * 2 : 0;
    const bool huge = chance(50);
    Resources zone{{"cpu", std::to_string(cpus)}, {"memory", gi(kZoneMemoryGi)}};
    Resources node{{"cpu", std::to_string(cpus * zones)},
                   {"memory", gi(kZoneMemoryGi * zones)},
                   {"pods", std::to_string(pick(1, 4) * 8)}};
    if (huge) {
      zone.emplace_back("hugepages-2Mi", "1Gi");
      node.emplace_back("hugepages-2Mi", gi(zones));
    }
    if (gpus > 0) {
      node.emplace_back("koordinator.sh/gpu-core", std::to_string(100 * gpus));
      node.emplace_back("koordinator.sh/gpu-memory-ratio", std::to_string(100 * gpus));
      node.emplace_back("koordinator.sh/gpu-memory", gi(kGpuMemoryGi * gpus));
      node.emplace_back("koordinator.sh/gpu", std::to_string(100 * gpus));
      node.emplace_back("nvidia.com/gpu", std::to_string(gpus));
    }
    put(load_.nodes, kNodes, node_object(name, node));
    NrtSpec nrt{.node = name, .zones = std::vector<Resources>(zones, zone)};
    static const char* const kOtherPolicies[] = {"none", "best-effort", "restricted"};
    if (chance(25)) nrt.policy = kOtherPolicies[pick(0, 2)];
    if (chance(40)) nrt.scope = "pod";
    put(load_.nodes, kNrts, nrt_object(nrt));
    if (gpus == 0) return;
    std::vector<json> devices;
    for (int minor = 0; minor < gpus; ++minor) {
      devices.push_back(gpu_device(minor, minor * zones / gpus, gi(kGpuMemoryGi)));
    }
    put(load_.nodes, kDevices, device_object(name, devices));
  }

  json plain_pod() {
    PodSpec spec{.scheduler = shape_.scheduler, .guaranteed = false};
    if (chance(70)) {
      spec.requests = {{"cpu", std::to_string(pick(1, 20) * 100) + "m"},
                       {"memory", gi(pick(1, 4))}};
    }
    return pod_object(spec);
  }

  // Guaranteed, whole CPUs.
  json numa_pod() {
    const auto container = [&](const std::string& name, int cpus) {
      const json amounts = {{"cpu", std::to_string(cpus)},
                            {"memory", gi(pick(1, 3) * cpus / 2 + 1)}};
      return json{{"name", name},
                  {"image", "registry.example/main:1"},
                  {"resources", {{"requests", amounts}, {"limits", amounts}}}};
    };
    json pod = pod_object({.scheduler = shape_.scheduler});
    json& containers = pod["spec"]["containers"];
    containers = json::array();
    const int count = chance(60) ? 1 : pick(2, 3);
    for (int i = 0; i < count; ++i) {
      containers.push_back(
          container("main-" + std::to_string(i), count == 1 ? pick(2, 6) : pick(1, 4)));
    }
    if (chance(25)) pod["spec"]["initContainers"] = {container("init", pick(1, 5))};
    if (chance(15)) {
      json& resources = containers[0]["resources"];
      resources["limits"]["hugepages-2Mi"] = std::to_string(pick(1, 8) * 64) + "Mi";
      resources["requests"] = resources["limits"];
    }
    return pod;
  }

  // A whole GPU or several, or a share of one; a fifth of them with whole CPUs besides.
  json gpu_pod() {
    PodSpec spec{.scheduler = shape_.scheduler};
    spec.requests = chance(20) ? Resources{{"cpu", "2"}, {"memory", "4Gi"}}
                               : Resources{{"cpu", "500m"}, {"memory", "1Gi"}};
    spec.guaranteed = spec.requests.front().second == "2";
    switch (pick(0, 5)) {
      case 0:
        spec.requests.emplace_back("nvidia.com/gpu", std::to_string(pick(1, 4)));
        break;
      case 1:
        spec.requests.emplace_back("koordinator.sh/gpu", std::to_string(pick(1, 3) * 100));
        break;
      case 2:
        spec.requests.emplace_back("koordinator.sh/gpu", std::to_string(pick(1, 9) * 10));
        break;
      case 3:
        spec.requests.emplace_back("koordinator.sh/gpu-memory", gi(pick(1, 15)));
        break;
      case 4: {
        const std::string share = std::to_string(pick(1, 3) * 25);
        spec.requests.emplace_back("koordinator.sh/gpu-core", share);
        spec.requests.emplace_back("koordinator.sh/gpu-memory-ratio", share);
        break;
      }
      default:
        spec.requests.emplace_back("koordinator.sh/gpu-memory-ratio",
                                   std::to_string(pick(1, 2) * 100));
    }
    json pod = pod_object(spec);
    // Extended resources need a limit, whatever the pod's class.
    json& resources = pod["spec"]["containers"][0]["resources"];
    for (const auto& [name, amount] : spec.requests) {
      if (name.find('/') != std::string::npos) resources["limits"][name] = amount;
    }
    return pod;
  }

  void add_pod(const std::string& name, json pod) {
    pod["metadata"]["name"] = name;
    load_.pods.push_back({"/api/v1/namespaces/" + shape_.ns + "/pods", pod.dump()});
  }

  static void put(std::vector<KubeObject>& into, std::string_view path, const json& object) {
    into.push_back({std::string(path), object.dump()});
  }

  std::mt19937_64 random_;
  const LoadShape& shape_;
  Load load_;
};

}  // namespace

Load make_load(std::uint64_t seed, const LoadShape& shape) {
  return Maker(seed, shape).make();
}

}  // namespace plimsoll::test

#include "bench/engine/world.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "framework/base/quote.hpp"
#include "framework/objects/kinds.hpp"

namespace plimsoll::bench {
namespace {

template <typename Object>
Object must(Result<Object> made) {
  if (made) return *made;
  std::fprintf(stderr, "%s\n", made.error().message.c_str());
  std::exit(1);
}

RawRef raw(const char* resource, const std::string& name, std::string json, const char* ns = "") {
  return decoded({resource, ns, name, resource + name, "1", std::move(json), nullptr});
}

// Of a pod's spec.
std::string special_part(size_t number, Shape shape) {
  if (has_volumes(shape)) {
    return R"("volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"claim-)" +
           std::to_string(number) + R"("}}],)";
  }
  if (shape == Shape::kSpread) {
    return R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":)"
           R"("topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":)"
           R"({"matchLabels":{"app":"kind-0"}}},{"maxSkew":1,"topologyKey":)"
           R"("kubernetes.io/hostname","whenUnsatisfiable":"ScheduleAnyway","labelSelector":)"
           R"({"matchLabels":{"app":"kind-0"}}}],)";
  }
  if (shape == Shape::kAffinity) {
    return R"("affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)"
           R"({"topologyKey":"topology.kubernetes.io/zone","labelSelector":{"matchLabels":)"
           R"({"app":"kind-0"}}}]},"podAntiAffinity":)"
           R"({"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":10,)"
           R"("podAffinityTerm":{"topologyKey":"kubernetes.io/hostname","labelSelector":)"
           R"({"matchLabels":{"app":"kind-0"}}}}]}},)";
  }
  return {};
}

}  // namespace

std::string node_name(size_t number) {
  char name[32];
  std::snprintf(name, sizeof name, "node-%06zu", number);
  return name;
}

NodeRef make_node(size_t number, SymbolTable& symbols) {
  const std::string name = node_name(number);
  return must(decode_node(
      R"({"metadata":{"name":")" + name + R"(","labels":{"kubernetes.io/hostname":")" + name +
          R"(","topology.kubernetes.io/zone":"zone-)" + std::to_string(number % 3) +
          R"("}},"spec":{},"status":{"allocatable":{"cpu":"64","memory":"256Gi","pods":"110",)"
          R"("koordinator.sh/gpu-core":"800","koordinator.sh/gpu-memory-ratio":"800"}}})",
      symbols));
}

RawRef make_topology(size_t number) {
  const std::string name = node_name(number);
  std::string zones;
  for (int zone = 0; zone < kZones; ++zone) {
    const auto resource = [](const char* of, const char* amount) {
      return std::string(R"({"name":")") + of + R"(","capacity":")" + amount +
             R"(","allocatable":")" + amount + R"(","available":")" + amount + R"("})";
    };
    zones += (zone == 0 ? "" : ",") + std::string(R"({"name":"node-)") + std::to_string(zone) +
             R"(","type":"Node","resources":[)" + resource("cpu", "8") + "," +
             resource("memory", "32Gi") + "]}";
  }
  const char* policy = number % 2 == 0 ? "single-numa-node" : "restricted";
  return raw("noderesourcetopologies.v1alpha2.topology.node.k8s.io", name,
             R"({"apiVersion":"topology.node.k8s.io/v1alpha2","kind":"NodeResourceTopology",)"
             R"("metadata":{"name":")" +
                 name + R"("},"zones":[)" + zones +
                 R"(],"attributes":[{"name":"topologyManagerPolicy","value":")" + policy +
                 R"("},{"name":"topologyManagerScope","value":"container"}]})");
}

RawRef make_devices(size_t number) {
  const std::string name = node_name(number);
  std::string devices;
  for (int minor = 0; minor < kGpus; ++minor) {
    const std::string m = std::to_string(minor);
    devices += (minor == 0 ? "" : ",") + std::string(R"({"type":"gpu","id":"GPU-)") + m +
               R"(","minor":)" + m +
               R"(,"health":true,"resources":{"koordinator.sh/gpu-core":"100",)"
               R"("koordinator.sh/gpu-memory":"80Gi","koordinator.sh/gpu-memory-ratio":"100"},)"
               R"("topology":{"socketID":-1,"nodeID":)" +
               m + R"(,"pcieID":"pci)" + std::to_string(minor / 2) + R"("}})";
  }
  return raw("devices.v1alpha1.scheduling.koordinator.sh", name,
             R"({"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"Device",)"
             R"("metadata":{"name":")" +
                 name + R"("},"spec":{"devices":[)" + devices + "]}}");
}

RawRef make_volume(size_t pod, Shape shape, size_t nodes) {
  const std::string number = std::to_string(pod);
  const std::string affinity =
      shape == Shape::kLocalVolumes
          ? R"(,"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":)"
            R"("kubernetes.io/hostname","operator":"In","values":[")" +
                node_name(pod % nodes) + R"("]}]}]}})"
          : std::string();
  return raw("persistentvolumes", "volume-" + number,
             R"({"metadata":{"name":"volume-)" + number + R"(","uid":"v)" + number +
                 R"(","resourceVersion":"1"},"spec":{"accessModes":)"
                 R"(["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"claimRef":{"name":"claim-)" +
                 number + R"(","namespace":"default","uid":"c)" + number +
                 R"("},"csi":{"driver":"driver.example.com","volumeHandle":"h)" + number +
                 R"("},"storageClassName":"disk")" + affinity + R"(},"status":{"phase":"Bound"}})");
}

RawRef make_claim(size_t pod) {
  const std::string number = std::to_string(pod);
  return raw(
      "persistentvolumeclaims", "claim-" + number,
      R"({"metadata":{"name":"claim-)" + number + R"(","namespace":"default","uid":"c)" + number +
          R"(","resourceVersion":"1","annotations":{"pv.kubernetes.io/bind-completed":"yes"}},)"
          R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":)"
          R"("1Gi"}},"storageClassName":"disk","volumeName":"volume-)" +
          number + R"("},"status":{"phase":"Bound"}})",
      "default");
}

PodRef make_pod(size_t number, Shape shape, bool gpus, SymbolTable& symbols, const Bound& bound) {
  const bool kinds = shape == Shape::kMixed || shape == Shape::kDifferent;
  const size_t kind = kinds ? number % 100 : 0;
  const size_t cpus = 1 + kind % 4;
  const std::string memory = shape == Shape::kDifferent ? std::to_string(2'000'000 + number) + "Ki"
                                                        : std::to_string(1 + kind % 7) + "Gi";
  std::string amounts = R"("cpu":")" + std::to_string(cpus) + R"(","memory":")" + memory + '"';
  if (gpus && kind % 10 == 9) {
    const std::string share = kind % 20 == 9 ? "100" : "25";
    amounts += R"(,"koordinator.sh/gpu-core":")" + share +
               R"(","koordinator.sh/gpu-memory-ratio":")" + share + '"';
  }
  const std::string name = "pod-" + std::to_string(number);
  std::string annotations;
  for (const auto& [key, value] : bound.annotations) {
    if (!annotations.empty()) annotations += ',';
    append_json_string(annotations, key);
    annotations += ':';
    append_json_string(annotations, value);
  }
  return must(decode_pod(
      R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":")" + name +
          R"(","annotations":{)" + annotations + R"(},"labels":{"app":"kind-)" +
          std::to_string(kind) + R"("}},"spec":{"nodeName":")" + bound.node +
          R"(","schedulerName":"topo","priority":0,)" + special_part(number, shape) +
          R"("containers":[{"name":"main",)"
          R"("resources":{"requests":{)" +
          amounts + R"(},"limits":{)" + amounts + R"(}}}]},"status":{"phase":"Pending"}})",
      symbols));
}

}  // namespace plimsoll::bench

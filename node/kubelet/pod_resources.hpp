#pragma once
// The kubelet's pod-resources API, v1 (k8s.io/kubelet/pkg/apis/podresources/v1/api.proto): which
// pods hold which CPUs, memory and devices, and what the kubelet can give at all.
//
// What the API does not show: CPUs, memory and devices that plain init containers hold, and UIDs of
// pods. Lists come in another order at each call; here they are sorted. Any thread.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::node {

struct ContainerUse {
  std::string name;
  // Ascending. Kubelets from 1.37 on name only what is the container's alone, those before also
  // what it shares with others of its pod (gate PodLevelResourceManagers).
  std::vector<std::uint32_t> cpus;
  // By resource name, the ids of its devices; ascending, each once.
  std::map<std::string, std::vector<std::string>> devices;
};

struct PodUse {
  std::string ns;
  std::string name;
  std::vector<ContainerUse> containers;  // sidecars and app containers, by name
  // What the pod as a whole holds, what single containers have of it included; ascending. From 1.37
  // on, with the gate PodLevelResourceManagers.
  std::vector<std::uint32_t> cpus = {};
};

// Healthy devices, and the CPUs and memory of the managers that are on.
struct Allocatable {
  std::vector<std::uint32_t> cpus;  // all but the reserved ones; empty: the CPU manager is off
  // By resource name and id, the zones that the device is near; none: the plugin names none.
  std::map<std::string, std::map<std::string, std::vector<int>>> devices;
  // By zone and "memory" or "hugepages-...", bytes; empty: the memory manager is off.
  std::map<int, std::map<std::string, std::int64_t>> memory;
};

// Decode answers of List and GetAllocatableResources. Fail with kInvalid: not such a message.
// Fields that are not known are skipped.
[[nodiscard]] Result<std::vector<PodUse>> decode_pod_list(std::string_view message);
[[nodiscard]] Result<Allocatable> decode_allocatable(std::string_view message);

// One kubelet's socket. Failures are those of grpc_call, and kInvalid for an answer that cannot be
// read.
class PodResources {
 public:
  explicit PodResources(std::filesystem::path socket) : socket_(std::move(socket)) {}

  // Every pod that is not terminal, those included that are being stopped, by namespace and name.
  [[nodiscard]] Result<std::vector<PodUse>> list() const;
  [[nodiscard]] Result<Allocatable> allocatable() const;

 private:
  std::filesystem::path socket_;
};

}  // namespace plimsoll::node

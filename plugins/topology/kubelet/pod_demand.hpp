#pragma once
// The parts of a pod that the kubelet's managers read, computed once and then used for every node.

#include <plimsoll/objects.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::topology::kubelet {

struct Need {
  uint32_t resource = 0;
  int64_t amount = 0;
  bool operator==(const Need&) const = default;
};
using Needs = std::vector<Need>;
// 0 if it is not there.
[[nodiscard]] int64_t amount_of(const Needs& needs, uint32_t resource);

enum class ContainerKind : uint8_t {
  kApp = PLIMSOLL_CONTAINER_APP,
  kInit = PLIMSOLL_CONTAINER_INIT,
  kSidecar = PLIMSOLL_CONTAINER_SIDECAR
};

struct ContainerDemand {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  int64_t cpu_milli = 0;  // request
  int64_t cpu_limit_milli = 0;
  Needs memory;  // requests of memory and hugepages-*; keys of value 0 are kept
  // One of them is no int64 (PLIMSOLL_RESOURCE_NOT_INT64): the memory manager fails on it.
  bool memory_unreadable = false;
  int64_t memory_limit = 0;
  Needs devices;  // limits of everything that may be a device: not cpu, memory, hugepages-*,
                  // ephemeral-storage. Nodes ignore what their device manager does not know.

  // Whole CPUs that the container requests; 0 if it requests a fraction or nothing.
  [[nodiscard]] int64_t whole_cpus() const {
    return cpu_milli > 0 && cpu_milli % 1000 == 0 ? cpu_milli / 1000 : 0;
  }
  // Requests equal limits, above 0, for cpu and memory: what may be exclusive in a pod with
  // pod-level resources.
  [[nodiscard]] bool equal_requests_and_limits() const;
};

// Sums over containers as a kubelet forms them for scope pod.
struct PodTotals {
  int64_t cpus = 0;
  Needs memory;   // only types that an app container (or the pod level) requests
  Needs devices;  // as formed by PodLimits
};

struct PodDemand {
  bool guaranteed = false;
  bool pod_level = false;  // spec.resources is set
  // Init containers and sidecars in listed order, then app containers: the order of admission.
  std::vector<ContainerDemand> containers;
  // With pod_level: spec.resources.requests.
  int64_t pod_cpu_milli = 0;
  Needs pod_memory;  // memory and hugepages-*
  bool pod_memory_unreadable = false;

  // Computes the members that follow. Call it after setting or changing the members before it.
  void prepare();
  // Over the containers. With pod-level resources only those with equal requests and limits count.
  PodTotals totals;
  // With pod_level: of spec.resources (whole CPUs only, memory above 0); devices as in totals.
  PodTotals pod_totals;
  // False: no manager of any node aligns the pod (it is not Guaranteed and has no limit for a
  // possible device). Then every kubelet admits it.
  bool asks = false;

  PodDemand() = default;
  // Of a pod object; prepared. Keeps no view into it.
  explicit PodDemand(const plimsoll_pod& pod);
};

// Whether the memory manager may know the resource: memory and hugepages-*.
[[nodiscard]] bool is_memory(std::string_view resource);

}  // namespace plimsoll::topology::kubelet

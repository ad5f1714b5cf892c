#pragma once
// A kubelet's admission of a pod to a node: topology, device, CPU and memory manager of Kubernetes
// 1.36. Input: the node (model and state) and the pod. Output: admitted, with what each container
// got, or the kubelet's reason.
//
// Pure functions that do not block and throw only if memory runs out; any thread with a Scratch of
// its own. Where the state knows ids (CPUs, devices), the result has the ids that the kubelet would
// choose, devices with the lowest position first. Otherwise counts per zone are charged in the same
// order. Invalid input has a defined result: negative amounts request nothing, a node without zones
// has no preference, a pod without containers is admitted.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/kubelet/cpu_set.hpp"
#include "plugins/topology/kubelet/merge.hpp"
#include "plugins/topology/kubelet/node.hpp"
#include "plugins/topology/kubelet/pod_demand.hpp"

namespace plimsoll::topology::kubelet {

enum class Reason : uint8_t {
  kAdmitted,
  kTopologyAffinityError,
  kSmtAlignmentError,
  kUnexpectedAdmissionError,
  kEmptyPodSharedPoolError
};
// status.reason of the failed pod; empty for kAdmitted.
[[nodiscard]] std::string_view to_string(Reason reason);

// The part of the kubelet that refused.
enum class Stage : uint8_t { kNone, kMerge, kDevice, kCpu, kMemory };

// The cause, in more detail than the reason.
enum class Fault : uint8_t {
  kNone,
  kNoAffinity,                   // the merged hint is not what the policy accepts
  kNoPodLevelAffinity,           // the same for a pod with pod-level resources, in scope pod
  kNoPodLevelContainerAffinity,  // and in scope container
  kNotWholeCores,                // full-pcpus-only: not a multiple of threads per core
  kTooFewWholeCores,             // full-pcpus-only: not enough free physical cores
  kTooFewCpus,                   // fewer free CPUs than requested
  kNoHealthyDevice,
  kTooFewDevices,
  kNoDefaultAffinity,    // memory: no zones have enough
  kDefaultNotPreferred,  // memory: the affinity was preferred, but the best zones are not
  kNoExtension,          // memory: no zones including the affinity have enough
  kExtensionNotPreferred,
  kNotInt64,        // memory: a request is no whole number of bytes
  kGroupViolation,  // memory: single-zone and multi-zone blocks on one zone
  kEmptySharedPool  // pod-level resources: nothing is left for the containers that share CPUs or
                    // memory
};

inline constexpr uint32_t kWholePod = UINT32_MAX;

struct MemoryBlock {
  uint32_t resource = 0;
  uint32_t row = 0;  // of the model
  ZoneMask zones = 0;
  int64_t bytes = 0;  // what later containers have not reused
};

struct DeviceGrant {
  uint32_t resource = 0;
  uint32_t row = 0;  // of the model
  int64_t count = 0;
  ZoneMask zones = 0;            // that they touch
  std::vector<uint64_t> ids;     // bits into the model's list; empty if unknown
  std::vector<int64_t> by_zone;  // by column, devices touching it
};

// What a container got. Containers reuse what earlier plain init containers held, so the sum over
// the containers may exceed what the pod takes. Allocation has what the pod takes.
struct ContainerGrant {
  bool has_hint = false;  // policy none stores none
  Hint hint;
  std::vector<int64_t> cpus;  // by column; empty: none are exclusive
  CpuSet cpu_ids;             // if known
  std::vector<MemoryBlock> memory;
  std::vector<DeviceGrant> devices;
};

// What the pod took from the node's state and has to give back. Valid with the same model only.
struct Allocation {
  struct Block {
    uint32_t container = 0;  // position in PodDemand, or kWholePod
    bool init = false;       // of a plain init container: freed when
    MemoryBlock block;
  };
  std::vector<int64_t> cpus;  // by column; empty: none
  CpuSet cpu_ids;             // if known_cpu_ids
  bool known_cpu_ids = false;
  std::vector<Block> blocks;
  std::vector<DeviceGrant> devices;  // one per type

  [[nodiscard]] bool empty() const { return cpus.empty() && blocks.empty() && devices.empty(); }
};

struct Admission {
  Reason reason = Reason::kAdmitted;
  Stage stage = Stage::kNone;
  Fault fault = Fault::kNone;
  uint32_t container = kWholePod;  // position in PodDemand at which it failed
  uint32_t resource = 0;           // of kTooFewDevices and kNoHealthyDevice
  int64_t need = 0;                // CPUs or devices requested
  int64_t have = 0;                // CPUs or devices available; CPUs per core for kNotWholeCores
  int64_t per_core = 0;            // CPUs per core, of kTooFewWholeCores
  std::vector<ContainerGrant> containers;  // as in PodDemand; on rejection: those before it
  Allocation allocation;                   // empty on rejection

  [[nodiscard]] bool admitted() const { return reason == Reason::kAdmitted; }
};

// status.message of the failed pod in the kubelet's words, as far as they do not depend on what
// only the kubelet knows. Empty if admitted. `resource` is the name of admission.resource.
[[nodiscard]] std::string message_of(const Admission& admission, std::string_view resource);

// Memory that calls reuse, so that no node needs an allocation. One per thread.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(Scratch&&) noexcept;
  Scratch& operator=(Scratch&&) noexcept;

  // For tests: every merge uses the full lists of hints, without shortcuts.
  void use_full_lists(bool on);
  [[nodiscard]] bool uses_full_lists() const;

  struct Work;
  [[nodiscard]] Work& work() { return *work_; }

 private:
  std::unique_ptr<Work> work_;
};

// The hints that went into a merge, for tests and explanations.
struct HintRecord {
  uint32_t container = kWholePod;  // scope pod: kWholePod
  struct Entry {
    uint32_t resource = 0;
    HintList list;
  };
  std::vector<Entry> entries;  // resources without a hint provider are missing
};

// Admits the pod. On success `state` is the state afterwards. On rejection it is the state that the
// kubelet is left with: the containers before the failed one got their resources and gave them
// back. For memory this need not be the exact inverse (release): bytes may have moved between
// zones, and a zone that others use may have left its group. If `records` is given, all hints are
// listed there (slower).
[[nodiscard]] Admission admit(const NodeModel& model, NodeState& state, const PodDemand& pod,
                              Scratch& scratch, std::vector<HintRecord>* records = nullptr);

// Whether admit would admit the pod, and if not, the reason; for Filter. Does not allocate memory
// once `scratch` has grown.
[[nodiscard]] Reason verdict(const NodeModel& model, const NodeState& state, const PodDemand& pod,
                             Scratch& scratch);
[[nodiscard]] inline bool admits(const NodeModel& model, const NodeState& state,
                                 const PodDemand& pod, Scratch& scratch) {
  return verdict(model, state, pod, scratch) == Reason::kAdmitted;
}

// The pod is gone: frees everything it held, but never more than the node has.
void release(const NodeModel& model, NodeState& state, const Allocation& allocation);

// Container `container` (position in PodDemand) was started: frees the memory blocks of the plain
// init containers before it (memory manager's AddContainer). Changes `state` and `allocation`.
void started(const NodeModel& model, NodeState& state, Allocation& allocation, uint32_t container);
// All containers were started.
inline void started(const NodeModel& model, NodeState& state, Allocation& allocation) {
  started(model, state, allocation, kWholePod);
}

}  // namespace plimsoll::topology::kubelet

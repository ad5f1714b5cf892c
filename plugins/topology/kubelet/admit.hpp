#pragma once
// A kubelet's admission of a pod to a node: topology manager, device, CPU and memory manager, of
// Kubernetes 1.36. In: the node (model and state) and the pod. Out: admitted, and what each
// container got, or the kubelet's reason.
//
// Pure functions; nothing blocks or throws (but for memory); any thread with a Scratch of its own.
// Where the state knows ids (CPUs, devices) they are what the kubelet would choose, devices with
// the lowest position first; otherwise counts per zone are charged in the same order. Absurd input
// has a defined result: negative amounts ask for nothing, a node without zones has no preference
// anywhere, a pod without containers is admitted.

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

// Who refused.
enum class Stage : uint8_t { kNone, kMerge, kDevice, kCpu, kMemory };

// What was wrong, finer than the reason.
enum class Fault : uint8_t {
  kNone,
  kNoAffinity,                   // the merged hint is not what the policy accepts
  kNoPodLevelAffinity,           // the same for a pod with pod-level resources, in scope pod
  kNoPodLevelContainerAffinity,  // and in scope container
  kNotWholeCores,                // full-pcpus-only: not a multiple of threads per core
  kTooFewWholeCores,             // full-pcpus-only: not enough free physical cores
  kTooFewCpus,                   // fewer free CPUs than asked for
  kNoHealthyDevice,
  kTooFewDevices,
  kNoDefaultAffinity,    // memory: no zones have enough
  kDefaultNotPreferred,  // memory: the best zones are not preferred, as the affinity was
  kNoExtension,          // memory: no zones including the affinity have enough
  kExtensionNotPreferred,
  kGroupViolation,  // memory: single-zone and multi-zone blocks on one zone
  kEmptySharedPool  // pod-level resources: nothing is left for containers that share
};

inline constexpr uint32_t kWholePod = UINT32_MAX;

struct MemoryBlock {
  uint32_t resource = 0;
  uint32_t row = 0;  // of the model
  ZoneMask zones = 0;
  int64_t bytes = 0;  // after later containers reused of it
};

struct DeviceGrant {
  uint32_t resource = 0;
  uint32_t row = 0;  // of the model
  int64_t count = 0;
  ZoneMask zones = 0;            // that they touch
  std::vector<uint64_t> ids;     // bits into the model's list; empty if that is not known
  std::vector<int64_t> by_zone;  // by column, devices touching it
};

// What a container got. Containers reuse what plain init containers before them held, so the sum
// over containers may exceed what the pod takes: that is in Allocation.
struct ContainerGrant {
  bool has_hint = false;  // policy none stores none
  Hint hint;
  std::vector<int64_t> cpus;  // by column; empty: none are exclusive
  CpuSet cpu_ids;             // if known
  std::vector<MemoryBlock> memory;
  std::vector<DeviceGrant> devices;
};

// What the pod took from the node's state, to be given back. Of one model: valid with that model
// only.
struct Allocation {
  struct Block {
    uint32_t container = 0;  // position in PodDemand, or kWholePod
    bool init = false;       // of a plain init container: goes when a later container starts
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
  uint32_t container = kWholePod;          // position in PodDemand at which it failed
  uint32_t resource = 0;                   // of kTooFewDevices and kNoHealthyDevice
  int64_t need = 0;                        // CPUs or devices asked for
  int64_t have = 0;                        // and there; CPUs per core for kNotWholeCores
  int64_t per_core = 0;                    // CPUs per core, of kTooFewWholeCores
  std::vector<ContainerGrant> containers;  // as PodDemand's; on rejection what was got before it
  Allocation allocation;                   // empty on rejection

  [[nodiscard]] bool admitted() const { return reason == Reason::kAdmitted; }
};

// status.message of the failed pod in the kubelet's words, as far as they do not depend on what
// only the kubelet knows; empty if admitted. `resource` is the name of admission.resource.
[[nodiscard]] std::string message_of(const Admission& admission, std::string_view resource);

// Memory that calls reuse, so that no node costs an allocation. One per thread.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(Scratch&&) noexcept;
  Scratch& operator=(Scratch&&) noexcept;

  // For tests: every merge goes over full lists of hints, no short way is taken.
  void use_full_lists(bool on);
  [[nodiscard]] bool uses_full_lists() const;

  struct Work;
  [[nodiscard]] Work& work() { return *work_; }

 private:
  std::unique_ptr<Work> work_;
};

// Hints as they went into a merge, for tests and explanations.
struct HintRecord {
  uint32_t container = kWholePod;  // scope pod: kWholePod
  struct Entry {
    uint32_t resource = 0;
    HintList list;
  };
  std::vector<Entry> entries;  // resources on which no provider had a say are missing
};

// Admits the pod: on success `state` is what it is afterwards. On rejection it is what the kubelet
// is left with: containers before the one that failed got their share and gave it back, which for
// memory need not be the exact inverse (release): bytes may have moved between zones, and a zone
// that others use may have left its group.
// `records`: if given, all hints are listed there (slower).
[[nodiscard]] Admission admit(const NodeModel& model, NodeState& state, const PodDemand& pod,
                              Scratch& scratch, std::vector<HintRecord>* records = nullptr);

// Whether admit would admit, and if not why; for Filter. Allocates nothing once `scratch` has
// grown.
[[nodiscard]] Reason verdict(const NodeModel& model, const NodeState& state, const PodDemand& pod,
                             Scratch& scratch);
[[nodiscard]] inline bool admits(const NodeModel& model, const NodeState& state,
                                 const PodDemand& pod, Scratch& scratch) {
  return verdict(model, state, pod, scratch) == Reason::kAdmitted;
}

// The pod is gone: everything is given back. Never more than the node has.
void release(const NodeModel& model, NodeState& state, const Allocation& allocation);

// Container `container` (position in PodDemand) was started: the memory blocks of the plain init
// containers before it are dropped (memory manager's AddContainer). Both are changed.
void started(const NodeModel& model, NodeState& state, Allocation& allocation, uint32_t container);
// All containers were.
inline void started(const NodeModel& model, NodeState& state, Allocation& allocation) {
  started(model, state, allocation, kWholePod);
}

}  // namespace plimsoll::topology::kubelet

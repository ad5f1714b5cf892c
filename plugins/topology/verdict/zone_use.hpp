#pragma once
// The zones that a pod's containers will use on a node, as input for scores. The kubelet's
// algorithm (kubelet/admit.hpp) finds them on the node's likeliest state, with all that is known of
// it: memory groups, prefer-closest-numa-nodes, reserved CPUs, pod-level resources, lists of
// devices. From counts alone, the counts decide. Works for every policy and scope, and for pods of
// any QoS class. Pure; any thread, one ZoneUse per thread.

#include <cstdint>
#include <vector>

#include "plugins/topology/abi/ledger_types.hpp"
#include "plugins/topology/kubelet/quick.hpp"

namespace plimsoll::topology {

// Memory for answers, reused from one to the next.
class ZoneUse {
 public:
  // Where the pod lands on the node in this state; null if its kubelet refuses it. `view` comes
  // from the same report as the model; the answer's `free` is the view's minus what the pod takes.
  // Valid until the next call.
  [[nodiscard]] const plimsoll_numa_use* find(const kubelet::NodeModel& model,
                                              const kubelet::NodeState& state,
                                              const plimsoll_numa_node& view,
                                              const kubelet::PodDemand& pod,
                                              kubelet::Scratch& scratch);
  // The same answer for a pod that QuickPlan covers. `counts`: of the node, without the pod.
  [[nodiscard]] const plimsoll_numa_use* find(const kubelet::NodeModel& model,
                                              const int64_t* counts, const plimsoll_numa_node& view,
                                              const kubelet::QuickPlace& place);

 private:
  // `before`, `after`: NodeState::counts().
  void begin(const kubelet::NodeModel& model, const plimsoll_numa_node& view, const int64_t* before,
             const int64_t* after);
  // What the state lost of a resource; one count is this many base units.
  void take(const plimsoll_numa_node& view, uint32_t resource, int64_t unit, const int64_t* before,
            const int64_t* after);
  // Zones from which something was allocated together; the request needed at least `needed`.
  void spread(uint64_t columns, uint32_t needed);

  plimsoll_numa_use use_{};
  std::vector<uint64_t> taken_;
  std::vector<int64_t> free_;
  kubelet::NodeState after_;
};

// The use of a landing with `taking` (ledger_service.hpp, `land_many`), for scores: `free` is right
// in that zone's cells only.
class OneZoneUse {
 public:
  // Valid until the next call.
  [[nodiscard]] const plimsoll_numa_use* find(const plimsoll_numa_landing& landing);

 private:
  plimsoll_numa_use use_{};
  std::vector<uint64_t> taken_;
  std::vector<int64_t> free_;
};

[[nodiscard]] Whereabouts whereabouts_of(const kubelet::NodeModel& model,
                                         const kubelet::PodDemand& pod,
                                         const kubelet::Admission& given);

// No container is on more zones than its size needs, and the kubelet enforces this.
[[nodiscard]] inline bool is_aligned(const plimsoll_numa_use& use) {
  return use.promised != 0 && use.used <= use.needed;
}

}  // namespace plimsoll::topology

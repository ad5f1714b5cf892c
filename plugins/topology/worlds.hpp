#pragma once
// The possible states of a node: its last report plus everything that happened since, in every
// order in which it may have happened.
//
// A kubelet admits pods one after the other. Where a pod lands depends on the pods admitted before
// it and on the pods that had released their resources by then. Part of the order is known (the
// watch showed one binding before another) and part is not (bindings on their way, a pod that left
// while others arrived). Each possible order is replayed with the kubelet's own algorithm. The
// result is a few states, often only one.
//
// Pure; any thread with a Scratch of its own.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plugins/topology/kubelet/admit.hpp"

namespace plimsoll::topology {

// Limits on the states that are kept and on the admissions that are replayed to find them; beyond
// these, there is no result. kMaxPlaysToAsk is for questions about one more pod, asked for every
// node.
inline constexpr size_t kMaxWorlds = 16;
inline constexpr size_t kMaxPlays = 512;
inline constexpr size_t kMaxPlaysToAsk = 256;
inline constexpr size_t kMaxSteps = 64;

// A pod that steps are about.
struct Subject {
  const kubelet::PodDemand* demand = nullptr;       // the pod to be admitted; null if `held` is set
  std::shared_ptr<const kubelet::Allocation> held;  // what it has held since before the report
};

struct Step {
  enum class Kind : uint8_t {
    kAdmit,
    kStart,   // its containers run: the memory blocks of its plain init containers are freed
    kRelease  // it is gone, and the kubelet has released what it held
  };
  Kind kind = Kind::kAdmit;
  bool optional = false;  // may not have happened yet
  uint32_t subject = 0;
  uint64_t after = 0;  // bits of the steps that surely came before it
};

struct World {
  kubelet::NodeState state;
  // By subject: what the kubelet allocated to it; null if it was refused or already held something.
  std::vector<std::shared_ptr<const kubelet::Admission>> given;
  // By subject: what it holds now.
  std::vector<std::shared_ptr<const kubelet::Allocation>> held;
};

struct Outlook {
  std::vector<World> worlds;  // the first: the steps in the order in which they are listed
  uint64_t refused = 0;       // steps whose pod is refused in some order
  bool complete = true;       // false: there are too many, `worlds` is incomplete
};

// Equal states are merged into one world. With `each_order`, states in which pods hold different
// things stay separate.
[[nodiscard]] Outlook explore(const kubelet::NodeModel& model, const kubelet::NodeState& base,
                              std::span<const Subject> subjects, std::span<const Step> steps,
                              kubelet::Scratch& scratch, bool each_order = false);

// Whether every pod except those in `lost` is admitted in every order, and always to the same
// zones. False too if there are too many orders to check.
[[nodiscard]] bool order_is_all_the_same(const kubelet::NodeModel& model,
                                         const kubelet::NodeState& base,
                                         std::span<const Subject> subjects,
                                         std::span<const Step> steps, uint64_t lost,
                                         kubelet::Scratch& scratch);

// kubelet::admit, plus what the pod's containers get when they start, which is soon after: with
// pod-level resources and scope pod, the device manager allocates nothing earlier
// (PodLevelResourceManagers).
[[nodiscard]] kubelet::Admission admit_and_start(const kubelet::NodeModel& model,
                                                 kubelet::NodeState& state,
                                                 const kubelet::PodDemand& pod,
                                                 kubelet::Scratch& scratch);

// Takes the pod's amounts from every zone that might provide them, that is, from all zones. So no
// zone can have less after the pod is admitted, wherever it lands. Only counts remain valid
// afterwards.
void take_everywhere(const kubelet::NodeModel& model, kubelet::NodeState& state,
                     const kubelet::PodDemand& pod);

// For a pod that is on its way although the kubelet would refuse it now, because the pods that make
// room for it are still leaving. Under single-numa-node it takes what is left in the roomiest zone,
// otherwise from the roomiest zones one after the other. The ids of CPUs are dropped.
void take_roomiest(const kubelet::NodeModel& model, kubelet::NodeState& state,
                   const kubelet::PodDemand& pod);

// Admits `pods` one after the other. A pod that would be refused takes what is left.
void bring(const kubelet::NodeModel& model, kubelet::NodeState& state,
           std::span<const kubelet::PodDemand* const> pods, kubelet::Scratch& scratch);

// Whether counts are enough to judge states of this node. They are not if ids or groups of zones
// matter.
[[nodiscard]] bool counts_suffice(const kubelet::NodeModel& model, const kubelet::NodeState& state);

// Whether each of the pods is admitted wherever the others land and whatever else was freed;
// `least` is the least that may be free. Sufficient, not necessary. Only for pods, or parts of
// pods, for which fits_with_more is true (room.hpp). Needs counts_suffice unless there is only one
// pod.
[[nodiscard]] bool fit_side_by_side(const kubelet::NodeModel& model,
                                    const kubelet::NodeState& least,
                                    std::span<const kubelet::PodDemand* const> pods,
                                    kubelet::Scratch& scratch);

// Whether a kubelet treats both pods the same; names of containers do not count.
[[nodiscard]] bool same_demand(const kubelet::PodDemand& a, const kubelet::PodDemand& b);

}  // namespace plimsoll::topology

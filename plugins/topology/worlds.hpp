#pragma once
// What a node may be like now: its last report, and everything that happened since, in every order
// in which it may have happened.
//
// A kubelet admits pods one after the other, and where a pod lands depends on those before it and
// on those that had let go by then. Of some of this the order is known (a binding that the watch
// showed before another), of some it is not (bindings that are still on their way, a pod that went
// away while others came). Each order is played through with the kubelet's own algorithm; what
// comes out are a few states, often one.
//
// Pure; any thread with a Scratch of its own.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plugins/topology/kubelet/admit.hpp"

namespace plimsoll::topology {

// So many states are kept, and so many admissions played through to find them; with more, nothing
// is said. The second limit is for questions about one more pod, asked for every node.
inline constexpr size_t kMaxWorlds = 16;
inline constexpr size_t kMaxPlays = 512;
inline constexpr size_t kMaxPlaysToAsk = 256;
inline constexpr size_t kMaxSteps = 64;

// A pod that steps are about.
struct Subject {
  const kubelet::PodDemand* demand = nullptr;       // to be admitted; or
  std::shared_ptr<const kubelet::Allocation> held;  // what it has held since before the report
};

struct Step {
  enum class Kind : uint8_t {
    kAdmit,
    kStart,   // its containers run: its plain init containers' memory blocks go
    kRelease  // it is gone, and the kubelet has let go of what it held
  };
  Kind kind = Kind::kAdmit;
  bool optional = false;  // may not have happened yet
  uint32_t subject = 0;
  uint64_t after = 0;  // bits of the steps that came before it for sure
};

struct World {
  kubelet::NodeState state;
  // By subject: what the kubelet gave it, or null: it was refused, or held something before.
  std::vector<std::shared_ptr<const kubelet::Admission>> given;
  // By subject: what it holds now.
  std::vector<std::shared_ptr<const kubelet::Allocation>> held;
};

struct Outlook {
  std::vector<World> worlds;  // the first: the steps in the order in which they are listed
  uint64_t refused = 0;       // steps whose pod is refused in some order
  bool complete = true;       // false: too many, `worlds` is not all of them
};

// Equal states are one world, unless `each_order`: then those that differ in what pods hold are
// told apart.
[[nodiscard]] Outlook explore(const kubelet::NodeModel& model, const kubelet::NodeState& base,
                              std::span<const Subject> subjects, std::span<const Step> steps,
                              kubelet::Scratch& scratch, bool each_order = false);

// Whether every pod is admitted in every order, those in `lost` aside, and each to the same zones.
// False too if there are too many orders to tell.
[[nodiscard]] bool order_is_all_the_same(const kubelet::NodeModel& model,
                                         const kubelet::NodeState& base,
                                         std::span<const Subject> subjects,
                                         std::span<const Step> steps, uint64_t lost,
                                         kubelet::Scratch& scratch);

// kubelet::admit, and what the pod's containers get when they start, which is soon: with pod-level
// resources and scope pod the device manager hands out nothing before. (PodLevelResourceManagers)
[[nodiscard]] kubelet::Admission admit_and_start(const kubelet::NodeModel& model,
                                                 kubelet::NodeState& state,
                                                 const kubelet::PodDemand& pod,
                                                 kubelet::Scratch& scratch);

// Takes what the pod may get from every zone it may get it in, that is from all of them: less than
// this no zone has once the pod is there, wherever it is. Only counts are left afterwards.
void take_everywhere(const kubelet::NodeModel& model, kubelet::NodeState& state,
                     const kubelet::PodDemand& pod);

// The pod is on its way although the kubelet would refuse it now: those that make room for it are
// still going. It takes what is there of the roomiest zone under single-numa-node, else of the
// roomiest zones one after the other. Ids of CPUs are forgotten.
void take_roomiest(const kubelet::NodeModel& model, kubelet::NodeState& state,
                   const kubelet::PodDemand& pod);

// Admits pods that come first, one after the other; those that would be refused have what is there.
void bring(const kubelet::NodeModel& model, kubelet::NodeState& state,
           std::span<const kubelet::PodDemand* const> pods, kubelet::Scratch& scratch);

// Whether states of this node can be judged that way: where ids or groups of zones decide, counts
// do not tell.
[[nodiscard]] bool counts_suffice(const kubelet::NodeModel& model, const kubelet::NodeState& state);

// Whether each of the pods is admitted wherever the others are and whatever else came free: `least`
// is what is free at least. Sufficient, not necessary. Only for pods, or parts of pods, of which
// fits_with_more is true (room.hpp). Needs counts_suffice unless there is one pod.
[[nodiscard]] bool fit_side_by_side(const kubelet::NodeModel& model,
                                    const kubelet::NodeState& least,
                                    std::span<const kubelet::PodDemand* const> pods,
                                    kubelet::Scratch& scratch);

// Pods that are the same to a kubelet; names of containers do not count.
[[nodiscard]] bool same_demand(const kubelet::PodDemand& a, const kubelet::PodDemand& b);

}  // namespace plimsoll::topology

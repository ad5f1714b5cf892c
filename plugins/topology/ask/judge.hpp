#pragma once
// Whether a kubelet admits one more pod on a node in its possible states. Internal to the ledger.
// Pure; any thread.

#include <span>

#include "plugins/topology/possible/release.hpp"
#include "plugins/topology/record/node_record.hpp"
#include "plugins/topology/verdict/judgement.hpp"

namespace plimsoll::topology {

// Whether its kubelet admits the pod, and every pod that is on its way there. Without a
// report it is as Inquiry::without_report says, unless its object cannot be read.
[[nodiscard]] Judgement judge(const NodeRecord& node, Inquiry& pod);

// The same after the pods with these UIDs are gone, those of `together` were bound, which the
// kubelet may see in another order, and those of `with` were admitted, in this order.
using Demands = std::span<const std::shared_ptr<const kubelet::PodDemand>>;
[[nodiscard]] Judgement judge_changed(const NodeRecord& node, Inquiry& pod,
                                      std::span<const plimsoll_str> without, Demands together,
                                      Demands with);

// Usually the counts of the node's only state are enough. Returns false if there is no quick
// answer.
[[nodiscard]] bool judge_quickly(const kubelet::NodeModel& model, const int64_t* counts,
                                 const kubelet::Brief& brief, Inquiry& pod, Judgement& judgement);

// What-if: whether `fits` holds for the node, which has a report, after these pods are gone and a
// report has shown it, whatever zones they hold. Pods that are already gone count as reported gone.
[[nodiscard]] bool fits_without(const NodeRecord& node, std::span<const plimsoll_str> uids,
                                const Release::Fits& fits, Release::Lay lay);

// The node was known to have no room for this pod, so that its kubelet refuses it shows nothing
// new.
[[nodiscard]] bool refusal_foreseen(const NodeRecord& node, const PodRecord& pod);

[[nodiscard]] std::vector<PodKey> keys_of(std::span<const plimsoll_str> uids);

}  // namespace plimsoll::topology

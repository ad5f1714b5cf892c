#pragma once
// Why a node was refused, for people. Begins with the reference's words and goes on with what was
// short: resource, need, best zone, age of the report, promises in flight.

#include <string>

#include "plugins/topology/ask/questions.hpp"
#include "plugins/topology/verdict/fit.hpp"

namespace plimsoll::topology {

[[nodiscard]] std::string explain_text(const PodRequest& pod, const plimsoll_numa_node* node,
                                       const NodeAllocatable& allocatable, Verdict verdict,
                                       int64_t now_ms, Scratch& scratch);

// The same for admission model Kubelet. `likely`: the node as its kubelet most likely sees it;
// `view` null: the node has no report.
[[nodiscard]] std::string explain_judgement(const plimsoll_pod& object,
                                            const kubelet::PodDemand& pod,
                                            const LikelyState& likely,
                                            const plimsoll_numa_node* view, Verdict verdict,
                                            int64_t now_ms);

// The name of a resource that the pod asks for; empty if it does not.
[[nodiscard]] std::string_view resource_name(const plimsoll_pod& object, uint32_t resource);

// An amount in base units as Kubernetes would spell it: "26", "1500m", "16Gi".
[[nodiscard]] std::string amount_text(std::string_view resource, int64_t amount);

}  // namespace plimsoll::topology

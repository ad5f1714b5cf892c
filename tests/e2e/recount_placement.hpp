#pragma once
// An independent recount of where pods are, from API objects and the order of their Bindings: do
// spreading, affinity, volumes and attach limits hold, and is any pod kept waiting though a node
// takes it?

#include <string>
#include <vector>

#include "tests/e2e/placement_facts.hpp"

namespace plimsoll::test {

// How many pods that a rule selects are in each of the domains that count for the pod: those of the
// nodes which its nodeSelector takes and that have the labels of all its hard constraints.
[[nodiscard]] std::map<std::string, std::int64_t> empty_domains(const PlacedPod& pod,
                                                                const SpreadRule& rule,
                                                                const Placement& placement);
// The domain in which a pod on this node counts; empty: in none.
[[nodiscard]] std::string counted_domain(const PlacedPod& pod, const SpreadRule& rule,
                                         const PlacedNode& node);

// One sentence for everything that must not be at the end:
//  - a pod on a node that its nodeSelector or the node's taints forbid;
//  - two pods in one domain that required anti-affinity keeps apart;
//  - a pod without the neighbour that required affinity wants, unless it was the first of those
//    that want each other;
//  - a domain with more pods than maxSkew above the least of them. Pods that still wait could be in
//    the least one. (With pods that go, or numbers that the domains do not divide, a scheduler
//    could be innocent of that. Here no pod goes.)
//  - a bound pod with a claim that is not Bound, or whose volume cannot be used on the node;
//  - a volume that two claims name, or a claim that two volumes name;
//  - a claim that a node was selected for and that has no volume;
//  - two bound pods with one ReadWriteOncePod claim;
//  - a node with more volumes of a driver than it attaches.
[[nodiscard]] std::vector<std::string> placement_faults(const Placement& placement);

// "ns/pod fits node-7", for every pending pod of the scheduler that some node takes by the rules
// above, its allocatable resources included. A ReadWriteOncePod claim keeps only pods of its own
// priority or a lower one waiting, and this load has none of these.
[[nodiscard]] std::vector<std::string> kept_waiting(const Placement& placement,
                                                    const std::string& scheduler);

}  // namespace plimsoll::test

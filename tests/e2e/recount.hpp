#pragma once
// An independent recount of a cluster from its API objects: is any node, NUMA zone or device
// promised beyond what it has, does every pod hold what it asked for in a place that its kubelet
// takes, and is any pod kept waiting though there is room for it?

#include <map>
#include <string>
#include <vector>

#include "tests/e2e/facts.hpp"

namespace plimsoll::test {

struct Recount {
  std::map<std::string, NodeFacts> nodes;  // with what is held
  std::vector<PodFacts> pods;
  // One sentence for everything that must not be:
  //  - a node whose pods ask for more of a resource, or are more, than its allocatable says;
  //  - a zone of a single-numa-node node whose pods hold more than the zone's allocatable;
  //  - a Guaranteed container of such a node that is not wholly in one zone, or (scope pod) not in
  //    the zone of the pod's other containers;
  //  - a device given beyond its totals, or that is not healthy or not there;
  //  - a pod that did not get the devices it asked for.
  std::vector<std::string> faults;

  [[nodiscard]] std::size_t bound() const;
  [[nodiscard]] std::size_t pending() const { return pods.size() - bound(); }
};

[[nodiscard]] Recount recount(const ClusterObjects& objects);

// "ns/pod fits node-7", for every pending pod of the scheduler that some node certainly takes: free
// resources, free zones as the kubelet's topology manager assigns them, free devices. It errs on
// the side of "does not fit". Taints and affinity beyond nodeSelector are not looked at.
[[nodiscard]] std::vector<std::string> held_back(const Recount& recount,
                                                 const std::string& scheduler);

// For messages: at most `most` lines.
[[nodiscard]] std::string lines(const std::vector<std::string>& all, std::size_t most = 20);

}  // namespace plimsoll::test

#pragma once
// What API objects say about where pods may be: spreading, affinity, claims and their volumes. Read
// plainly, for a recount; it shares no code with the scheduler. What the load of these tests does
// not use (matchExpressions, minDomains, ...) throws: it must not be passed over in silence.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "tests/e2e/facts.hpp"

namespace plimsoll::test {

using Labels = std::map<std::string, std::string>;

// A topologySpreadConstraint with DoNotSchedule.
struct SpreadRule {
  std::string key;
  std::int64_t max_skew = 1;
  Labels selector;
  bool honors_taints = false;
};
// A required term of pod affinity or anti-affinity.
struct NeighbourRule {
  std::string key;
  Labels selector;
};

struct PlacedPod {
  PodFacts facts;
  Labels labels;
  Labels tolerated;  // taint key -> value
  std::vector<SpreadRule> spread;
  std::vector<NeighbourRule> affinity;
  std::vector<NeighbourRule> anti_affinity;
  std::vector<std::string> claims;  // namespace/name
};

struct PlacedNode {
  NodeFacts facts;
  Labels taints;                               // with effect NoSchedule: key -> value
  std::map<std::string, std::int64_t> limits;  // CSI driver -> volumes that it attaches
};

struct ClaimFacts {
  std::string uid;
  std::string phase;
  std::string storage_class;
  std::string volume;         // empty: none
  std::string selected_node;  // for which its volume is to be made; empty: none
  bool of_one_pod = false;    // ReadWriteOncePod
};
struct VolumeFacts {
  std::string phase;
  std::string storage_class;
  std::string driver;                                        // empty: not CSI
  std::string claim;                                         // namespace/name; empty: free
  std::string claim_uid;                                     // empty: not yet filled in
  std::map<std::string, std::vector<std::string>> affinity;  // label -> values
};
struct ClassFacts {
  std::string provisioner;
  bool waits = false;  // for the first consumer
};

struct Placement {
  ClusterObjects objects;
  std::map<std::string, PlacedNode> nodes;
  std::vector<PlacedPod> pods;
  std::map<std::string, ClaimFacts> claims;    // by namespace/name
  std::map<std::string, VolumeFacts> volumes;  // by name
  std::map<std::string, ClassFacts> classes;
};

// Objects as a list of the API server has them.
struct StorageObjects {
  std::vector<nlohmann::json> claims;
  std::vector<nlohmann::json> volumes;
  std::vector<nlohmann::json> classes;
  std::vector<nlohmann::json> csi_nodes;
};
[[nodiscard]] Result<StorageObjects> read_storage(KubeClient& client);
[[nodiscard]] Placement placement_of(ClusterObjects objects, const StorageObjects& storage);

[[nodiscard]] bool selects(const Labels& selector, const Labels& labels);
// The node's value of a label; empty: it has none.
[[nodiscard]] std::string domain_of(const PlacedNode& node, const std::string& key);
// Whether the pod's nodeSelector takes the node; whether it tolerates all that the node has.
[[nodiscard]] bool node_selected(const PlacedPod& pod, const PlacedNode& node);
[[nodiscard]] bool taints_tolerated(const PlacedPod& pod, const PlacedNode& node);
// Whether the volume can be used on the node.
[[nodiscard]] bool usable_on(const VolumeFacts& volume, const PlacedNode& node);

}  // namespace plimsoll::test

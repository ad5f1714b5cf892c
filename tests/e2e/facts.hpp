#pragma once
// What API objects say about who holds what, read plainly: the ground on which a recount stands. It
// shares no code with the scheduler.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/result.hpp"
#include "tests/e2e/amounts.hpp"
#include "tests/kube/kube_client.hpp"

namespace plimsoll::test {

// What is at a JSON pointer; null, or an empty text or map, where there is no such thing.
[[nodiscard]] nlohmann::json value_at(const nlohmann::json& object, const char* pointer);
[[nodiscard]] std::string text_at(const nlohmann::json& object, const char* pointer);
[[nodiscard]] std::map<std::string, std::string> texts_at(const nlohmann::json& object,
                                                          const char* pointer);

struct ContainerFacts {
  std::string name;
  bool init = false;  // runs to its end before the others start; sidecars count as others
  Amounts requests;
};

// Devices of one type that a pod asks for: `count` of them, each giving `each`.
struct DeviceNeed {
  std::string type;
  std::int64_t count = 1;
  Amounts each;
};

struct PodFacts {
  std::string name;  // namespace/name
  std::string uid;
  std::string node;  // empty: not bound
  std::string scheduler;
  std::string unschedulable_reason;  // of the PodScheduled=False condition
  bool finished = false;             // Succeeded or Failed: holds nothing
  bool guaranteed = false;           // as the API server computed it
  std::map<std::string, std::string> node_selector;
  std::vector<ContainerFacts> containers;  // init containers first
  Amounts requests;                        // of the pod as a whole
  std::vector<DeviceNeed> devices;
  // The annotations topology.plimsoll.io/zones and scheduling.koordinator.sh/device-allocated; an
  // empty object if the pod has none.
  nlohmann::json zones;
  nlohmann::json allocated;
};

struct Stock {
  Amounts all;
  Amounts held;
};

struct NodeFacts {
  std::string name;
  std::map<std::string, std::string> labels;
  bool unschedulable = false;
  std::int64_t pods = 0;
  Stock stock;
  std::string policy = "none";
  std::string scope = "container";
  std::map<int, Stock> zones;                            // by NUMA node
  std::map<std::pair<std::string, int>, Stock> devices;  // by type and minor; unhealthy: all empty

  [[nodiscard]] bool single_numa() const { return policy == "single-numa-node" && !zones.empty(); }
  // What a zone can hold at all goes into one zone; only what is wider is spread.
  [[nodiscard]] bool aligns() const {
    return single_numa() || (policy == "restricted" && !zones.empty());
  }
  bool spread = false;  // a pod holds parts of several zones, and nobody says how much of each
  // Where nothing is aligned, containers do not always take the CPUs that their init containers
  // leave: such pods may hold more than they ask for.
  bool leftovers = false;
};

// All nodes, NRTs, Devices and pods of a cluster at about the same moment.
struct ClusterObjects {
  std::vector<nlohmann::json> nodes;
  std::vector<nlohmann::json> nrts;
  std::vector<nlohmann::json> devices;
  std::vector<nlohmann::json> pods;
};
[[nodiscard]] Result<ClusterObjects> read_cluster(KubeClient& client);

[[nodiscard]] PodFacts pod_facts(const nlohmann::json& pod);
// Nobody holds anything yet; by node name.
[[nodiscard]] std::map<std::string, NodeFacts> node_facts(const ClusterObjects& objects);

}  // namespace plimsoll::test

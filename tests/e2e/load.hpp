#pragma once
// A cluster and pods that a seed decides: nodes of many kinds with NUMA topologies and GPUs, and a
// mix of pods of which most fit and some cannot.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/kube/kube_client.hpp"

namespace plimsoll::test {

struct LoadShape {
  int nodes = 200;
  int pods = 1000;
  int gpus_every = 4;  // one node in so many has GPUs
  std::string scheduler = {};
  std::string ns = {};
};

struct Load {
  std::vector<KubeObject> nodes;  // Node, NodeResourceTopology and Device objects
  std::vector<KubeObject> pods;   // in random order
};

// Nodes: 2 to 8 zones of 2 to 6 CPUs; policy single-numa-node in three of four, scope container or
// pod; every fourth node (gpus_every) has 4 to 8 GPUs. Pods: Burstable and BestEffort ones,
// Guaranteed ones with whole CPUs (one to three containers, init containers, hugepages) and GPUs,
// whole or shared. Together they ask for about all CPUs and all GPUs: most fit, some cannot.
[[nodiscard]] Load make_load(std::uint64_t seed, const LoadShape& shape);

}  // namespace plimsoll::test

#pragma once
// The four scoring strategies of KEP-119 over a node's zones, 0 to 100, as the reference computes
// them: view Minimum. zone_score.hpp scores the zones that the pod will use. Pure; any thread.
//
// LeastAllocated, MostAllocated and BalancedAllocation score each zone and take the lowest score
// that is not 0 (0 if all are 0); they apply to single-numa-node nodes only. LeastNUMANodes counts
// the zones that the pod needs, under any policy. Where the reference divides by zero, reads past
// an array or returns NaN, the result here is defined; docs/topology.md lists these cases.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/topology/abi/ledger_types.hpp"
#include "plugins/topology/pod/pod_request.hpp"
#include "plugins/topology/verdict/fit.hpp"

namespace plimsoll::topology {

inline constexpr int64_t kMaxScore = 100;  // framework.MaxNodeScore

enum class Strategy : uint8_t {
  kLeastAllocated,
  kMostAllocated,
  kBalancedAllocation,
  kLeastNumaNodes,
  kPreserveLargeZones  // only in TopologyScore, and not in view Minimum
};

struct ResourceWeight {
  std::string name;
  int64_t weight = 1;  // below 1 counts as 1
};

// A strategy and its weights; resources that are not listed weigh 1.
struct ScoringStrategy {
  Strategy type = Strategy::kLeastAllocated;
  std::vector<ResourceWeight> resources{{"cpu", 1}, {"memory", 1}};

  [[nodiscard]] int64_t weight_of(std::string_view resource) const;
};

// The weight, at most 2^32, so that products with scores can be added up without overflow.
[[nodiscard]] inline int64_t bounded_weight(const ScoringStrategy& strategy,
                                            std::string_view resource) {
  return std::min(strategy.weight_of(resource), int64_t{1} << 32);
}

// Weights of the resources that a pod asks for, by plimsoll_resource.index.
class PodWeights {
 public:
  PodWeights(const ScoringStrategy& strategy, const PodRequest& pod);
  [[nodiscard]] int64_t of(uint32_t resource) const {
    for (const auto& [known, weight] : weights_) {
      if (known == resource) return weight;
    }
    return 1;
  }

 private:
  std::vector<std::pair<uint32_t, int64_t>> weights_;
};

// floor(100 * part / whole) for 0 <= part <= whole, whole > 0. Uses doubles, which divide faster.
// The result is exact: below 2^46 no quotient is close enough to the next whole number to be
// rounded up to it.
[[nodiscard]] inline int64_t percent_of(int64_t part, int64_t whole) {
  constexpr int64_t kExact = int64_t{1} << 46;
  if (whole >= kExact) return static_cast<int64_t>(static_cast<__int128>(part) * kMaxScore / whole);
  return static_cast<int64_t>(static_cast<double>(part * kMaxScore) / static_cast<double>(whole));
}

// score_node for one pod on many nodes. Valid as long as the pod request and the strategy.
class NodeScore {
 public:
  NodeScore(const ScoringStrategy& strategy, const PodRequest& pod);
  // Equals score_node.
  [[nodiscard]] int64_t on(const plimsoll_numa_node* node, Scratch& scratch) const;
  // The same for many alike nodes: alike_scores.hpp.
  [[nodiscard]] bool covers_alike() const;
  void on_alike(const plimsoll_numa_alike& nodes, uint8_t* scores) const;

 private:
  struct Term {
    uint32_t resource = 0;
    bool cpu = false;
    int64_t amount = 0;
    int64_t need = 0;  // in whole units
    int64_t weight = 0;
  };
  struct Sum {
    std::vector<Term> terms;
    int64_t weights = 0;
  };
  [[nodiscard]] Sum sum_of(const Requests& requests);
  [[nodiscard]] int64_t worst(const Sum& sum, const plimsoll_numa_node& node) const;

  const ScoringStrategy& strategy_;
  const PodRequest& pod_;
  bool quick_ = true;  // LeastAllocated or MostAllocated, and the weights can be added up
  bool most_;
  std::vector<Sum> containers_;
  Sum whole_;
};

// `node` null: the node reported no topology.
[[nodiscard]] int64_t score_node(const ScoringStrategy& strategy, const PodRequest& pod,
                                 const plimsoll_numa_node* node, Scratch& scratch);

// How many zones a request needs, and which: columns as a mask.
struct ZonesRequired {
  uint64_t columns = 0;       // 0: the request does not fit even on all zones together
  bool min_distance = false;  // no set of the same size is closer
};
// `free` has the cells of node.free; zones are tried in the order of the report.
[[nodiscard]] ZonesRequired zones_required(const Requests& requests, const plimsoll_numa_node& node,
                                           const int64_t* free);

}  // namespace plimsoll::topology

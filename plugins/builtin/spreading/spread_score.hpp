#pragma once
// PodTopologySpread's Score for one pod: the more pods are in a node's domains, the worse.

#include <plimsoll/plugin.hpp>

#include <span>
#include <vector>

#include "plugins/builtin/census/census.hpp"
#include "plugins/builtin/spreading/constraints.hpp"

namespace plimsoll::builtin {

// The state of a cycle.
class SpreadScore {
 public:
  // `all_keys`: nodes that lack a topology key get no score.
  SpreadScore(const plimsoll_pod& pod, const SpreadConstraints& constraints, bool all_keys,
              sdk::Nodes nodes, Census& census);

  void score(sdk::Nodes nodes, std::span<int64_t> scores) const;
  void normalize(sdk::Nodes nodes, std::span<int64_t> scores) const;

 private:
  struct Part {
    TopologyKeyRef label;         // a node without it gets nothing
    TopologyKeyRef index;         // by its domains
    std::vector<double> amounts;  // what a node in this domain gets
  };
  [[nodiscard]] bool ignores(uint32_t slot) const;
  [[nodiscard]] size_t domains_among(sdk::Nodes nodes, const TopologyKey& key) const;

  std::vector<Part> parts_;
  size_t node_count_ = 0;  // of the cluster
  bool ignores_some_ = false;
};

}  // namespace plimsoll::builtin

#pragma once
// InterPodAffinity's Score for one pod: weights of preferred terms, its own and those of existing
// pods, and of existing pods' required affinity.

#include <plimsoll/plugin.hpp>

#include <span>
#include <vector>

#include "plugins/builtin/census/census.hpp"

namespace plimsoll::builtin {

// The state of a cycle.
class AffinityScore {
 public:
  // `hard_weight`: of existing pods' required affinity; 0: it does not count.
  AffinityScore(const plimsoll_pod& pod, int32_t hard_weight, Census& census);
  // No term has a say about any domain.
  [[nodiscard]] bool empty() const { return keys_.empty(); }
  void score(sdk::Nodes nodes, std::span<int64_t> scores) const;

 private:
  struct Key {
    TopologyKeyRef key;
    std::vector<int64_t> sums;  // by domain
  };
  void add(const TopologyKeyRef& key, const DomainCounts& counts, int64_t weight);

  std::vector<Key> keys_;
};

// To 0..100 by the lowest and the highest.
void normalize_affinity(std::span<int64_t> scores);

}  // namespace plimsoll::builtin

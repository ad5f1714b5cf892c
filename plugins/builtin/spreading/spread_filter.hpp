#pragma once
// PodTopologySpread's Filter for one pod: by how many pods a domain may exceed the least of all.

#include <plimsoll/plugin.hpp>

#include <vector>

#include "plugins/builtin/census/census.hpp"
#include "plugins/builtin/spreading/constraints.hpp"

namespace plimsoll::builtin {

struct SpreadReasons {
  uint32_t missing_label;
  uint32_t too_many;
};

// The state of a cycle; copied for what-ifs.
class SpreadFilter {
 public:
  SpreadFilter(const plimsoll_pod& pod, const SpreadConstraints& constraints, Census& census);

  // A what-if: the pod is there, or gone (-1). Exact inverses. False: the what-ifs of this attempt
  // compared too much already.
  [[nodiscard]] bool change(const plimsoll_pod& pod, int64_t pods, uint32_t slot,
                            const Namespaces& namespaces);
  void filter(sdk::Nodes nodes, sdk::Verdicts verdicts, const SpreadReasons& reasons) const;

 private:
  struct Limit {
    SelectedCountsRef table;
    int64_t max_skew;
    int64_t self;  // 1: the pod itself will count
    int64_t min_domains;
    int64_t most = 0;  // pods that a domain may have now
    std::vector<CountChange> changes;

    void find_most();
    [[nodiscard]] const TopologyKey& key() const { return table->counts.key(); }
    [[nodiscard]] bool exceeded_in(uint32_t domain) const {
      return int64_t{table->counts.at(domain)} + change_of(changes, domain) > most;
    }
    void filter_all(sdk::Nodes nodes, sdk::Verdicts verdicts, const SpreadReasons& reasons) const;
  };
  std::vector<Limit> limits_;
  WhatIfComparisons compared_;
};

}  // namespace plimsoll::builtin

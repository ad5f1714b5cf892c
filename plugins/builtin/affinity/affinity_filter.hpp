#pragma once
// InterPodAffinity's Filter for one pod: which domains its own terms and those of existing pods
// leave to it.

#include <plimsoll/plugin.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/builtin/census/census.hpp"

namespace plimsoll::builtin {

struct AffinityReasons {
  uint32_t affinity;
  uint32_t anti_affinity;
  uint32_t existing_anti_affinity;
};

// The state of a cycle; copied for what-ifs.
class AffinityFilter {
 public:
  AffinityFilter(const plimsoll_pod& pod, Census& census);
  // Neither the pod's terms nor anybody else's restrict it.
  [[nodiscard]] bool empty() const { return keys_.empty(); }

  // A what-if: `other` is there, or gone (-1). Exact inverses. False: the what-ifs of this attempt
  // compared too much already.
  [[nodiscard]] bool change(const plimsoll_pod& pod, const plimsoll_pod& other, int64_t pods,
                            uint32_t slot, Census& census);
  void filter(sdk::Nodes nodes, sdk::Verdicts verdicts, const AffinityReasons& reasons) const;
  // AffinityBasis::of, with what changed on this node. `namespaces`: their version.
  [[nodiscard]] uint64_t basis(uint32_t slot, uint64_t namespaces) const;

 private:
  // What a domain lacks or has too much of.
  enum Fault : uint8_t { kNone = 0, kNoKey = 1, kNobody = 2, kAnti = 4, kExistingAnti = 8 };
  // Pods more in a domain, for each rule.
  struct Change {
    uint32_t domain;
    int64_t affinity = 0, anti = 0, existing = 0;
  };
  struct Key {
    TopologyKeyRef key;
    SelectedCountsRef affinity;           // pods that match all affinity terms; null: no such
                                          // term has this key
    std::vector<SelectedCountsRef> anti;  // by term
    std::vector<const ExistingTerm*> existing;
    std::shared_ptr<const std::vector<uint8_t>> faults;  // by domain, without changes
    std::vector<Change> changes;
    // By domain: which pods count there. Made when it is first asked for.
    mutable std::shared_ptr<const std::vector<uint64_t>> pods_there;

    void find_faults();
    void find_pods_there() const;
    [[nodiscard]] uint8_t faults_with(const Change& change) const;
    [[nodiscard]] uint8_t faults_of(uint32_t domain) const;
    [[nodiscard]] Change& change_of(uint32_t domain);
    void tidy();
    [[nodiscard]] bool has_pods() const;  // that match all affinity terms
  };

  Key& key_of(const TopologyKeyRef& key);
  void add_own_terms(const plimsoll_pod& pod, Census& census);
  [[nodiscard]] bool is_first_of_group() const;
  void judge(uint8_t faults, size_t row, sdk::Verdicts verdicts,
             const AffinityReasons& reasons) const;

  std::vector<Key> keys_;
  SelectedPodsRef affinity_;  // null: it has no required affinity
  bool matches_itself_ = false;
  WhatIfComparisons compared_;
};

}  // namespace plimsoll::builtin

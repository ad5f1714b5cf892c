#pragma once
// Finds the pods that would have to leave a node, and chooses the node. Kubernetes:
// SelectVictimsOnNode and DryRunPreemption, pickOneNodeForPreemption in
// pkg/scheduler/framework/preemption. Loop only; everything is a what-if and changes nothing.

#include <plimsoll/plugin.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/runtime/group_dry_run.hpp"
#include "framework/runtime/plugin/dry_run_keeper.hpp"
#include "plugins/builtin/affinity/affinity_basis.hpp"
#include "plugins/builtin/preemption/disruption_budgets.hpp"

namespace plimsoll::builtin {

// What pick_candidate goes by, in this order.
struct CandidateRank {
  int64_t violations = 0;        // victims that break a PodDisruptionBudget
  int32_t highest_priority = 0;  // of a victim
  int64_t priorities = 0;        // their sum
  size_t victims = 0;
  int64_t earliest_start = 0;  // of the victims of the highest priority; INT64_MAX: none started
  bool all_started = true;     // one that has not started counts as started now
};

// What came of the dry run on one node.
struct Trial {
  Trial() = default;
  // A candidate: a node on which the pod would fit if these pods were gone.
  Trial(std::string node_name, uint32_t node_slot, std::vector<sdk::Pod> who, int64_t violations);

  std::string node;
  uint32_t slot = 0;
  sdk::Status status;             // Success: a candidate; a rejection: why preemption is no help
  std::vector<sdk::Pod> victims;  // of a candidate: most important first, never empty; those who go
                                  // with a pod on the node may be on other nodes
  CandidateRank rank;
  DisruptionBudgets::Mark budgets;
  uint64_t basis = 0;  // what it rests on beyond the node
  bool lasts = true;   // false: it depends on the time as well

  [[nodiscard]] bool same_as(const Trial& other) const;
};

using Trials = std::vector<const Trial*>;

struct DryRun {
  Trials candidates;  // those without violations first
  Trials others;
  size_t passed_over = 0;  // further nodes, without pods of a lower priority
  // There are no candidates, and a plugin had an error, which may have hidden one; the host has its
  // text. Candidates count in spite of errors elsewhere.
  bool failed = false;
  std::vector<std::unique_ptr<Trial>> own = {};  // those that are not kept for the next pod
};

// A node that has no room for the pod, but may have if others go.
struct PotentialNode {
  sdk::Node node;
  uint32_t slot;
};

// How many of the potential nodes are tried.
struct Search {
  size_t offset = 0;  // where it begins
  size_t wanted = 0;  // candidates
  // Of the cluster. With them, nodes without pods of a lower priority are only counted.
  const plimsoll_columns* columns = nullptr;
  const DryRunKeeper* keeper = nullptr;  // null: every node is tried afresh
  const AffinityBasis* affinity = nullptr;
  const GroupDryRun* groups = nullptr;  // who goes with whom; null: everybody goes alone
};

class PreemptionDryRun {
 public:
  PreemptionDryRun(const sdk::Host& host, const DisruptionBudgets& budgets);

  // Tries the nodes from the offset on, cyclically, until as many candidates as wanted are known
  // and one of them breaks no budget, or one is known and victims were many on other nodes. A node
  // that failed is tried once more if there is no candidate elsewhere. What comes of it is valid
  // until the next call, or until the cluster changes.
  [[nodiscard]] DryRun run(const plimsoll_cycle& cycle, sdk::Pod pod,
                           std::span<const PotentialNode> nodes, const Search& search) const;
  // The reason of those that are passed over.
  [[nodiscard]] uint32_t no_victims() const { return no_victims_; }

 private:
  class Walk;
  // Groups that go as a whole, by namespace and name, as one run has met them.
  using WholeGroups = std::map<std::pair<std::string_view, std::string_view>, VictimUnit>;
  struct UnitHere {
    const VictimUnit* who;
    std::vector<const plimsoll_pod*> here;  // of them, on the node
  };
  [[nodiscard]] Trial try_node(const plimsoll_cycle& cycle, sdk::Pod pod, sdk::Node node,
                               int64_t now_ms, const GroupDryRun* groups, WholeGroups& whole) const;
  sdk::Status select_victims(const sdk::WhatIf& what_if, std::vector<UnitHere>& lower,
                             int64_t now_ms, Trial& out) const;

  const sdk::Host& host_;
  const DisruptionBudgets& budgets_;
  uint32_t no_victims_;
};

// How many candidates are enough among `nodes`.
[[nodiscard]] size_t wanted_candidates(size_t nodes, int64_t percentage, int64_t absolute);

// The best of at least one candidate: fewest budgets broken, then the lowest highest priority, the
// lowest sum of priorities, the fewest victims, the latest start of the earliest-started victim of
// the highest priority; among equals the first.
[[nodiscard]] const Trial& pick_candidate(const Trials& candidates, int64_t now_ms);

void add_pods(const VictimUnit& unit, std::vector<sdk::Pod>& pods);

// MoreImportantPod: higher priority, then started earlier.
[[nodiscard]] bool more_important(sdk::Pod a, sdk::Pod b, int64_t now_ms);

}  // namespace plimsoll::builtin

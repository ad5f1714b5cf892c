#pragma once
// Finds the pods that would have to leave a node, and chooses the node. Kubernetes:
// SelectVictimsOnNode and DryRunPreemption, pickOneNodeForPreemption in
// pkg/scheduler/framework/preemption. Loop only; everything is a what-if and changes nothing.

#include <plimsoll/plugin.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/builtin/disruption_budgets.hpp"

namespace plimsoll::builtin {

// A node on which the pod would fit if these pods were gone.
struct Candidate {
  uint32_t slot = 0;
  std::string node;
  std::vector<sdk::Pod> victims;  // most important first; never empty
  int64_t violations = 0;         // victims that break a PodDisruptionBudget
};

// A node that no preemption helps, and why.
struct NotCandidate {
  std::string node;
  sdk::Status status;
};

struct DryRun {
  std::vector<Candidate> candidates;  // those without violations first
  std::vector<NotCandidate> others;
  size_t passed_over = 0;  // further nodes, without pods of a lower priority
  // There are no candidates, and a plugin had an error, which may have hidden one; the host has its
  // text. Candidates count in spite of errors elsewhere.
  bool failed = false;
};

class PreemptionDryRun {
 public:
  PreemptionDryRun(const sdk::Host& host, const DisruptionBudgets& budgets);

  // Tries `nodes` from number `offset` on, cyclically, until `wanted` candidates are known and one
  // of them breaks no budget. A node that failed is tried once more if there is no candidate
  // elsewhere. With `columns` of the cluster, nodes without pods of a lower priority are only
  // counted.
  [[nodiscard]] DryRun run(const plimsoll_cycle& cycle, sdk::Pod pod,
                           const std::vector<sdk::Node>& nodes, size_t offset, size_t wanted,
                           const plimsoll_columns* columns = nullptr) const;
  // The reason of those that are passed over.
  [[nodiscard]] uint32_t no_victims() const { return no_victims_; }

 private:
  sdk::Status select_victims(const plimsoll_cycle& cycle, sdk::Pod pod, sdk::Node node,
                             int64_t now_ms, Candidate& out) const;

  const sdk::Host& host_;
  const DisruptionBudgets& budgets_;
  uint32_t no_victims_;
};

// How many candidates are enough among `nodes`.
[[nodiscard]] size_t wanted_candidates(size_t nodes, int64_t percentage, int64_t absolute);

// The best of at least one candidate: fewest budgets broken, then the lowest highest priority, the
// lowest sum of priorities, the fewest victims, the latest start of the earliest-started victim of
// the highest priority; among equals the first.
[[nodiscard]] const Candidate& pick_candidate(const std::vector<Candidate>& candidates,
                                              int64_t now_ms);

// MoreImportantPod: higher priority, then started earlier.
[[nodiscard]] bool more_important(sdk::Pod a, sdk::Pod b, int64_t now_ms);

}  // namespace plimsoll::builtin

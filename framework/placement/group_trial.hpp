#pragma once
// The dry run of a whole group: its members are put on copies of nodes, one after the other, by all
// filters of all plugins, each beside those before it. A member goes to the first node that takes
// it as it is; if there is none, to the first that takes it without the pods of lower priority than
// every member's that may evict.
//
// Who finds no place goes first in the next round, for a few rounds. It is exact in what it allows
// and careful in what it refuses: there may be room that no round finds. Members that are alike to
// all plugins share one cycle state and go on where the last of them stopped, so the cost is that
// of one look at all nodes for each kind of member, and one step for each member; and it gives up
// after so many looks that the loop does not stand still for a second.

#include <functional>

#include "framework/cluster/cluster_state.hpp"
#include "framework/placement/nominator.hpp"
#include "framework/runtime/framework.hpp"
#include "framework/runtime/group_dry_run.hpp"

namespace plimsoll {

class GroupTrial final : public GroupDryRun {
 public:
  // The profile of a pod; null: no profile is its.
  using FrameworkOf = std::function<Framework*(const plimsoll_pod&)>;
  // More kinds than this in one group are not looked at: each costs a look at all nodes.
  static constexpr size_t kMaxKinds = 64;
  static constexpr int kMaxRounds = 4;
  // Looks at one node by all filters, of all rounds together: enough for a few kinds to look at all
  // nodes in each round.
  [[nodiscard]] static constexpr size_t most_looks(size_t nodes) { return 50'000 + 10 * nodes; }

  // Both outlive it.
  GroupTrial(const ClusterState& cluster, const Nominator& nominator, FrameworkOf framework_of)
      : cluster_(cluster), nominator_(nominator), framework_of_(std::move(framework_of)) {}

  [[nodiscard]] Answer place(const Query& query) const override;

 private:
  const ClusterState& cluster_;
  const Nominator& nominator_;
  FrameworkOf framework_of_;
};

}  // namespace plimsoll

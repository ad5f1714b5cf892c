#pragma once
// The dry run of a whole group: its members are put on copies of nodes, one after the other, by all
// filters of all plugins, each beside those before it, where it takes the fewest victims; what
// comes of several orders is compared. Then each victim is put back, the most important first, and
// stays if the members on its nodes have room beside it or elsewhere. At last the plan is made
// again from the start, with only the victims gone.
//
// It is exact in what it allows and careful in what it refuses: there may be room that no order
// finds. Members that are alike to all plugins share one cycle state, so the cost is that of one
// look at all nodes for each kind of member, and one step for each member; and it gives up after so
// many looks. It pauses between looks.

#include <functional>
#include <span>
#include <vector>

#include "framework/cluster/cluster_state.hpp"
#include "framework/placement/nominator.hpp"
#include "framework/runtime/framework.hpp"
#include "framework/runtime/group_dry_run.hpp"

namespace plimsoll {

// What each pod asks for, as shares of the most that any of them asks for: the largest go first.
[[nodiscard]] std::vector<double> sizes_of(std::span<const plimsoll_pod* const> pods);

class GroupRun;

class GroupTrial final : public GroupDryRun {
 public:
  // The profile of a pod; null: no profile is its.
  using FrameworkOf = std::function<Framework*(const plimsoll_pod&)>;
  using UnitOf = std::function<VictimUnit(const plimsoll_pod&)>;
  // More kinds than this in one group are not looked at: each costs a look at all nodes.
  static constexpr size_t kMaxKinds = 64;
  static constexpr int kMaxRounds = 4;
  // Looks at one node by all filters, of all rounds together: enough for a few kinds to look at all
  // nodes in each round.
  [[nodiscard]] static constexpr size_t most_looks(size_t nodes) { return 50'000 + 10 * nodes; }
  // If looks are dear, no more than the first of these or than the thread can do in this time. It
  // counts once for the places of a group that was tried in vain, and once for its victims.
  static constexpr size_t kLooksInAnyCase = 20'000;
  static constexpr int64_t kLongestMs = 100;  // by default

  // Both outlive it.
  GroupTrial(const ClusterState& cluster, const Nominator& nominator, FrameworkOf framework_of,
             UnitOf unit_of, int64_t longest_ms = kLongestMs)
      : cluster_(cluster),
        nominator_(nominator),
        framework_of_(std::move(framework_of)),
        unit_of_(std::move(unit_of)),
        longest_ms_(longest_ms) {}

  [[nodiscard]] Routine<Eviction> evict(const EvictionQuery& query, Slice& slice) const override;
  [[nodiscard]] VictimUnit unit_of(const plimsoll_pod& pod) const override { return unit_of_(pod); }
  // The nodes as they are, with so many looks to be had; all outlive it.
  [[nodiscard]] GroupRun plan(size_t& looks_left, const Slice& slice) const;

 private:
  const ClusterState& cluster_;
  const Nominator& nominator_;
  FrameworkOf framework_of_;
  UnitOf unit_of_;
  int64_t longest_ms_;
};

}  // namespace plimsoll

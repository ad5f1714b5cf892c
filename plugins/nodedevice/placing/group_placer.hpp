#pragma once
// Places the members of a group near one another: the first member to be tried looks for the fewest
// nodes that take all of them, and when it has its node, devices are held for the others. A member
// that comes later finds its devices held, and its node scored highest.
//
// Loop only, but for score() and without_holds(), which only read.

#include <functional>
#include <memory>
#include <plimsoll/plugin.hpp>
#include <span>
#include <string>
#include <vector>

#include "plugins/nodedevice/groups/group_keeper.hpp"
#include "plugins/nodedevice/placing/group_plan.hpp"
#include "plugins/nodedevice/rules/demand_reader.hpp"
#include "plugins/nodedevice/rules/sharing_rules.hpp"
#include "plugins/nodedevice/store/device_store.hpp"

namespace plimsoll::devices {

// What one attempt of a member knows of its group. Lives in the cycle's state; what-ifs share it.
struct GroupAttempt {
  std::string key;
  uint32_t own_slot = kNoSlot;       // the node where devices are held for this pod
  std::vector<uint32_t> fellows;     // nodes where other members are, sorted
  std::vector<uint32_t> hold_slots;  // nodes where devices are held for the group, sorted
  std::vector<Seekers> seekers;      // this pod first, then those for whom nothing is held
  std::vector<Placement> by_slot;    // who of them fits where; empty: not asked
  std::vector<uint32_t> feasible;    // nodes that passed all filters, if there were several
  std::string
      refusal;  // why no node takes the group: there cannot be room for it, not even without
                // the pods of lower priority that this one may evict; empty: there may be
};

class GroupPlacer {
 public:
  // All of it outlives the placer.
  GroupPlacer(const sdk::Host& host, DeviceStore& store, const Allocator& allocator,
              const DemandReader& demands, const SharingRules& sharing);

  // Null: the pod belongs to no group.
  [[nodiscard]] std::shared_ptr<GroupAttempt> begin(sdk::Pod pod,
                                                    std::shared_ptr<const PodDemand> demand) const;
  // The same without looking for room: for hints.
  [[nodiscard]] std::shared_ptr<GroupAttempt> look(sdk::Pod pod) const;

  // Takes what is held for the group out of a copy of a node.
  void without_holds(const GroupAttempt& group, NodeState& node) const;
  [[nodiscard]] bool has_holds(const GroupAttempt& group, uint32_t slot) const;

  // Puts the group's order in front of the scores that the plugin gave.
  void score(const GroupAttempt& group, sdk::Nodes nodes, std::span<int64_t> scores) const;

  // Chooses the pod's devices on its node: `choose` does so for the node as it is given to it.
  using Choose = std::function<Verdict(const NodeState&, Allocation&)>;
  [[nodiscard]] Verdict allocate(const GroupAttempt& group, sdk::Pod pod, sdk::Node node,
                                 const Choose& choose, Allocation& allocation) const;
  // Once the pod's devices are in the accounts: holds devices for those who have none yet.
  void hold_for_others(const GroupAttempt& group, sdk::Pod pod, sdk::Node node) const;

 private:
  [[nodiscard]] std::shared_ptr<const PodDemand> demand_of(sdk::Pod pod) const;
  [[nodiscard]] bool kept_away(sdk::Pod pod, const PodDemand& demand, uint32_t slot) const;
  // This pod alone.
  [[nodiscard]] Seekers seeker(sdk::Pod pod, std::shared_ptr<const PodDemand> demand) const;
  [[nodiscard]] std::vector<Seekers> by_shape(
      const std::vector<std::pair<sdk::Pod, std::shared_ptr<const PodDemand>>>& pods) const;
  [[nodiscard]] NodeRoom room(const GroupAttempt& group, sdk::Node node,
                              const sdk::Pod* evicting) const;
  [[nodiscard]] Placement place(const GroupAttempt& group, sdk::Pod pod, uint32_t slot,
                                std::span<const Seekers> seekers, bool evicting) const;
  [[nodiscard]] std::vector<Placement> look_at_all(const GroupAttempt& group, sdk::Pod pod,
                                                   bool evicting) const;
  void hold_on(const GroupAttempt& group, uint32_t slot, sdk::Pod pod,
               std::vector<Seekers>& seekers) const;

  sdk::Host host_;
  DeviceStore& store_;
  const Allocator& allocator_;
  const DemandReader& demands_;
  const SharingRules& sharing_;
  sdk::CounterMetric plans_;
};

}  // namespace plimsoll::devices

#pragma once
// Places the members of a group near one another. When the scheduler decides on a group, all nodes
// are looked at for how many of its members each takes, and which devices these would have. By that
// the members are scored, and on its node each gets devices that were chosen for all of them.
//
// Loop only, but for score(), which only reads.

#include <map>
#include <memory>
#include <plimsoll/plugin.hpp>
#include <span>
#include <string>
#include <vector>

#include "plugins/groups/current_decision.hpp"
#include "plugins/nodedevice/placing/group_plan.hpp"
#include "plugins/nodedevice/rules/demand_reader.hpp"
#include "plugins/nodedevice/store/device_store.hpp"

namespace plimsoll::devices {

// Of one decision on a group.
struct GroupPlan {
  uint64_t decision = 0;
  size_t members = 0;                    // that ask for devices and had no place when it began
  std::map<std::string, size_t> shapes;  // of those that were looked at
  struct Spot {
    Placement placement;      // of all of them, on this node alone
    std::vector<bool> taken;  // of placement.given
    size_t fellows = 0;       // members that have a place here,
    size_t reserved = 0;      // of them, in this decision
  };
  std::vector<Spot> spots;  // by slot
  // UID: slot and what of placement.given it has, or kNothing.
  std::map<std::string, std::pair<uint32_t, size_t>, std::less<>> seats;

  static constexpr size_t kNothing = SIZE_MAX;
  // Of placement.given, what a member of this shape would get there.
  [[nodiscard]] size_t next(uint32_t slot, size_t shape) const;
};

// What one attempt of a member knows of its group.
struct GroupAttempt {
  std::shared_ptr<const GroupPlan> plan;
  size_t shape = GroupPlan::kNothing;  // of the pod
};

class GroupPlacer {
 public:
  // All of it outlives the placer.
  GroupPlacer(const sdk::Host& host, DeviceStore& store, const Allocator& allocator,
              const DemandReader& demands);

  void start() { groups_.look(host_); }

  // On the pod's group; 0: there is none.
  [[nodiscard]] uint64_t decision_on(sdk::Pod pod) const { return groups_.on(pod); }
  // No plan: the pod's group is not decided on.
  [[nodiscard]] GroupAttempt begin(sdk::Pod pod);
  // Everything that the scores of a member rest on beside its node.
  void sign(sdk::Pod pod, sdk::Sink& sink) const;

  // Puts the group's order in front of the scores that the plugin gave, which are from 0 to `most`.
  static void score(const GroupAttempt& group, sdk::Nodes nodes, int64_t most,
                    std::span<int64_t> scores);

  // The devices that were chosen for the pod there; null: none were.
  [[nodiscard]] static const Allocation* chosen(const GroupAttempt& group, uint32_t slot);
  void reserved(const GroupAttempt& group, sdk::Pod pod, uint32_t slot);
  void unreserved(sdk::Pod pod);

 private:
  [[nodiscard]] std::string shape_of(sdk::Pod pod) const;
  [[nodiscard]] std::shared_ptr<GroupPlan> make_plan(sdk::Pod pod, uint64_t decision) const;

  sdk::Host host_;
  DeviceStore& store_;
  const Allocator& allocator_;
  const DemandReader& demands_;
  groups::CurrentDecision groups_;
  std::shared_ptr<GroupPlan> plan_;  // of the last decision on a group
  sdk::CounterMetric plans_;
};

}  // namespace plimsoll::devices

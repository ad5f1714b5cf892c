#pragma once
// What the queue asks of the profiles, answered by their plugins: PreEnqueue, QueueSort and the
// requeue hints of the events that each plugin registered. Kubernetes: buildQueueingHintMap in
// pkg/scheduler/scheduler.go.
//
// Scheduler loop only. A plugin that has no events() is asked about every event and always says
// Queue; one whose list is empty is never asked. One that registered Node/Add but not
// Node/UpdateNodeTaint is registered for the latter too, with the answer Queue, as there.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/string_map.hpp"
#include "framework/queue/scheduling_queue.hpp"
#include "framework/runtime/framework.hpp"

namespace plimsoll {

class ClusterState;
class QueueMetrics;
struct Environment;

// Of a profile that places the pods of groups together: these stand for the group wherever
// rejectors are named, each for one way of naming groups. The queue and the cycle do what the
// plugins of that name do elsewhere.
inline constexpr std::string_view kGangScheduling = "GangScheduling";
inline constexpr std::string_view kCoscheduling = "Coscheduling";
// For Koordinator's gangs, and for the groups of Coscheduling in a profile without that.
inline constexpr std::string_view kNodeDevice = "NodeDevice";

// Not a Kubernetes kind: a plugin's own call to wake what it rejected. The event's label is the
// plugin's name; it concerns that plugin in every profile.
inline constexpr std::string_view kResourceRequeue = "plimsoll.io/requeue";

class ProfilesPolicy final : public QueuePolicy {
 public:
  // All of these, and every framework that is added, outlive the policy.
  ProfilesPolicy(const Environment& environment, const ClusterState& cluster)
      : environment_(environment), cluster_(cluster) {}

  void measure(QueueMetrics* metrics) { metrics_ = metrics; }  // null: nothing; outlives us

  // False, and nothing is added, if a profile with this schedulerName is there already.
  // `extended`: HTTP extenders may reject pods, which any event may help then. `args`: of its
  // plugins, which have checked them.
  using Args = std::map<std::string, std::string>;
  bool add(Framework& framework, bool extended = false, const Args& args = {});
  [[nodiscard]] Framework* framework_for(const plimsoll_pod& pod) const;  // null: not ours

  ProfileIndex profile(const plimsoll_pod& pod) override;
  std::optional<PluginIndex> gate(const plimsoll_pod& pod) override;
  bool wakes_whom_it_gates(PluginKey gate) override {
    return frameworks_[gate >> 16]->wakes_whom_it_gates(static_cast<PluginIndex>(gate));
  }
  GroupName group_of(const plimsoll_pod& pod) override;
  std::optional<PluginIndex> group_gate(const plimsoll_pod& pod) override;
  GroupFacts group(const GroupName& name, const plimsoll_pod& member) override;
  // What the plugins' args say of groups that ask for domains of the network.
  struct DomainArgs {
    std::vector<std::string> levels;  // label keys, the widest domains first
    bool fit_ignores = false;         // NodeResourcesFit: amounts of some resources
  };
  [[nodiscard]] const DomainArgs& domain_args(const plimsoll_pod& pod) {
    return groups_[profile(pod)].domains;
  }
  // The ways of naming groups that any of the profiles knows.
  [[nodiscard]] GroupKinds group_kinds() const { return group_kinds_; }
  SortKey sort_key(const plimsoll_pod& pod, int64_t queued_ms) override;
  std::vector<PluginKey> interested(const ClusterEvent& event) override;
  bool named_only(PluginKey plugin, const ClusterEvent& event) override;
  QueueHint hint(const plimsoll_pod& pod, PluginKey plugin, const ClusterEvent& event) override;

 private:
  struct Registered {
    PluginKey key;
    Framework* framework;
    EventInterests events;
    bool node_taints_too;  // by default, not by its own word

    [[nodiscard]] bool by_itself(const ClusterEvent& event) const;
    [[nodiscard]] bool by_default(const ClusterEvent& event) const;
  };

  // Who registered events of one kind. There are few kinds, and most events are of the same few.
  struct Kind {
    std::string resource;
    uint32_t actions;
    bool wildcard;
    std::vector<PluginKey> interested;
  };
  static constexpr size_t kMostKinds = 32;  // then all are forgotten

  [[nodiscard]] const Registered* find(PluginKey plugin) const;

  const Environment& environment_;
  const ClusterState& cluster_;
  std::vector<Framework*> frameworks_;
  struct Groups {  // that a profile knows
    GroupKinds kinds;
    std::array<PluginIndex, kGroupKindCount> plugins{};  // of these kinds
    int64_t coscheduling_backoff_ms = 0;
    DomainArgs domains;
  };
  std::vector<Groups> groups_;  // by profile
  GroupKinds group_kinds_;      // of all of them
  StringMap<ProfileIndex> by_scheduler_name_;
  std::vector<Registered> registered_;  // ascending by key
  std::vector<Kind> kinds_;
  QueueMetrics* metrics_ = nullptr;
};

}  // namespace plimsoll

#pragma once
// Tells plugins of the group that is decided on (<plimsoll/pod_groups.h>). Scheduler loop only.

#include <plimsoll/pod_groups.h>

#include <string>
#include <utility>
#include <vector>

#include "framework/cluster/cluster_state.hpp"

namespace plimsoll {

class GroupDecision {
 public:
  // It outlives us.
  explicit GroupDecision(const ClusterState& cluster) : cluster_(cluster) {
    table_.size = sizeof table_;
    table_.self = this;
    table_.decision = &decision;
  }
  GroupDecision(const GroupDecision&) = delete;
  GroupDecision& operator=(const GroupDecision&) = delete;

  [[nodiscard]] const plimsoll_pod_groups* table() const { return &table_; }

  // Whether a slice of the decision is under way: who asks between two is not a part of it.
  bool is_under_way = false;

  // The group is decided on while it lives. `members`: those that wait.
  class Scope {
   public:
    Scope(GroupDecision& decision, const GroupName& group, std::vector<const plimsoll_pod*> members)
        : decision_(decision) {
      ++decision_.number_;
      decision_.group_ = group.key();
      decision_.members_ = std::move(members);
    }
    ~Scope() {
      decision_.group_.clear();
      decision_.members_.clear();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GroupDecision& decision_;
  };

 private:
  static uint64_t decision(void* self, const plimsoll_pod* pod, void* ctx,
                           void (*add)(void* ctx, const plimsoll_pod* member)) {
    const auto& us = *static_cast<const GroupDecision*>(self);
    if (us.group_.empty() || !us.is_under_way) return 0;
    const GroupName group = us.cluster_.group_of(*pod);
    if (!group || group.key() != us.group_) return 0;
    if (add == nullptr) return us.number_;
    for (const plimsoll_pod* member : us.members_) add(ctx, member);
    if (const PlacedMembers* placed = us.cluster_.members(group)) {
      for (const plimsoll_pod* member : placed->living_pods()) add(ctx, member);
    }
    return us.number_;
  }

  const ClusterState& cluster_;
  plimsoll_pod_groups table_{};
  uint64_t number_ = 0;
  std::string group_;  // GroupName::key; empty: none is decided on
  std::vector<const plimsoll_pod*> members_;
};

}  // namespace plimsoll

#include "plugins/builtin/preemption/group_preemption.hpp"

namespace plimsoll::builtin {

WholeGroup::WholeGroup(const plimsoll_pod_groups* groups, const GroupDryRun* dry_run, sdk::Pod pod)
    : groups_(groups), dry_run_(dry_run), pod_(&*pod) {
  if (groups_ == nullptr || dry_run_ == nullptr) return;
  const auto add = [](void* members, const plimsoll_pod* member, uint64_t kind) {
    static_cast<std::vector<GroupDryRun::Member>*>(members)->push_back({member, kind});
  };
  needed_ = groups_->missing(groups_->self, pod_, &members_, add);
}

WholeGroup::~WholeGroup() {
  if (counts()) groups_->decided(groups_->self, pod_, has_room_ ? 1 : 0);
}

std::string WholeGroup::place(std::string_view node) {
  const auto answer = dry_run_->place({members_, needed_, pod_, sdk::view(groups_->plugin), node});
  if (answer.has_pod && answer.places.size() >= needed_) {
    has_room_ = true;
    for (const auto& each : answer.places)
      if (each.pod == pod_) return each.node;
  }
  why_ =
      answer.too_many_kinds ? "the pod group has too many kinds of members to make room for."
      : answer.gave_up
          ? "room for the whole pod group was not found soon enough: it has many kinds of members."
          : "there is no room for the whole pod group, not even without the pods that it may "
            "evict.";
  return {};
}

}  // namespace plimsoll::builtin

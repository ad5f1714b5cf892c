#pragma once
// Which group of pods the scheduler decides on (<plimsoll/pod_groups.h>). Scheduler loop only.

#include <plimsoll/pod_groups.h>

#include <plimsoll/host.hpp>

namespace plimsoll::groups {

class CurrentDecision {
 public:
  void look(const sdk::Host& host) {
    groups_ = host.find_service<plimsoll_pod_groups>(PLIMSOLL_POD_GROUPS_SERVICE,
                                                     PLIMSOLL_POD_GROUPS_VERSION);
  }
  // The number of the decision on the pod's group; 0: it is not decided on.
  [[nodiscard]] uint64_t on(sdk::Pod pod) const {
    return groups_ == nullptr ? 0 : groups_->decision(groups_->self, &*pod, nullptr, nullptr);
  }
  // Calls see(sdk::Pod) for each member of the pod's group, if that is decided on.
  template <typename See>
  void each_member(sdk::Pod pod, See see) const {
    if (groups_ == nullptr) return;
    groups_->decision(groups_->self, &*pod, &see, [](void* with, const plimsoll_pod* member) {
      (*static_cast<See*>(with))(sdk::Pod(member));
    });
  }

 private:
  const plimsoll_pod_groups* groups_ = nullptr;
};

}  // namespace plimsoll::groups

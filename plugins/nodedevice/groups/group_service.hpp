#pragma once
// The service of <plimsoll/pod_groups.h>: what DefaultPreemption asks about groups. Loop only.

#include <plimsoll/pod_groups.h>

#include "plugins/nodedevice/groups/group_keeper.hpp"

namespace plimsoll::devices {

class GroupService {
 public:
  // Both outlive it.
  GroupService(GroupKeeper& groups, const DeviceTypes& types);
  GroupService(const GroupService&) = delete;
  GroupService& operator=(const GroupService&) = delete;

  // As long as this lives.
  [[nodiscard]] const plimsoll_pod_groups* table() const { return &table_; }

 private:
  using Add = void (*)(void* ctx, const plimsoll_pod* member, uint64_t kind);
  static uint32_t missing(void* self, const plimsoll_pod* pod, void* ctx, Add add);
  static void decided(void* self, const plimsoll_pod* pod, uint32_t has_room);

  GroupKeeper& groups_;
  const DeviceTypes& types_;
  plimsoll_pod_groups table_{};
};

}  // namespace plimsoll::devices

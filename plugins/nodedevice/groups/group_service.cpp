#include "plugins/nodedevice/groups/group_service.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "plugins/nodedevice/accounts/pod_reading.hpp"
#include "plugins/topology/pod/signature.hpp"

namespace plimsoll::devices {
namespace {

using sdk::Pod;

// What decides on a member's place, as far as NodeDevice is asked; without its group.
std::string text_of(const DeviceTypes& types, Pod pod) {
  std::string text = asked_by(types, pod) + "/";
  sdk::Sink sink(
      [](void* to, const void* bytes, size_t len) {
        static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), len);
      },
      &text);
  topology::sign_requests(*pod, sink);
  return text;
}

// Who asks for more is harder to place: devices first, then CPU.
std::pair<int64_t, int64_t> weight_of(const DeviceTypes& types, Pod pod) {
  int64_t devices = 0;
  for (const ResourceQuantity& request : requests_of(types, pod))
    devices = std::min(devices + std::min(request.value, kMaxAmount), kMaxAmount);
  return {devices, pod.request("cpu")};
}

}  // namespace

GroupService::GroupService(GroupKeeper& groups, const DeviceTypes& types)
    : groups_(groups), types_(types) {
  table_.size = sizeof table_;
  table_.self = this;
  table_.plugin = sdk::str("NodeDevice");
  table_.missing = &missing;
  table_.decided = &decided;
}

uint32_t GroupService::missing(void* self, const plimsoll_pod* pod, void* ctx, Add add) {
  auto& service = *static_cast<GroupService*>(self);
  const GroupKeeper::Group* group = service.groups_.of(Pod(pod));
  if (group == nullptr || !group->needed() || group->complete()) return 0;
  const int left = *group->needed() - group->placed();
  if (left < 2) return static_cast<uint32_t>(left);
  struct Waiting {
    Pod pod;
    std::pair<int64_t, int64_t> weight;
  };
  std::vector<Waiting> waiting;
  for (const Pod member : service.groups_.without_place(*group))
    waiting.push_back({member, weight_of(service.types_, member)});
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const Waiting& a, const Waiting& b) { return a.weight > b.weight; });
  std::map<std::string, uint64_t> kinds;
  for (const Waiting& member : waiting) {
    const uint64_t next = kinds.size();
    const auto kind = kinds.try_emplace(text_of(service.types_, member.pod), next).first->second;
    add(ctx, &*member.pod, kind);
  }
  service.groups_.decides(true);
  return static_cast<uint32_t>(left);
}

void GroupService::decided(void* self, const plimsoll_pod* pod, uint32_t has_room) {
  auto& groups = static_cast<GroupService*>(self)->groups_;
  groups.decides(false);
  if (has_room == 0)
    groups.found_no_place(Pod(pod),
                          "no room for all members of the pod group, not even without "
                          "the pods that they may evict");
}

}  // namespace plimsoll::devices

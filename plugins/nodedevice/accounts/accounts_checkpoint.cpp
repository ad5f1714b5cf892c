// What kubelets say of the devices that they gave out by themselves.

#include <algorithm>

#include "plugins/nodedevice/accounts/accounts.hpp"

namespace plimsoll::devices {

void Accounts::resolve_by_checkpoint(std::string_view uid, const NodeState& node,
                                     PodRecord& record) {
  record.shares.clear();
  record.unknown = record.asked;
  record.blocked = record.unbounded;
  if (node.object == nullptr) return;
  const auto held = node.object->held_by_pod.find(uid);
  if (held == node.object->held_by_pod.end()) return;
  for (const auto& [type, minor] : held->second) {
    DeviceShare share;
    share.type = type;
    share.minor = minor;
    share.whole = true;
    record.shares.push_back(std::move(share));
    int64_t& unknown = record.unknown[static_cast<size_t>(type)];
    if (unknown > 0) --unknown;
    record.blocked &= ~(1U << type);
  }
}

// Whether a checkpoint's entry may be about devices that nobody named.
bool Accounts::may_be_unknown(const NodeEntry& entry, std::string_view uid, int type,
                              int32_t minor) const {
  if (entry.pods.find(uid) == entry.pods.end()) return true;
  const PodRecord& record = pods_.find(uid)->second;
  if (record.from_requests || record.unknown[static_cast<size_t>(type)] == 0) return false;
  return std::none_of(record.shares.begin(), record.shares.end(), [&](const DeviceShare& share) {
    return share.type == type && share.minor == minor;
  });
}

// The kubelet knows static pods by another uid than the API server. So what a checkpoint names for
// a pod that is not known is what a pod without an entry has, if there is one. It says nothing by
// itself: kubelets list pods that ended until they hand out the next device.
// An annotation that leaves devices out, or cannot be true, says as little: the pod has what a
// checkpoint names for it.
void Accounts::name_for_unknown(NodeEntry& entry) {
  NodeState& state = entry.state;
  std::array<std::vector<int32_t>, kMaxTypes> named;
  if (state.object != nullptr)
    for (const auto& [uid, held] : state.object->held_by_pod)
      for (const auto& [type, minor] : held)
        if (may_be_unknown(entry, uid, type, minor))
          named[static_cast<size_t>(type)].push_back(minor);
  for (int t = 0; t < types_.count(); ++t)
    state.set_named_for_unknown(t, std::move(named[static_cast<size_t>(t)]));
}

}  // namespace plimsoll::devices

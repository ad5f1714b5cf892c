// What kubelets say of the devices that they gave out by themselves.

#include <algorithm>

#include "plugins/nodedevice/accounts.hpp"

namespace plimsoll::devices {
namespace {

// Calls `use(type, minor)` for each device that the entry names.
template <typename Use>
void each_named(const DeviceTypes& types, const NodeDevices& object, const CheckpointEntry& entry,
                const Use& use) {
  const auto& ids = entry.device_ids;
  for (int t = 0; t < types.count(); ++t)
    for (const DeviceInfo& info : object.devices(t))
      if (!info.id.empty() && std::find(ids.begin(), ids.end(), info.id) != ids.end())
        use(t, info.minor);
}

}  // namespace

void Accounts::resolve_by_checkpoint(std::string_view uid, const NodeState& node,
                                     PodRecord& record) const {
  record.shares.clear();
  record.unknown = record.asked;
  if (node.object == nullptr) return;
  for (const CheckpointEntry& entry : node.object->checkpoints) {
    if (entry.pod_uid != uid) continue;
    each_named(types_, *node.object, entry, [&](int type, int32_t minor) {
      DeviceShare share;
      share.type = type;
      share.minor = minor;
      share.whole = true;
      if (std::find(record.shares.begin(), record.shares.end(), share) != record.shares.end())
        return;
      record.shares.push_back(std::move(share));
      int64_t& unknown = record.unknown[static_cast<size_t>(type)];
      if (unknown > 0) --unknown;
    });
  }
}

// The kubelet knows static pods by another uid than the API server. So what a checkpoint names for
// a pod that is not known is what a pod without an entry has, if there is one. It says nothing by
// itself: kubelets list pods that ended until they hand out the next device.
void Accounts::name_for_unknown(NodeEntry& entry) {
  NodeState& state = entry.state;
  std::array<std::vector<int32_t>, kMaxTypes> named;
  if (state.object != nullptr)
    for (const CheckpointEntry& checkpoint : state.object->checkpoints)
      if (entry.pods.find(checkpoint.pod_uid) == entry.pods.end())
        each_named(types_, *state.object, checkpoint, [&](int type, int32_t minor) {
          named[static_cast<size_t>(type)].push_back(minor);
        });
  for (int t = 0; t < types_.count(); ++t)
    state.set_named_for_unknown(t, std::move(named[static_cast<size_t>(t)]));
}

}  // namespace plimsoll::devices

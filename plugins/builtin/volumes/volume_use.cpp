#include "plugins/builtin/volumes/volume_use.hpp"

#include <utility>

#include "plugins/builtin/volumes/pod_volumes.hpp"

namespace plimsoll::volumes {
namespace {

using sdk::view;

void set_in(StringMap<std::set<std::string>>& index, std::string_view key,
            const std::string& member, bool is_added) {
  if (key.empty()) return;
  if (is_added) {
    index[std::string(key)].insert(member);
    return;
  }
  const auto found = index.find(key);
  if (found == index.end()) return;
  found->second.erase(member);
  if (found->second.empty()) index.erase(found);
}

// A copy: what is done for each member may change the index.
std::set<std::string> members(const StringMap<std::set<std::string>>& index, std::string_view key) {
  const auto found = index.find(key);
  return found == index.end() ? std::set<std::string>() : found->second;
}

// A driver that is named twice has the last limit that is given.
NodeVolumes::Csi csi_of(const CsiNode& node) {
  NodeVolumes::Csi made;
  made.is_readable = node.readable();
  for (const auto& driver : sdk::List<plimsoll_csi_node_driver>(node.object->drivers)) {
    std::optional<int64_t>& limit = made.drivers[std::string(view(driver.name))];
    if (driver.has_count != 0) limit = driver.count;
  }
  return made;
}

}  // namespace

// ---- pods

void VolumeUse::assign(sdk::Pod pod, std::string_view node) {
  put(pod, node, false);
}

void VolumeUse::reserve(sdk::Pod pod, std::string_view node) {
  put(pod, node, true);
}

// A pod's volumes never change.
void VolumeUse::put(sdk::Pod pod, std::string_view node, bool is_reserved) {
  if (const auto known = pods_.find(pod.uid()); known != pods_.end()) {
    if (known->second.node == node) {
      known->second.is_reserved = known->second.is_reserved && is_reserved;
      return;
    }
    remove(pod.uid());
  }
  PodRecord record{std::string(pod.uid()), std::string(node), is_reserved, {}, {}};
  for (const plimsoll_volume& volume : volumes_of(pod)) {
    if (const auto name = claim_name(pod, volume)) {
      record.claims.insert({key_of(pod.ns(), *name), is_ephemeral(volume)});
    } else if (CountedVolume found = counted(volume); found.volume) {
      record.inline_volumes.push_back(std::move(found));
    }
  }
  if (record.claims.empty() && record.inline_volumes.empty()) return;
  add_claims(record);
  count_pod(record, 1);
  pods_.emplace(record.uid, std::move(record));
}

void VolumeUse::remove(std::string_view uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  count_pod(found->second, -1);
  remove_claims(found->second);
  pods_.erase(found);
}

void VolumeUse::release(std::string_view uid) {
  const auto found = pods_.find(uid);
  if (found != pods_.end() && found->second.is_reserved) remove(uid);
}

void VolumeUse::add_claims(const PodRecord& pod) {
  for (const ClaimUse& use : pod.claims) {
    const auto [at, is_new] = claims_.try_emplace(use.key);
    ClaimRecord& record = at->second;
    if (is_new) {
      record.state = state_of(use.key);
      index(use.key, record.state, true);
    }
    record.pods.insert(pod.uid);
    ++(use.ephemeral ? record.ephemeral_users : record.plain_users);
  }
}

void VolumeUse::remove_claims(const PodRecord& pod) {
  for (const ClaimUse& use : pod.claims) {
    const auto found = claims_.find(use.key);
    if (found == claims_.end()) continue;  // named twice by the pod, and this was the last user
    ClaimRecord& record = found->second;
    record.pods.erase(pod.uid);
    --(use.ephemeral ? record.ephemeral_users : record.plain_users);
    if (!record.pods.empty()) continue;
    index(use.key, record.state, false);
    claims_.erase(found);
  }
}

// ---- counts

void VolumeUse::count_pod(const PodRecord& pod, int sign) {
  for (const ClaimUse& use : pod.claims) {
    count_claim(pod, use, claims_.at(use.key).state, sign);
  }
  for (const CountedVolume& volume : pod.inline_volumes) {
    count(pod.node, volume, &NodeVolumes::Uses::pods, sign);
  }
}

void VolumeUse::count_claim(const PodRecord& pod, const ClaimUse& use, const ClaimState& claim,
                            int sign) {
  if (!claim.exists) return;
  // A kubelet does not mount another pod's.
  if (use.ephemeral && claim.is_readable && claim.controller_uid != pod.uid) return;
  count(pod.node, claim.counted, &NodeVolumes::Uses::pods, sign);
}

void VolumeUse::count(std::string_view node, const CountedVolume& volume,
                      uint32_t NodeVolumes::Uses::*by, int sign) {
  if (!volume.volume && volume.problem.empty()) return;
  NodeVolumes& at = nodes_[std::string(node)];
  if (volume.volume) {
    count(at, *volume.volume, by, sign);
  } else {
    at.uncounted += sign;
  }
  forget_if_empty(node);
}

void VolumeUse::count(NodeVolumes& node, const CsiVolume& volume, uint32_t NodeVolumes::Uses::*by,
                      int sign) {
  const auto at = node.attached.try_emplace(volume).first;
  const bool was_there = at->second.pods + at->second.attachments > 0;
  at->second.*by += sign;
  const bool is_there = at->second.pods + at->second.attachments > 0;
  if (!is_there) node.attached.erase(at);
  if (was_there == is_there) return;
  const auto driver = node.count.try_emplace(volume.driver).first;
  driver->second += sign;
  if (driver->second == 0) node.count.erase(driver);
  const auto anywhere = everywhere_.try_emplace(volume).first;
  anywhere->second += sign;
  if (anywhere->second == 0) everywhere_.erase(anywhere);
}

void VolumeUse::forget_if_empty(std::string_view node) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  const NodeVolumes& at = found->second;
  if (at.attached.empty() && at.uncounted == 0 && !at.csi_node) nodes_.erase(found);
}

size_t VolumeUse::users(std::string_view claim_key) const {
  const auto found = claims_.find(claim_key);
  return found == claims_.end() ? 0 : found->second.plain_users;
}

const NodeVolumes* VolumeUse::node(std::string_view name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

bool VolumeUse::is_attached(const CsiVolume& volume) const {
  return everywhere_.contains(volume);
}

// ---- objects

VolumeUse::ClaimState VolumeUse::state_of(const std::string& claim_key) const {
  ClaimState state;
  const ClaimRef claim = store_.claims().find(claim_key);
  if (claim == nullptr) return state;
  state.exists = true;
  state.volume_name = claim->volume_name();
  if (store_.volume(state.volume_name) == nullptr) state.class_name = claim->class_name;
  state.controller_uid = claim->controller_uid();
  state.is_readable = claim->readable();
  state.counted = counted(*claim, store_);
  return state;
}

VolumeUse::AttachmentRecord VolumeUse::attachment(const std::string& name) const {
  AttachmentRecord record;
  const auto found = store_.attachments().find(name);
  if (found == nullptr) return record;
  const plimsoll_volume_attachment& object = *found->object;
  if (object.attacher.len == 0 || object.volume_name.len == 0) return record;
  record.node = view(object.node_name);
  record.volume_name = view(object.volume_name);
  const VolumeRef volume = store_.volume(record.volume_name);
  if (volume == nullptr) return record;
  record.counted.problem = volume->problem();
  const std::string_view handle = view(volume->object->csi_handle);
  if (!handle.empty()) {
    record.counted.volume = CsiVolume{std::string(view(object.attacher)), std::string(handle)};
  }
  return record;
}

void VolumeUse::index(const std::string& claim_key, const ClaimState& state, bool is_added) {
  set_in(claims_by_volume_, state.volume_name, claim_key, is_added);
  set_in(claims_by_class_, state.class_name, claim_key, is_added);
}

VolumeUse::Nodes VolumeUse::changed(std::string_view resource, std::string_view ns,
                                    std::string_view name) {
  Nodes touched;
  if (resource == sdk::kPersistentVolumeClaims.resource) claim_changed(key_of(ns, name), touched);
  if (resource == sdk::kPersistentVolumes.resource) volume_changed(name, touched);
  if (resource == sdk::kStorageClasses.resource) class_changed(name, touched);
  if (resource == sdk::kVolumeAttachments.resource) attachment_changed(std::string(name), touched);
  if (resource == sdk::kCsiNodes.resource) csi_node_changed(name, touched);
  return touched;
}

void VolumeUse::claim_changed(const std::string& key, Nodes& touched) {
  const auto found = claims_.find(key);
  if (found == claims_.end()) return;
  ClaimState now = state_of(key);
  ClaimState& state = found->second.state;
  if (now == state) return;
  const bool owner_counts = found->second.ephemeral_users != 0;
  const bool counts_differ = now.exists != state.exists || now.counted != state.counted ||
                             (owner_counts && now.controller_uid != state.controller_uid);
  if (counts_differ) {
    for (const std::string& uid : found->second.pods) {
      const PodRecord& pod = pods_.find(uid)->second;
      for (const bool ephemeral : {false, true}) {
        const auto use = pod.claims.find({key, ephemeral});
        if (use == pod.claims.end()) continue;
        count_claim(pod, *use, state, -1);
        count_claim(pod, *use, now, 1);
      }
      touched.insert(pod.node);
    }
  }
  index(key, state, false);
  index(key, now, true);
  state = std::move(now);
}

void VolumeUse::volume_changed(std::string_view name, Nodes& touched) {
  for (const std::string& key : members(claims_by_volume_, name)) claim_changed(key, touched);
  for (const std::string& each : members(attachments_by_volume_, name)) {
    attachment_changed(each, touched);
  }
}

void VolumeUse::class_changed(std::string_view name, Nodes& touched) {
  for (const std::string& key : members(claims_by_class_, name)) claim_changed(key, touched);
}

void VolumeUse::attachment_changed(const std::string& name, Nodes& touched) {
  AttachmentRecord now = attachment(name);
  const auto found = attachments_.find(name);
  const AttachmentRecord before = found == attachments_.end() ? AttachmentRecord() : found->second;
  if (now == before) return;
  count(before.node, before.counted, &NodeVolumes::Uses::attachments, -1);
  count(now.node, now.counted, &NodeVolumes::Uses::attachments, 1);
  touched.insert({before.node, now.node});
  set_in(attachments_by_volume_, before.volume_name, name, false);
  set_in(attachments_by_volume_, now.volume_name, name, true);
  if (now == AttachmentRecord()) {
    attachments_.erase(found);
  } else {
    attachments_[name] = std::move(now);
  }
}

void VolumeUse::csi_node_changed(std::string_view name, Nodes& touched) {
  NodeVolumes& at = nodes_[std::string(name)];
  const auto now = store_.csi_nodes().find(name);
  auto csi = now == nullptr ? std::nullopt : std::optional(csi_of(*now));
  if (csi != at.csi_node) touched.emplace(name);
  at.csi_node = std::move(csi);
  forget_if_empty(name);
}

}  // namespace plimsoll::volumes

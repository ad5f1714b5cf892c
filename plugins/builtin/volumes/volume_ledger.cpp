#include "plugins/builtin/volumes/volume_ledger.hpp"

#include <algorithm>
#include <memory>
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
StringMap<std::optional<int64_t>> limits_of(const CsiNode& node) {
  StringMap<std::optional<int64_t>> limits;
  for (const CsiNode::Driver& driver : node.drivers) {
    std::optional<int64_t>& limit = limits[driver.name];
    if (driver.limit) limit = driver.limit;
  }
  return limits;
}

bool same_drivers(const CsiNode* a, const CsiNode* b) {
  if (a == nullptr || b == nullptr) return a == b;
  if (a->meta.readable() != b->meta.readable()) return false;
  return std::equal(a->drivers.begin(), a->drivers.end(), b->drivers.begin(), b->drivers.end(),
                    [](const CsiNode::Driver& x, const CsiNode::Driver& y) {
                      return x.name == y.name && x.limit == y.limit;
                    });
}

}  // namespace

VolumeLedger::Shared VolumeLedger::shared(const sdk::Host& host) {
  return {host, "plimsoll.io/volume-ledger",
          [&] { return std::make_unique<VolumeLedger>(StorageStore::shared(host)); }};
}

// ---- pods

void VolumeLedger::assign(sdk::Pod pod, std::string_view node) {
  put(pod, node, false);
}

void VolumeLedger::reserve(sdk::Pod pod, std::string_view node) {
  put(pod, node, true);
}

// A pod's volumes never change.
void VolumeLedger::put(sdk::Pod pod, std::string_view node, bool is_reserved) {
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

void VolumeLedger::remove(std::string_view uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  count_pod(found->second, -1);
  remove_claims(found->second);
  pods_.erase(found);
}

void VolumeLedger::release(std::string_view uid) {
  const auto found = pods_.find(uid);
  if (found != pods_.end() && found->second.is_reserved) remove(uid);
}

void VolumeLedger::add_claims(const PodRecord& pod) {
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

void VolumeLedger::remove_claims(const PodRecord& pod) {
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

void VolumeLedger::count_pod(const PodRecord& pod, int sign) {
  for (const ClaimUse& use : pod.claims) {
    count_claim(pod, use, claims_.at(use.key).state, sign);
  }
  for (const CountedVolume& volume : pod.inline_volumes) {
    count(pod.node, volume, &NodeVolumes::Uses::pods, sign);
  }
}

void VolumeLedger::count_claim(const PodRecord& pod, const ClaimUse& use, const ClaimState& claim,
                               int sign) {
  if (!claim.exists) return;
  // A kubelet does not mount another pod's.
  if (use.ephemeral && claim.is_readable && claim.controller_uid != pod.uid) return;
  count(pod.node, claim.counted, &NodeVolumes::Uses::pods, sign);
}

void VolumeLedger::count(std::string_view node, const CountedVolume& volume,
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

void VolumeLedger::count(NodeVolumes& node, const CsiVolume& volume,
                         uint32_t NodeVolumes::Uses::*by, int sign) {
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

void VolumeLedger::forget_if_empty(std::string_view node) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  const NodeVolumes& at = found->second;
  if (at.attached.empty() && at.uncounted == 0 && at.csi_node == nullptr) nodes_.erase(found);
}

size_t VolumeLedger::users(std::string_view claim_key) const {
  const auto found = claims_.find(claim_key);
  return found == claims_.end() ? 0 : found->second.plain_users;
}

const NodeVolumes* VolumeLedger::node(std::string_view name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

bool VolumeLedger::is_attached(const CsiVolume& volume) const {
  return everywhere_.contains(volume);
}

// ---- objects

VolumeLedger::ClaimState VolumeLedger::state_of(const std::string& claim_key) const {
  ClaimState state;
  const ClaimRef claim = store_.claims().find(claim_key);
  if (claim == nullptr) return state;
  state.exists = true;
  state.volume_name = claim->volume_name;
  if (claim->volume_name.empty() || store_.volume(claim->volume_name) == nullptr) {
    state.class_name = claim->class_name;
  }
  state.controller_uid = claim->controller_uid;
  state.is_readable = claim->meta.readable();
  state.counted = counted(*claim, store_);
  return state;
}

VolumeLedger::AttachmentRecord VolumeLedger::attachment(const std::string& name) const {
  AttachmentRecord record;
  const auto object = store_.attachments().find(name);
  if (object == nullptr || object->attacher.empty() || object->volume_name.empty()) return record;
  record.node = object->node_name;
  record.volume_name = object->volume_name;
  const VolumeRef volume = store_.volume(object->volume_name);
  if (volume == nullptr) return record;
  record.counted.problem = volume->meta.problem;
  if (!volume->csi_handle.empty()) {
    record.counted.volume = CsiVolume{object->attacher, volume->csi_handle};
  }
  return record;
}

void VolumeLedger::index(const std::string& claim_key, const ClaimState& state, bool is_added) {
  set_in(claims_by_volume_, state.volume_name, claim_key, is_added);
  set_in(claims_by_class_, state.class_name, claim_key, is_added);
}

VolumeLedger::Nodes VolumeLedger::changed(std::string_view resource, std::string_view ns,
                                          std::string_view name) {
  Nodes touched;
  if (resource == sdk::kPersistentVolumeClaims.resource) claim_changed(key_of(ns, name), touched);
  if (resource == sdk::kPersistentVolumes.resource) volume_changed(name, touched);
  if (resource == sdk::kStorageClasses.resource) class_changed(name, touched);
  if (resource == sdk::kVolumeAttachments.resource) attachment_changed(std::string(name), touched);
  if (resource == sdk::kCsiNodes.resource) csi_node_changed(name, touched);
  return touched;
}

void VolumeLedger::claim_changed(const std::string& key, Nodes& touched) {
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

void VolumeLedger::volume_changed(std::string_view name, Nodes& touched) {
  for (const std::string& key : members(claims_by_volume_, name)) claim_changed(key, touched);
  for (const std::string& each : members(attachments_by_volume_, name)) {
    attachment_changed(each, touched);
  }
}

void VolumeLedger::class_changed(std::string_view name, Nodes& touched) {
  for (const std::string& key : members(claims_by_class_, name)) claim_changed(key, touched);
}

void VolumeLedger::attachment_changed(const std::string& name, Nodes& touched) {
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

void VolumeLedger::csi_node_changed(std::string_view name, Nodes& touched) {
  NodeVolumes& at = nodes_[std::string(name)];
  auto before = std::exchange(at.csi_node, store_.csi_nodes().find(name));
  if (same_drivers(before.get(), at.csi_node.get())) return forget_if_empty(name);
  touched.emplace(name);
  at.drivers = at.csi_node == nullptr ? decltype(at.drivers)() : limits_of(*at.csi_node);
  forget_if_empty(name);
}

}  // namespace plimsoll::volumes

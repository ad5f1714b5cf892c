#include "framework/cluster/cluster_state.hpp"

#include <plimsoll/plugin_abi.h>

#include <algorithm>
#include <utility>

#include "framework/api/lists.hpp"

namespace plimsoll {
namespace {

constexpr size_t kLogLimit = 1 << 18;
constexpr uint32_t kAllNodeAspects = PLIMSOLL_ASPECT_PLUGIN - 1;

bool same_resources(const plimsoll_list& a, const plimsoll_list& b) {
  return same_list<plimsoll_resource>(a, b, [](const auto& x, const auto& y) {
    return x.index == y.index && x.value == y.value &&
           (x.index != PLIMSOLL_RESOURCE_OF_NO_NODE || equal(x.name, y.name));
  });
}

bool same_labels(const plimsoll_list& a, const plimsoll_list& b) {
  return same_list<plimsoll_label>(a, b, [](const auto& x, const auto& y) {
    return equal(x.key, y.key) && equal(x.value, y.value);
  });
}

bool same_images(const plimsoll_list& a, const plimsoll_list& b) {
  return same_list<plimsoll_image>(a, b, [](const auto& x, const auto& y) {
    return x.bytes == y.bytes && same_list<plimsoll_str>(x.names, y.names, equal);
  });
}

// Whether both add the same amounts to the sums of their node.
bool same_amounts(const plimsoll_pod& a, const plimsoll_pod& b) {
  return a.priority == b.priority && a.nonzero_cpu == b.nonzero_cpu &&
         a.nonzero_memory == b.nonzero_memory && same_resources(a.used, b.used);
}

using ConditionTexts = std::vector<std::pair<std::string_view, std::string_view>>;

ConditionTexts conditions_of(const plimsoll_list& list) {
  ConditionTexts texts;
  for (const auto& condition : items<plimsoll_condition>(list)) {
    texts.emplace_back(view(condition.type), view(condition.status));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

// Compares the conditions by type; their order does not matter.
bool same_conditions(const plimsoll_list& a, const plimsoll_list& b) {
  if (same_list<plimsoll_condition>(a, b, [](const auto& x, const auto& y) {
        return equal(x.type, y.type) && equal(x.status, y.status);
      })) {
    return true;
  }
  return a.count == b.count && conditions_of(a) == conditions_of(b);
}

}  // namespace

bool same_taints(const plimsoll_list& a, const plimsoll_list& b) {
  return same_list<plimsoll_taint>(a, b, [](const auto& x, const auto& y) {
    return x.effect == y.effect && equal(x.key, y.key) && equal(x.value, y.value);
  });
}

uint32_t node_aspects_changed(const plimsoll_node& before, const plimsoll_node& after) {
  uint32_t aspects = 0;
  if (!same_resources(before.allocatable, after.allocatable)) {
    aspects |= PLIMSOLL_ASPECT_ALLOCATABLE;
  }
  if (!same_labels(before.meta.labels, after.meta.labels)) aspects |= PLIMSOLL_ASPECT_LABELS;
  if (before.unschedulable != after.unschedulable || !same_taints(before.taints, after.taints)) {
    aspects |= PLIMSOLL_ASPECT_TAINTS;
  }
  if (!same_images(before.images, after.images)) aspects |= PLIMSOLL_ASPECT_IMAGES;
  if (!same_conditions(before.conditions, after.conditions)) aspects |= PLIMSOLL_ASPECT_CONDITIONS;
  if (!same_labels(before.meta.annotations, after.meta.annotations)) {
    aspects |= PLIMSOLL_ASPECT_ANNOTATIONS;
  }
  if (!same_list<plimsoll_str>(before.declared_features, after.declared_features, equal)) {
    aspects |= PLIMSOLL_ASPECT_FEATURES;
  }
  return aspects;
}

uint32_t pod_aspects(const plimsoll_pod& pod) {
  uint32_t aspects = PLIMSOLL_ASPECT_REQUESTED | PLIMSOLL_ASPECT_PODS;
  if (pod.volumes.count != 0) aspects |= PLIMSOLL_ASPECT_VOLUMES;
  for (const plimsoll_list& containers : {pod.init_containers, pod.containers}) {
    for (const auto& container : items<plimsoll_container>(containers)) {
      if (container.ports.count != 0) aspects |= PLIMSOLL_ASPECT_PORTS;
    }
  }
  return aspects;
}

// ---- NodeInfo

NodeInfo::NodeInfo(std::string name, uint32_t slot) : name_(std::move(name)) {
  abi_.size = sizeof(abi_);
  abi_.slot = slot;
  mirror();
}

NodeInfo::NodeInfo(const NodeInfo& other)
    : lowest_priority_(other.lowest_priority_),
      at_lowest_(other.at_lowest_),
      name_(other.name_),
      node_(other.node_),
      pods_(other.pods_),
      pod_pointers_(other.pod_pointers_),
      allocatable_(other.allocatable_),
      requested_(other.requested_),
      overflowed_(other.overflowed_),
      ports_(other.ports_),
      abi_(other.abi_) {
  mirror();
}

void NodeInfo::mirror() {
  abi_.node = node_.get();
  abi_.pods = pod_pointers_.data();
  abi_.pod_count = static_cast<uint32_t>(pod_pointers_.size());
  abi_.resource_count = static_cast<uint32_t>(allocatable_.size());
  abi_.allocatable = allocatable_.data();
  abi_.requested = requested_.data();
  abi_.host_ports = {ports_.data(), static_cast<uint32_t>(ports_.size()),
                     sizeof(plimsoll_host_port)};
}

void NodeInfo::make_room(uint32_t index) {
  if (index < allocatable_.size()) return;
  allocatable_.resize(size_t{index} + 1, 0);
  requested_.resize(size_t{index} + 1, 0);
}

void NodeInfo::set_node(NodeRef node) {
  node_ = std::move(node);
  std::fill(allocatable_.begin(), allocatable_.end(), 0);
  if (node_) {
    for (const auto& resource : items<plimsoll_resource>(node_->allocatable)) {
      if (resource.index == PLIMSOLL_RESOURCE_OF_NO_NODE) break;  // sorted: these come last
      make_room(resource.index);
      allocatable_[resource.index] = resource.value;
    }
  }
  mirror();
}

// A sum saturates. Subtracting from a saturated sum would give a wrong value, so it is then
// computed again from all pods.
void NodeInfo::count(int64_t& sum, int64_t amount, bool added) {
  const bool overflow =
      added ? __builtin_add_overflow(sum, amount, &sum) : __builtin_sub_overflow(sum, amount, &sum);
  if (!overflow) return;
  overflowed_ = true;
  sum = (amount > 0) == added ? INT64_MAX : INT64_MIN;
}

void NodeInfo::account(const plimsoll_pod& pod, bool added) {
  for (const auto& resource : items<plimsoll_resource>(pod.used)) {
    if (resource.index == PLIMSOLL_RESOURCE_OF_NO_NODE) break;  // no node has these
    make_room(resource.index);
    count(requested_[resource.index], resource.value, added);
  }
  count(abi_.nonzero_cpu, pod.nonzero_cpu, added);
  count(abi_.nonzero_memory, pod.nonzero_memory, added);
}

void NodeInfo::account_anew() {
  overflowed_ = false;
  std::fill(requested_.begin(), requested_.end(), 0);
  abi_.nonzero_cpu = abi_.nonzero_memory = 0;
  for (const PodRef& pod : pods_) account(*pod, true);
}

// Ports of sidecars count. Ports of other init containers do not: they are free again (NodePorts,
// HostPorts).
void NodeInfo::occupy_ports(const plimsoll_pod& pod) {
  for (const plimsoll_list& containers : {pod.init_containers, pod.containers}) {
    for (const auto& container : items<plimsoll_container>(containers)) {
      if (container.kind == PLIMSOLL_CONTAINER_INIT) continue;
      for (const auto& port : items<plimsoll_host_port>(container.ports)) ports_.push_back(port);
    }
  }
}

void NodeInfo::note_priority(int32_t priority) {
  if (priority < lowest_priority_) {
    lowest_priority_ = priority;
    at_lowest_ = 0;
  }
  if (priority == lowest_priority_) ++at_lowest_;
}

void NodeInfo::add_pod(PodRef pod) {
  account(*pod, true);
  occupy_ports(*pod);
  note_priority(pod->priority);
  pod_pointers_.push_back(pod.get());
  pods_.push_back(std::move(pod));
  mirror();
}

bool NodeInfo::remove_pod(std::string_view uid) {
  const auto found = std::find_if(pods_.begin(), pods_.end(), [uid](const PodRef& candidate) {
    return view(candidate->meta.uid) == uid;
  });
  if (found == pods_.end()) return false;
  remove_at(static_cast<size_t>(found - pods_.begin()));
  return true;
}

// Searches from the end: most pods are removed or replaced soon after they were added.
bool NodeInfo::remove_pod(const plimsoll_pod& here) {
  const auto found = std::find(pod_pointers_.rbegin(), pod_pointers_.rend(), &here);
  if (found == pod_pointers_.rend()) return false;
  remove_at(static_cast<size_t>(pod_pointers_.rend() - found) - 1);
  return true;
}

void NodeInfo::remove_at(size_t index) {
  const PodRef pod = std::move(pods_[index]);
  // The order of pods on a node does not matter, so the last pod moves to the free place.
  pods_[index] = std::move(pods_.back());
  pods_.pop_back();
  pod_pointers_[index] = pod_pointers_.back();
  pod_pointers_.pop_back();
  if (overflowed_) {
    account_anew();
  } else {
    account(*pod, false);
  }
  // The lowest priority is computed again only when the last pod that has it is removed.
  if (pod->priority == lowest_priority_ && --at_lowest_ == 0) {
    lowest_priority_ = INT32_MAX;
    for (const PodRef& rest : pods_) note_priority(rest->priority);
  }
  // The entries of ports_ point into their pods, so the list is rebuilt when a pod with ports is
  // removed.
  if ((pod_aspects(*pod) & PLIMSOLL_ASPECT_PORTS) != 0) {
    ports_.clear();
    for (const PodRef& rest : pods_) {
      occupy_ports(*rest);
    }
    constexpr size_t kFewPorts = 256;
    if (ports_.capacity() > kFewPorts && ports_.size() < ports_.capacity() / 4) {
      ports_.shrink_to_fit();  // one pod may have had thousands
    }
  }
  mirror();
}

// ---- ClusterState: nodes

bool ClusterState::has_name(uint32_t slot, std::string_view name) const {
  return slot < slots_.size() && slots_[slot] && slots_[slot]->name() == name;
}

NodeInfo& ClusterState::slot_for(std::string_view name, uint32_t likely) {
  if (has_name(likely, name)) return *slots_[likely];
  auto entry = by_name_.find(name);
  if (entry == by_name_.end()) {
    entry = by_name_.emplace(name, 0).first;
    if (free_slots_.empty()) {
      entry->second = static_cast<uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      entry->second = free_slots_.back();
      free_slots_.pop_back();
    }
    slots_[entry->second] = std::make_unique<NodeInfo>(std::string(name), entry->second);
    changed(*slots_[entry->second], 0);
  }
  return *slots_[entry->second];
}

void ClusterState::release_if_empty(uint32_t slot) {
  NodeInfo& info = *slots_[slot];
  if (info.node() || !info.pods().empty()) return;
  changed(info, 0);
  by_name_.erase(info.name());
  slots_[slot].reset();
  free_slots_.push_back(slot);
}

void ClusterState::changed(NodeInfo& info, uint32_t aspects) {
  info.set_generation(++generation_);
  columns_.update(info, aspects);
  log_.push_back({info.slot(), aspects});
  if (log_.size() > kLogLimit) {
    log_.pop_front();
    ++log_begin_;
  }
}

uint32_t ClusterState::upsert_node(NodeRef node) {
  NodeInfo& info = slot_for(view(node->meta.name));
  const bool is_new = !info.node();
  const uint32_t aspects = is_new ? kAllNodeAspects : node_aspects_changed(*info.node(), *node);
  info.set_node(std::move(node));
  if (is_new) {
    ++live_nodes_;
    ++node_set_;
    rows_stale_ = true;
  }
  if (aspects != 0) changed(info, aspects);
  return aspects;
}

bool ClusterState::remove_node(std::string_view name) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end() || !slots_[found->second]->node()) return false;
  const uint32_t slot = found->second;
  slots_[slot]->set_node(nullptr);
  --live_nodes_;
  ++node_set_;
  rows_stale_ = true;
  changed(*slots_[slot], kAllNodeAspects);
  release_if_empty(slot);
  return true;
}

const NodeInfo* ClusterState::node(std::string_view name, uint32_t likely) const {
  if (has_name(likely, name)) return node_at(likely);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : node_at(found->second);
}

const NodeInfo* ClusterState::node_at(uint32_t slot) const {
  if (slot >= slots_.size() || !slots_[slot] || !slots_[slot]->node()) return nullptr;
  return slots_[slot].get();
}

const std::vector<const plimsoll_node_info*>& ClusterState::rows() const {
  if (rows_stale_) {
    rows_.clear();
    row_slots_.clear();
    for (const auto& info : slots_) {
      if (!info || !info->node()) continue;
      rows_.push_back(info->abi());
      row_slots_.push_back(info->slot());
    }
    rows_stale_ = false;
  }
  return rows_;
}

const std::vector<uint32_t>& ClusterState::row_slots() const {
  static_cast<void>(rows());
  return row_slots_;
}

// ---- ClusterState: pods

bool PlacedMembers::ByName::operator()(const plimsoll_pod* a, const plimsoll_pod* b) const {
  const std::string_view one = view(a->meta.name), other = view(b->meta.name);
  return one != other ? one < other : std::less<>()(a, b);
}

std::vector<const plimsoll_pod*> PlacedMembers::living_pods() const {
  std::vector<const plimsoll_pod*> found;
  std::ranges::copy_if(pods, std::back_inserter(found),
                       [](const plimsoll_pod* pod) { return pod->meta.deletion_ms == 0; });
  return found;
}

void ClusterState::join_group(const plimsoll_pod& pod) {
  const GroupName name = group_of(pod);
  if (!name) return;
  PlacedMembers& group = groups_[name.key()];
  group.pods.insert(&pod);
  if (pod.meta.deletion_ms == 0) ++group.living;
}

void ClusterState::leave_group(const plimsoll_pod& pod) {
  const GroupName name = group_of(pod);
  if (!name) return;
  const auto found = groups_.find(name.key());
  if (found == groups_.end() || found->second.pods.erase(&pod) == 0) return;
  if (pod.meta.deletion_ms == 0) --found->second.living;
  if (found->second.pods.empty()) groups_.erase(found);
}

const PlacedMembers* ClusterState::members(const GroupName& group) const {
  const auto found = groups_.find(group.key());
  return found == groups_.end() ? nullptr : &found->second;
}

PodChange ClusterState::upsert_pod(PodRef pod) {
  const std::string_view uid = view(pod->meta.uid);
  const auto found = pods_.find(uid);
  NodeInfo& target =
      slot_for(view(pod->node_name), found == pods_.end() ? kAnySlot : found->second.slot);
  if (found == pods_.end()) {
    pods_.emplace(uid, PodEntry{pod, target.slot(), false});
    join_group(*pod);
    const uint32_t aspects = pod_aspects(*pod);
    target.add_pod(std::move(pod));
    changed(target, aspects);
    return PodChange::kAdded;
  }
  PodEntry& entry = found->second;
  const bool was_assumed = std::exchange(entry.assumed, false);
  if (was_assumed) --assumed_;
  const bool moved = entry.slot != target.slot();
  uint32_t aspects = pod_aspects(*entry.pod) | pod_aspects(*pod);
  // Usually the amounts are the same as before, above all when the watch confirms an assumed pod.
  if (!moved && same_amounts(*entry.pod, *pod)) aspects &= ~uint32_t{PLIMSOLL_ASPECT_REQUESTED};
  const uint32_t old_slot = std::exchange(entry.slot, target.slot());
  slots_[old_slot]->remove_pod(*entry.pod);
  leave_group(*entry.pod);
  join_group(*pod);
  entry.pod = pod;
  target.add_pod(std::move(pod));
  changed(target, aspects);
  if (moved) {
    changed(*slots_[old_slot], aspects);
    release_if_empty(old_slot);
    return PodChange::kMoved;
  }
  return was_assumed ? PodChange::kConfirmed : PodChange::kUpdated;
}

bool ClusterState::remove_pod(std::string_view uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return false;
  const PodEntry entry = std::move(found->second);
  pods_.erase(found);
  if (entry.assumed) --assumed_;
  leave_group(*entry.pod);
  NodeInfo& info = *slots_[entry.slot];
  info.remove_pod(*entry.pod);
  changed(info, pod_aspects(*entry.pod));
  release_if_empty(entry.slot);
  return true;
}

bool ClusterState::assume(PodRef pod, uint32_t likely) {
  NodeInfo& target = slot_for(view(pod->node_name), likely);
  if (!pods_.emplace(view(pod->meta.uid), PodEntry{pod, target.slot(), true}).second) {
    release_if_empty(target.slot());
    return false;
  }
  ++assumed_;
  join_group(*pod);
  const uint32_t aspects = pod_aspects(*pod);
  target.add_pod(std::move(pod));
  changed(target, aspects);
  return true;
}

bool ClusterState::amend(PodRef pod) {
  const auto found = pods_.find(view(pod->meta.uid));
  if (found == pods_.end() || !found->second.assumed) return false;
  NodeInfo& info = *slots_[found->second.slot];
  info.remove_pod(*found->second.pod);
  leave_group(*found->second.pod);
  join_group(*pod);
  found->second.pod = pod;
  info.add_pod(std::move(pod));
  changed(info, PLIMSOLL_ASPECT_REQUESTED);
  return true;
}

bool ClusterState::forget(std::string_view uid) {
  return is_assumed(uid) && remove_pod(uid);
}

bool ClusterState::is_assumed(std::string_view uid) const {
  const auto found = pods_.find(uid);
  return found != pods_.end() && found->second.assumed;
}

PodRef ClusterState::pod(std::string_view uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : found->second.pod;
}

void ClusterState::touch(uint32_t slot, uint32_t aspects) {
  if (slot < slots_.size() && slots_[slot]) changed(*slots_[slot], aspects);
}

std::vector<NodeRef> ClusterState::all_nodes() const {
  std::vector<NodeRef> all;
  for (const auto& info : slots_) {
    if (info && info->node()) all.push_back(info->node());
  }
  return all;
}

}  // namespace plimsoll

#include "plugins/topology/ledger.hpp"

#include <algorithm>
#include <plimsoll/views.hpp>

#include "plugins/topology/amount.hpp"
#include "plugins/topology/fingerprint.hpp"

namespace plimsoll::topology {
namespace {

using sdk::view;

// Pods that exporters count under with-exclusive-resources.
bool is_exclusive(const PodRequest& request) {
  return request.has_pinned;
}

}  // namespace

Ledger::PodKey Ledger::key_of(std::string_view uid) {
  return {xxh64(uid, 1), xxh64(uid, 2)};
}

Ledger::NodeRecord& Ledger::record_of(std::string_view name) {
  auto& record = nodes_[std::string(name)];
  if (!record) {
    record = std::make_unique<NodeRecord>();
    record->name = name;
  }
  return *record;
}

void Ledger::forget_if_idle(NodeRecord& node) {
  if (node.slot != UINT32_MAX || node.reported || node.malformed || !node.pods.empty()) return;
  nodes_.erase(std::string(node.name));
}

void Ledger::touch(NodeRecord& node, bool freed) {
  freed_ = freed_ || freed;
  if (node.slot == UINT32_MAX) return;
  node.zones.header().promises = static_cast<uint32_t>(
      std::count_if(node.pods.begin(), node.pods.end(),
                    [](const PodRecord& pod) { return !pod.covered && !pod.charges.empty(); }));
  node.zones.header().leaving = static_cast<uint32_t>(std::count_if(
      node.gone.begin(), node.gone.end(),
      [](const GonePod& gone) { return gone.seen && !gone.refund && gone.request != nullptr; }));
  touched_.push_back(node.slot);
}

Ledger::Changes Ledger::take_changes() {
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  Changes changes{std::move(touched_), freed_};
  touched_.clear();
  freed_ = false;
  return changes;
}

void Ledger::node_added(std::string_view name, uint32_t slot) {
  NodeRecord& node = record_of(name);
  if (node.slot != UINT32_MAX && node.slot != slot) node_removed(name);
  NodeRecord& record = record_of(name);
  if (slot >= slots_.size()) {
    slots_.resize(slot + 1, nullptr);
    views_.resize(slot + 1, nullptr);
  }
  if (slots_[slot] != nullptr) slots_[slot]->slot = UINT32_MAX;  // reused
  record.slot = slot;
  slots_[slot] = &record;
  views_[slot] = record.reported ? &record.zones.view() : nullptr;
  touch(record, false);
}

void Ledger::node_removed(std::string_view name) {
  const auto at = nodes_.find(std::string(name));
  if (at == nodes_.end() || at->second->slot == UINT32_MAX) return;
  NodeRecord& node = *at->second;
  slots_[node.slot] = nullptr;
  views_[node.slot] = nullptr;
  node.slot = UINT32_MAX;
  forget_if_idle(node);
}

// `free` from the report and everything that is charged or refunded. What is taken comes last: at
// the ends of the range of amounts a zone then has less than it seems to have, never more.
void Ledger::refresh(NodeRecord& node) {
  if (!node.reported) return;
  node.zones.reset_free();
  for (const GonePod& gone : node.gone) {
    if (!gone.refund) continue;
    for (const Charge& one : gone.charges) {
      int64_t* cell = node.zones.free_cell(one.resource, one.zone_id);
      if (cell != nullptr) *cell = add_amounts(*cell, one.visible);
    }
  }
  for (const PodRecord& pod : node.pods) charge(node, pod);
}

// Takes what a pod is charged now from what is free.
void Ledger::charge(NodeRecord& node, const PodRecord& pod) {
  for (const Charge& one : pod.charges) {
    int64_t* cell = node.zones.free_cell(one.resource, one.zone_id);
    if (cell != nullptr) *cell = add_amounts(*cell, -(pod.covered ? one.held : one.amount));
  }
}

void Ledger::report(const NrtObject& nrt, int64_t now_ms) {
  now_ms_ = now_ms;
  NodeRecord& node = record_of(nrt.name);
  if (node.reported && !nrt.resource_version.empty() && node.version == nrt.resource_version) {
    return;  // a relist: the same object again
  }
  ++stats_.reports;
  const bool had_before = node.reported;
  NumaNode before = std::move(node.zones);
  node.zones = NumaNode(nrt, index_, nrt.written_ms != 0 ? nrt.written_ms : now_ms);
  node.version = nrt.resource_version;
  node.fingerprint = nrt.fingerprint;
  node.method = nrt.method;
  node.reported = true;
  node.malformed = false;
  settle_report(node, before, had_before);
  replan(node);
  if (node.slot != UINT32_MAX) views_[node.slot] = &node.zones.view();
  touch(node, false);
}

void Ledger::report_deleted(std::string_view node_name) {
  const auto at = nodes_.find(std::string(node_name));
  if (at == nodes_.end() || (!at->second->reported && !at->second->malformed)) return;
  NodeRecord& node = *at->second;
  node.reported = node.malformed = false;
  node.explained = false;
  node.zones = NumaNode();
  node.version.clear();
  node.fingerprint.clear();
  node.gone.clear();
  // What the report counted is counted by nobody now.
  for (PodRecord& pod : node.pods) {
    if (pod.covered && !pod.charges.empty()) ++pending_;
    pod.covered = false;
    pod.located = false;
  }
  if (node.slot != UINT32_MAX) views_[node.slot] = nullptr;
  touch(node, false);
  forget_if_idle(node);
}

bool Ledger::report_malformed(std::string_view node_name) {
  NodeRecord& node = record_of(node_name);
  if (node.reported) return false;
  if (!node.malformed) {
    node.malformed = true;
    touch(node, false);
  }
  return true;
}

Ledger::PodRecord* Ledger::find(const PodKey& key, NodeRecord*& node) {
  const auto at = pods_.find(key);
  if (at == pods_.end()) return nullptr;
  node = at->second;
  for (PodRecord& pod : node->pods) {
    if (pod.key == key) return &pod;
  }
  return nullptr;
}

void Ledger::add_pod(NodeRecord& node, PodRecord record) {
  if (!record.charges.empty()) ++pending_;
  charge(node, record);
  pods_[record.key] = &node;
  node.pods.push_back(std::move(record));
}

void Ledger::erase_pod(NodeRecord& node, const PodKey& key) {
  const auto at = std::find_if(node.pods.begin(), node.pods.end(),
                               [&](const PodRecord& pod) { return pod.key == key; });
  if (at == node.pods.end()) return;
  if (!at->covered && !at->charges.empty()) --pending_;
  pods_.erase(key);
  node.pods.erase(at);
  refresh(node);
}

Placement Ledger::reserve(const plimsoll_pod& pod, uint32_t slot, int64_t now_ms) {
  now_ms_ = now_ms;
  NodeRecord* node = slot < slots_.size() ? slots_[slot] : nullptr;
  const PodRequest request(pod);
  if (node == nullptr || !request.has_pinned) return {};
  const PodKey key = key_of(view(pod.meta.uid));
  NodeRecord* known_on = nullptr;
  if (find(key, known_on) != nullptr) {
    erase_pod(*known_on, key);
    touch(*known_on, false);
  }
  Placement placement;
  if (node->reported) placement = predict(request, node->zones.view(), Doubt::kRefuse, scratch_);
  if (!placement.complete) return placement;
  PodRecord record;
  record.key = key;
  record.hash = pod_hash(view(pod.meta.ns), view(pod.meta.name));
  record.exclusive = is_exclusive(request);
  record.trusted = node->reported;  // else the first report decides where it is charged
  record.since_ms = record.order_ms = now_ms;
  record.charges = placement.charges;
  record.request = std::make_unique<PodRequest>(request.without_views());
  add_pod(*node, std::move(record));
  touch(*node, false);
  return placement;
}

bool Ledger::unreserve(const plimsoll_pod& pod) {
  const PodKey key = key_of(view(pod.meta.uid));
  NodeRecord* node = nullptr;
  const PodRecord* record = find(key, node);
  if (record == nullptr || record->bound) return false;
  const bool charges = !record->charges.empty();
  erase_pod(*node, key);
  if (node->reported) replan(*node);  // the kubelet will never see it: those after it move up
  touch(*node, charges);
  forget_if_idle(*node);
  return charges;
}

void Ledger::pod_assigned(const plimsoll_pod& pod, std::string_view node_name, int64_t now_ms) {
  now_ms_ = now_ms;
  const PodKey key = key_of(view(pod.meta.uid));
  NodeRecord* known_on = nullptr;
  if (PodRecord* known = find(key, known_on); known != nullptr && known_on->name == node_name) {
    if (!known->bound) known->since_ms = now_ms;
    known->bound = true;
    known->start_ms = pod.start_ms;
    return;
  }
  if (known_on != nullptr) {  // promised elsewhere: the API server knows better
    erase_pod(*known_on, key);
    touch(*known_on, true);
  }
  NodeRecord& node = record_of(node_name);
  const PodRequest request(pod);
  PodRecord record;
  record.key = key;
  record.hash = pod_hash(view(pod.meta.ns), view(pod.meta.name));
  record.exclusive = is_exclusive(request);
  record.bound = true;
  record.since_ms = now_ms;
  record.start_ms = pod.start_ms;
  record.order_ms = pod.start_ms != 0 ? pod.start_ms : now_ms;
  if (request.has_pinned) record.request = std::make_unique<PodRequest>(request.without_views());
  if (request.has_pinned && node.reported) {
    const plimsoll_str* zones = sdk::Labels(pod.meta.annotations).find(kZonesAnnotation);
    Placement placement;
    placement.complete = false;
    if (zones != nullptr) {
      placement = placement_of(view(*zones), request, node.zones.view(), scratch_);
    }
    record.trusted = record.annotated = placement.complete;
    if (!placement.complete) {
      placement = predict(request, node.zones.view(), Doubt::kCharge, scratch_);
    }
    record.charges = std::move(placement.charges);
  }
  const bool charges = !record.charges.empty();
  add_pod(node, std::move(record));
  const bool settled = settle_pod(node, node.pods.back());
  if (charges || settled) touch(node, false);
}

// The promises of a node predicted anew on what its report says.
void Ledger::replan(NodeRecord& node) {
  std::vector<PodRecord*> promised;
  for (PodRecord& pod : node.pods) {
    if (pod.covered || pod.annotated || !pod.request) continue;
    if (!pod.charges.empty()) --pending_;
    pod.charges.clear();
    promised.push_back(&pod);
  }
  refresh(node);
  std::stable_sort(promised.begin(), promised.end(), [](const PodRecord* a, const PodRecord* b) {
    return a->order_ms < b->order_ms;
  });
  for (PodRecord* pod : promised) {
    pod->charges = predict(*pod->request, node.zones.view(), Doubt::kCharge, scratch_).charges;
    if (!pod->charges.empty()) ++pending_;
    charge(node, *pod);
  }
}

void Ledger::pod_removed(const plimsoll_pod& pod, int64_t now_ms) {
  now_ms_ = now_ms;
  const PodKey key = key_of(view(pod.meta.uid));
  NodeRecord* node = nullptr;
  PodRecord* record = find(key, node);
  if (record == nullptr) return;
  const bool charges = !record->charges.empty();
  bool settled = false;
  GonePod gone;
  gone.hash = record->hash;
  gone.exclusive = record->exclusive;
  gone.counted = record->covered && !record->weak;
  gone.located = record->located;
  gone.seen = record->covered;
  gone.refund = record->covered && record->located;
  gone.gone_ms = now_ms;
  gone.charges = std::move(record->charges);
  record->charges = gone.charges;
  gone.request = std::move(record->request);
  const bool pinned = gone.request != nullptr;
  erase_pod(*node, key);
  if (node->reported) {
    node->gone.push_back(std::move(gone));
    trim_gone(*node);
    // Without it the report may turn out to count pods that it was not known to count.
    if (!node->explained && explain(*node, nullptr)) {
      freed_ = settled = true;
      replan(*node);
    } else {
      refresh(*node);
    }
  }
  if (charges || settled || pinned) touch(*node, false);
  forget_if_idle(*node);
}

const std::vector<Charge>* Ledger::charges_of(std::string_view pod_uid) const {
  const PodKey key = key_of(pod_uid);
  const auto at = pods_.find(key);
  if (at == pods_.end()) return nullptr;
  for (const PodRecord& pod : at->second->pods) {
    if (pod.key == key) return &pod.charges;
  }
  return nullptr;
}

size_t Ledger::remembered_gone(std::string_view node_name) const {
  const auto at = nodes_.find(std::string(node_name));
  return at == nodes_.end() ? 0 : at->second->gone.size();
}

std::string_view Ledger::report_version(std::string_view node_name) const {
  const auto at = nodes_.find(std::string(node_name));
  return at == nodes_.end() || !at->second->reported ? std::string_view() : at->second->version;
}

}  // namespace plimsoll::topology

#include "framework/cluster/node_columns.hpp"

#include <algorithm>
#include <limits>

#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"
#include "framework/cluster/cluster_state.hpp"

namespace plimsoll {
namespace {

constexpr int32_t kNoPods = std::numeric_limits<int32_t>::max();
constexpr uint32_t kAmounts =
    PLIMSOLL_ASPECT_ALLOCATABLE | PLIMSOLL_ASPECT_REQUESTED | PLIMSOLL_ASPECT_PODS;

// Two keys are equal if and only if the lists have equal taints in the same order.
std::string key_of(const plimsoll_list& taints) {
  std::string key;
  for (const auto& taint : items<plimsoll_taint>(taints)) {
    for (const plimsoll_str& text : {taint.key, taint.value}) {
      key.append(std::to_string(text.len)).append(":").append(view(text));
    }
    key.append(std::to_string(taint.effect)).append(";");
  }
  return key;
}

}  // namespace

NodeColumns::NodeColumns(const Slots& slots) : slots_(slots), taint_sets_(1), taint_lists_(1) {
  table_.size = sizeof(plimsoll_columns);
  table_.owner = this;
  table_.label_column = [](const plimsoll_columns* columns, plimsoll_str key,
                           plimsoll_label_column* out) -> int32_t {
    const LabelColumn* column = static_cast<const Table*>(columns)->owner->label_column(key);
    if (column == nullptr) return PLIMSOLL_ERROR;
    out->value_count = static_cast<uint32_t>(column->ids.size()) + 1;
    out->values = column->values.data();
    return PLIMSOLL_SUCCESS;
  };
  show();
}

void NodeColumns::grow(size_t slots, size_t resources) {
  if (slots > length_) {
    length_ = slots;
    for (auto* columns : {&allocatable_, &requested_}) {
      for (auto& column : *columns) column.resize(length_, 0);
    }
    nonzero_cpu_.resize(length_, 0);
    nonzero_memory_.resize(length_, 0);
    pod_count_.resize(length_, 0);
    lowest_priority_.resize(length_, kNoPods);
    unschedulable_.resize(length_, 0);
    taint_set_.resize(length_, 0);
    for (auto& [key, column] : labels_) column.values.resize(length_, 0);
  }
  while (allocatable_.size() < resources) {
    allocatable_.emplace_back(length_, 0);
    requested_.emplace_back(length_, 0);
  }
  show();
}

void NodeColumns::show() {
  const auto point_to = [](const auto& columns, auto& pointers) {
    pointers.clear();
    for (const auto& column : columns) pointers.push_back(column.data());
    return pointers.data();
  };
  table_.slot_count = static_cast<uint32_t>(length_);
  table_.resource_count = static_cast<uint32_t>(allocatable_.size());
  table_.allocatable = point_to(allocatable_, allocatable_pointers_);
  table_.requested = point_to(requested_, requested_pointers_);
  table_.nonzero_cpu = nonzero_cpu_.data();
  table_.nonzero_memory = nonzero_memory_.data();
  table_.pod_count = pod_count_.data();
  table_.lowest_priority = lowest_priority_.data();
  table_.unschedulable = unschedulable_.data();
  table_.taint_set = taint_set_.data();
  table_.taint_sets = taint_lists_.data();
  table_.taint_set_count = static_cast<uint32_t>(taint_lists_.size());
}

void NodeColumns::update(const NodeInfo& info, uint32_t aspects) {
  const uint32_t slot = info.slot();
  const size_t resources = std::min<size_t>(info.abi()->resource_count, kMostResources);
  if (slot >= length_ || resources > allocatable_.size()) {
    grow(std::max(length_, slots_.size()), std::max(allocatable_.size(), resources));
  }
  const bool all = aspects == 0 || !info.node();
  if (all || (aspects & kAmounts) != 0) set_amounts(info);
  if (all || (aspects & PLIMSOLL_ASPECT_TAINTS) != 0) set_taints(slot, info.node());
  if (all || (aspects & PLIMSOLL_ASPECT_LABELS) != 0) set_labels(slot, info.node());
}

void NodeColumns::set_amounts(const NodeInfo& info) {
  const uint32_t slot = info.slot();
  const plimsoll_node_info& row = *info.abi();
  for (size_t i = 0; i < allocatable_.size(); ++i) {
    const bool known = info.node() && i < row.resource_count;
    allocatable_[i][slot] = known ? row.allocatable[i] : 0;
    requested_[i][slot] = known ? row.requested[i] : 0;
  }
  nonzero_cpu_[slot] = row.nonzero_cpu;
  nonzero_memory_[slot] = row.nonzero_memory;
  pod_count_[slot] = row.pod_count;
  lowest_priority_[slot] = info.lowest_priority();
}

// ---- taints

void NodeColumns::set_taints(uint32_t slot, const NodeRef& node) {
  table_.unschedulable_count -= unschedulable_[slot];
  unschedulable_[slot] = node && node->unschedulable != 0 ? 1 : 0;
  table_.unschedulable_count += unschedulable_[slot];
  const uint32_t before = taint_set_[slot];
  taint_set_[slot] = node && node->taints.count != 0 ? taint_set_of(node) : 0;
  if (before != 0) release_taint_set(before);
}

uint32_t NodeColumns::taint_set_of(const NodeRef& node) {
  std::string key = key_of(node->taints);
  if (const auto known = taint_ids_.find(key); known != taint_ids_.end()) {
    ++taint_sets_[known->second].nodes;
    return known->second;
  }
  auto id = static_cast<uint32_t>(taint_sets_.size());
  if (free_taint_ids_.empty()) {
    taint_sets_.emplace_back();
    taint_lists_.emplace_back();
  } else {
    id = free_taint_ids_.back();
    free_taint_ids_.pop_back();
  }
  taint_lists_[id] = node->taints;
  taint_ids_.emplace(key, id);
  taint_sets_[id] = {node, std::move(key), 1};
  show();
  return id;
}

void NodeColumns::release_taint_set(uint32_t id) {
  TaintSet& set = taint_sets_[id];
  if (--set.nodes != 0) return;
  taint_ids_.erase(set.key);
  set = {};
  taint_lists_[id] = {};
  free_taint_ids_.push_back(id);
  // Most clusters have taints only for a while. When none is left, the tables shrink, so that
  // plugins need not check taints at all.
  if (!taint_ids_.empty()) return;
  taint_sets_.resize(1);
  taint_lists_.resize(1);
  free_taint_ids_.clear();
  show();
}

// ---- labels

void NodeColumns::set_label(LabelColumn& column, uint32_t slot, const plimsoll_str& key,
                            const NodeRef& node) {
  const plimsoll_str* value = node ? find_label(node->meta.labels, key) : nullptr;
  if (value == nullptr) {
    column.values[slot] = 0;
    return;
  }
  const auto next = static_cast<uint32_t>(column.ids.size()) + 1;
  column.values[slot] = column.ids.try_emplace(std::string(view(*value)), next).first->second;
}

void NodeColumns::set_labels(uint32_t slot, const NodeRef& node) {
  const std::lock_guard lock(labels_mutex_);
  // Makes room for new keys, and drops values that no node has any more. A dropped column is built
  // again when it is next used.
  if (labels_.size() == kMostLabels) labels_.clear();
  std::erase_if(labels_, [this](const auto& each) {
    constexpr size_t kFewValues = 64;
    return each.second.ids.size() > 2 * length_ + kFewValues;
  });
  for (auto& [key, column] : labels_) set_label(column, slot, str(key), node);
}

const NodeColumns::LabelColumn* NodeColumns::label_column(const plimsoll_str& key) const {
  const std::lock_guard lock(labels_mutex_);
  if (const auto known = labels_.find(view(key)); known != labels_.end()) return &known->second;
  if (labels_.size() == kMostLabels) return nullptr;
  LabelColumn& column = labels_[std::string(view(key))];
  column.values.resize(length_, 0);
  for (const auto& info : slots_) {
    if (info && info->node()) set_label(column, info->slot(), key, info->node());
  }
  return &column;
}

size_t NodeColumns::bytes() const {
  constexpr size_t kPerSlot = 2 * sizeof(int64_t) + 3 * sizeof(uint32_t) + sizeof(uint8_t);
  const std::lock_guard lock(labels_mutex_);
  const size_t columns = 2 * allocatable_.size() * sizeof(int64_t);
  return length_ * (kPerSlot + columns + labels_.size() * sizeof(uint32_t));
}

}  // namespace plimsoll

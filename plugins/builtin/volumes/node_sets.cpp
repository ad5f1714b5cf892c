#include "plugins/builtin/volumes/node_sets.hpp"

#include <algorithm>

#include "plugins/builtin/columns/label_tests.hpp"

namespace plimsoll::volumes {

using builtin::LabelIndex;
using sdk::List;
using sdk::view;

namespace {

void set_bit(RowSet::Bits& bits, size_t row) {
  bits[row / 64] |= uint64_t{1} << (row % 64);
}

template <typename Holds>
RowSet::Bits bits_where(size_t count, const Holds& holds) {
  RowSet::Bits bits((count + 63) / 64);
  for (size_t row = 0; row < count; ++row) {
    if (holds(row)) set_bit(bits, row);
  }
  return bits;
}

}  // namespace

void RowSet::add(const RowSet& other, size_t count) {
  if (kind_ == Kind::kEvery) return;
  if (other.kind_ == Kind::kEvery) {
    *this = every();
    return;
  }
  if (kind_ == Kind::kOne) {
    const uint32_t only = row_;
    *this = of(Bits((count + 63) / 64));
    if (only != kNoRow) set_bit(bits_, only);
  }
  if (other.kind_ == Kind::kOne) {
    if (other.row_ != kNoRow) set_bit(bits_, other.row_);
    return;
  }
  for (size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
}

void NodeSets::look_ahead(const sdk::Host& host, const VolumeAffinity* affinity) {
  if (affinity == nullptr || affinity->only_value() == nullptr) return;
  if (affinity->last_seen().load(std::memory_order_relaxed) != UINT32_MAX) return;
  const List<plimsoll_str> values = affinity->only_value()->values;
  if (const sdk::Node node = host.node(view(values[0]))) {
    affinity->last_seen().store(node.slot(), std::memory_order_relaxed);
  }
}

const RowSet& NodeSets::of(const VolumeAffinity* affinity) {
  if (affinity == nullptr || affinity->matches_every_node()) return every_;
  if (const auto known = known_.find(affinity); known != known_.end()) return known->second;
  return known_.emplace(affinity, evaluate(*affinity)).first->second;
}

RowSet NodeSets::evaluate(const VolumeAffinity& affinity) {
  const auto terms = affinity.terms();
  const plimsoll_columns* columns = nodes_.columns();
  if (columns != nullptr && nodes_.size() >= builtin::kFewNodes) {
    if (const plimsoll_requirement* only = affinity.only_value()) {
      if (Column* column = column_of(only->key)) return with_value(affinity, *column);
    }
    if (!LabelIndex::is_worth_it(nodes_, terms)) {
      if (auto tests = builtin::tests_of(*columns, terms)) {
        return RowSet::of(bits_where(nodes_.size(), [&](size_t row) {
          return std::any_of(tests->begin(), tests->end(),
                             [&](builtin::LabelTests& term) { return term.hold(nodes_, row); });
        }));
      }
    }
  }
  if (LabelIndex::is_worth_it(nodes_, terms)) {
    return RowSet::of(LabelIndex(nodes_, terms).matching_any());
  }
  return RowSet::of(
      bits_where(nodes_.size(), [&](size_t row) { return affinity.matches(nodes_[row]); }));
}

NodeSets::Column* NodeSets::column_of(const plimsoll_str& key) {
  if (const auto known = columns_.find(view(key)); known != columns_.end()) return &known->second;
  plimsoll_label_column values{sizeof values, 0, nullptr};
  const plimsoll_columns& columns = *nodes_.columns();
  if (columns.label_column(&columns, key, &values) != PLIMSOLL_SUCCESS) return nullptr;
  Column& column = columns_[view(key)];
  column.by_slot = values.values;
  column.rows_with.resize(values.value_count);
  for (size_t row = 0; row < nodes_.size(); ++row) {
    ++column.rows_with[column.by_slot[nodes_.slots()[row]]];
  }
  return &column;
}

RowSet NodeSets::with_value(const VolumeAffinity& affinity, Column& column) {
  const uint32_t found = find_value(affinity, column);
  if (found == RowSet::kNoRow) return RowSet::none();
  const uint32_t value = column.by_slot[nodes_.slots()[found]];
  if (column.rows_with[value] == 1) return RowSet::one(found);
  return RowSet::of(bits_where(
      nodes_.size(), [&](size_t row) { return column.by_slot[nodes_.slots()[row]] == value; }));
}

// A row that has the value; kNoRow: none has.
uint32_t NodeSets::find_value(const VolumeAffinity& affinity, Column& column) {
  const plimsoll_requirement& wanted = *affinity.only_value();
  const uint32_t seen = affinity.last_seen().load(std::memory_order_relaxed);
  if (const uint32_t row = row_at(seen); row != RowSet::kNoRow && has_value(row, wanted)) {
    return row;
  }
  if (column.row_of.empty()) {
    std::vector<bool> known(column.rows_with.size());
    for (uint32_t row = 0; row < nodes_.size(); ++row) {
      const uint32_t value = column.by_slot[nodes_.slots()[row]];
      if (known[value]) continue;
      known[value] = true;
      if (const auto text = nodes_[row].label(view(wanted.key))) column.row_of.emplace(*text, row);
    }
  }
  const auto found = column.row_of.find(view(List<plimsoll_str>(wanted.values)[0]));
  if (found == column.row_of.end()) return RowSet::kNoRow;
  affinity.last_seen().store(nodes_.slots()[found->second], std::memory_order_relaxed);
  return found->second;
}

bool NodeSets::has_value(uint32_t row, const plimsoll_requirement& wanted) const {
  const auto text = nodes_[row].label(view(wanted.key));
  return text && *text == view(List<plimsoll_str>(wanted.values)[0]);
}

uint32_t NodeSets::row_at(uint32_t slot) {
  if (row_at_.empty()) {
    row_at_.resize(nodes_.columns()->slot_count, RowSet::kNoRow);
    for (uint32_t row = 0; row < nodes_.size(); ++row) row_at_[nodes_.slots()[row]] = row;
  }
  return slot < row_at_.size() ? row_at_[slot] : RowSet::kNoRow;
}

}  // namespace plimsoll::volumes

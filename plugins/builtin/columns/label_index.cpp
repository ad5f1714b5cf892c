#include "plugins/builtin/columns/label_index.hpp"

#include <algorithm>

#include "framework/api/selectors.hpp"
#include "plugins/builtin/columns/label_tests.hpp"

namespace plimsoll::builtin {

using namespace sdk;

namespace {

constexpr size_t kManyRequirements = 64;

void set(LabelIndex::Bits& bits, uint32_t row) {
  bits[row / 64] |= uint64_t{1} << (row % 64);
}

// Orders entries by value, and finds them by value. (std::ranges::equal_range with a projection is
// beyond clang 14 over this C++ library.)
struct ByFirst {
  template <typename Value>
  bool operator()(const std::pair<Value, uint32_t>& entry, const Value& value) const {
    return entry.first < value;
  }
  template <typename Value>
  bool operator()(const Value& value, const std::pair<Value, uint32_t>& entry) const {
    return value < entry.first;
  }
};

}  // namespace

bool LabelIndex::is_worth_it(Nodes nodes, Terms terms) {
  if (nodes.size() < kFewNodes) return false;
  size_t requirements = 0;
  for (const plimsoll_node_selector_term& term : terms) {
    requirements += term.expressions.count + term.fields.count;
    if (requirements >= kManyRequirements) return true;
  }
  return false;
}

LabelIndex::LabelIndex(Nodes nodes, Terms terms)
    : nodes_(nodes), terms_(terms), found_((nodes.size() + 63) / 64) {
  for (const plimsoll_node_selector_term& term : terms) {
    for (const plimsoll_requirement& each : List<plimsoll_requirement>(term.expressions)) {
      keys_.try_emplace(view(each.key));
    }
    has_names_ = has_names_ || term.fields.count != 0;
  }
  for (Row row = 0; row < nodes.size(); ++row) read_labels(row, nodes[row].object());
  for (auto& [_, key] : keys_) std::sort(key.by_value.begin(), key.by_value.end());
  std::sort(names_.by_value.begin(), names_.by_value.end());
}

void LabelIndex::read_labels(Row row, const plimsoll_node& node) {
  if (has_names_) names_.by_value.emplace_back(view(node.meta.name), row);
  for (const plimsoll_label& label : Labels(node.meta.labels)) {
    const auto look_up = [&] {
      const auto found = keys_.find(view(label.key));
      return found == keys_.end() ? nullptr : &found->second;
    };
    Key* key = nullptr;
    if (label.key.symbol == PLIMSOLL_SYMBOL_NONE) {
      key = look_up();
    } else if (const auto known = by_symbol_.find(label.key.symbol); known != by_symbol_.end()) {
      key = known->second;
    } else {
      by_symbol_.emplace(label.key.symbol, key = look_up());
    }
    if (key == nullptr) continue;
    if (key->present.empty()) key->present.resize(found_.size());
    set(key->present, row);
    key->by_value.emplace_back(view(label.value), row);
  }
}

const LabelIndex::Bits& LabelIndex::matching(const plimsoll_node_selector_term& term) {
  const bool is_empty = term.expressions.count == 0 && term.fields.count == 0;
  bits_.assign(found_.size(), is_empty ? 0 : ~uint64_t{0});
  if (nodes_.size() % 64 != 0) bits_.back() &= (uint64_t{1} << (nodes_.size() % 64)) - 1;
  for (const plimsoll_requirement& each : List<plimsoll_requirement>(term.expressions)) keep(each);
  for (const plimsoll_requirement& each : List<plimsoll_requirement>(term.fields)) keep_field(each);
  return bits_;
}

LabelIndex::Bits LabelIndex::matching_any() {
  Bits any(found_.size());
  for (const plimsoll_node_selector_term& term : terms_) {
    const Bits& these = matching(term);
    for (size_t i = 0; i < any.size(); ++i) any[i] |= these[i];
  }
  return any;
}

void LabelIndex::keep(const plimsoll_requirement& requirement) {
  Key& key = keys_.find(view(requirement.key))->second;
  switch (requirement.op) {
    case PLIMSOLL_OP_IN:
    case PLIMSOLL_OP_NOT_IN:
      return keep_values(key, requirement.values, requirement.op == PLIMSOLL_OP_IN);
    case PLIMSOLL_OP_EXISTS:
      if (key.present.empty()) return keep_none();
      for (size_t i = 0; i < bits_.size(); ++i) bits_[i] &= key.present[i];
      return;
    case PLIMSOLL_OP_DOES_NOT_EXIST:
      for (size_t i = 0; i < key.present.size(); ++i) bits_[i] &= ~key.present[i];
      return;
    case PLIMSOLL_OP_GT:
    case PLIMSOLL_OP_LT:
      return keep_numbers(key, requirement);
    default:
      return keep_none();
  }
}

void LabelIndex::keep_field(const plimsoll_requirement& requirement) {
  if (!is_valid(requirement, RequirementOf::kNodeFields)) return keep_none();
  const List<plimsoll_str> values = requirement.values;
  const bool wanted = requirement.op == PLIMSOLL_OP_IN;
  if (view(requirement.key) == "metadata.name") return keep_values(names_, values, wanted);
  // Any other field is empty.
  const bool is_named = std::any_of(values.begin(), values.end(),
                                    [](const plimsoll_str& value) { return value.len == 0; });
  if (is_named != wanted) keep_none();
}

void LabelIndex::keep_values(Key& key, const List<plimsoll_str>& values, bool wanted) {
  for (const plimsoll_str& value : values) {
    const auto [first, last] =
        std::equal_range(key.by_value.begin(), key.by_value.end(), view(value), ByFirst());
    if (first == last || has(found_, first->second)) continue;  // a value may be there twice
    for (auto at = first; at != last; ++at) set(found_, at->second);
  }
  keep_found(wanted);
}

void LabelIndex::keep_numbers(Key& key, const plimsoll_requirement& requirement) {
  const List<plimsoll_str> values = requirement.values;
  const auto bound = values.size() == 1 ? selector_number(view(values[0])) : std::nullopt;
  if (!bound) return keep_none();
  if (!key.has_numbers) {
    for (const auto& [value, row] : key.by_value) {
      if (const auto number = selector_number(value)) key.by_number.emplace_back(*number, row);
    }
    std::sort(key.by_number.begin(), key.by_number.end());
    key.has_numbers = true;
  }
  const auto [equal, above] =
      std::equal_range(key.by_number.begin(), key.by_number.end(), *bound, ByFirst());
  const bool greater = requirement.op == PLIMSOLL_OP_GT;
  auto at = greater ? above : key.by_number.begin();
  const auto end = greater ? key.by_number.end() : equal;
  for (; at != end; ++at) set(found_, at->second);
  keep_found(true);
}

void LabelIndex::keep_found(bool wanted) {
  for (size_t i = 0; i < bits_.size(); ++i) {
    const uint64_t found = std::exchange(found_[i], 0);
    bits_[i] &= wanted ? found : ~found;
  }
}

void LabelIndex::keep_none() {
  std::fill(bits_.begin(), bits_.end(), 0);
}

}  // namespace plimsoll::builtin

#include "plugins/dynamicresources/values/node_selector.hpp"

#include <algorithm>
#include <charconv>

namespace plimsoll::dra {
namespace {

using Op = NodeRequirement::Op;

// strconv.ParseInt of base 10.
std::optional<int64_t> label_number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return {};
  }
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// labels.NewRequirement, but for the syntax of keys and values.
bool is_readable(const NodeRequirement& label) {
  switch (label.op) {
    case Op::kIn:
    case Op::kNotIn:
      return !label.values.empty();
    case Op::kExists:
    case Op::kDoesNotExist:
      return label.values.empty();
    case Op::kGt:
    case Op::kLt:
      return label.values.size() == 1 && label_number(label.values[0]);
    case Op::kInvalid:
      break;
  }
  return false;
}

bool is_readable_field(const NodeRequirement& field) {
  return (field.op == Op::kIn || field.op == Op::kNotIn) && field.values.size() == 1;
}

bool matches(const NodeRequirement& label, const Node& node) {
  const std::optional<std::string_view> value = node.label(label.key);
  const auto listed = [&] {
    return std::find(label.values.begin(), label.values.end(), *value) != label.values.end();
  };
  switch (label.op) {
    case Op::kIn:
      return value && listed();
    case Op::kNotIn:
      return !value || !listed();
    case Op::kExists:
      return value.has_value();
    case Op::kDoesNotExist:
      return !value;
    case Op::kGt:
    case Op::kLt: {
      const std::optional<int64_t> number = value ? label_number(*value) : std::nullopt;
      const std::optional<int64_t> bound = label_number(label.values[0]);
      if (!number) return false;
      return label.op == Op::kGt ? *number > *bound : *number < *bound;
    }
    case Op::kInvalid:
      break;
  }
  return false;
}

bool matches_field(const NodeRequirement& field, const Node& node) {
  const std::string_view value = field.key == "metadata.name" ? node.name : std::string_view();
  return (value == field.values[0]) == (field.op == Op::kIn);
}

}  // namespace

std::optional<bool> matches(const NodeSelector& selector, const Node& node) {
  bool any = false;
  for (const NodeSelectorTerm& term : selector.terms) {
    if (term.expressions.empty() && term.fields.empty()) continue;
    if (!std::all_of(term.expressions.begin(), term.expressions.end(), is_readable) ||
        !std::all_of(term.fields.begin(), term.fields.end(), is_readable_field)) {
      return {};
    }
    any = any || (std::all_of(term.expressions.begin(), term.expressions.end(),
                              [&](const auto& label) { return matches(label, node); }) &&
                  std::all_of(term.fields.begin(), term.fields.end(),
                              [&](const auto& field) { return matches_field(field, node); }));
  }
  return any;
}

}  // namespace plimsoll::dra

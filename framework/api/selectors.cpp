#include "framework/api/selectors.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <plimsoll/join.hpp>
#include <plimsoll/views.hpp>

namespace plimsoll {
namespace {

using sdk::List;

constexpr std::string_view kMetadataName = "metadata.name";

// By number: PLIMSOLL_OP_IN and those after it.
constexpr std::array<std::string_view, PLIMSOLL_OP_INVALID - PLIMSOLL_OP_IN> kOperators{
    "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};

bool contains(const plimsoll_list& values, const plimsoll_str& value) {
  const List<plimsoll_str> list = values;
  return std::any_of(list.begin(), list.end(),
                     [&](const auto& each) { return equal(each, value); });
}

bool compares(const plimsoll_requirement& requirement, std::string_view label) {
  const auto mine = selector_number(label);
  const auto bound = selector_number(view(List<plimsoll_str>(requirement.values)[0]));
  if (!mine || !bound) return false;
  return requirement.op == PLIMSOLL_OP_GT ? *mine > *bound : *mine < *bound;
}

bool matches_field(const plimsoll_requirement& requirement, const plimsoll_node& node) {
  const plimsoll_str none = str("");
  const plimsoll_str& field = view(requirement.key) == kMetadataName ? node.meta.name : none;
  if (requirement.op == PLIMSOLL_OP_IN) return contains(requirement.values, field);
  if (requirement.op == PLIMSOLL_OP_NOT_IN) return !contains(requirement.values, field);
  return false;
}

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// [A-Za-z0-9] at both ends, those and "-_." inside, at most 63.
bool is_name_part(std::string_view text) {
  constexpr size_t kMaxName = 63;
  if (text.empty() || text.size() > kMaxName) return false;
  if (!is_alphanumeric(text.front()) || !is_alphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

// IsDNS1123Subdomain.
bool is_subdomain(std::string_view text) {
  constexpr size_t kMaxSubdomain = 253;
  if (text.empty() || text.size() > kMaxSubdomain) return false;
  while (true) {
    const size_t dot = std::min(text.find('.'), text.size());
    const std::string_view part = text.substr(0, dot);
    if (part.empty() || part.front() == '-' || part.back() == '-') return false;
    for (char c : part) {
      if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-') return false;
    }
    if (dot == text.size()) return true;
    text.remove_prefix(dot + 1);
  }
}

std::string joined(const plimsoll_list& values) {
  std::vector<std::string_view> sorted;
  for (const plimsoll_str& value : List<plimsoll_str>(values)) sorted.push_back(view(value));
  std::sort(sorted.begin(), sorted.end());
  return sdk::join(sorted, ",");
}

std::string requirement_text(const plimsoll_requirement& requirement) {
  const std::string key(view(requirement.key));
  switch (requirement.op) {
    case PLIMSOLL_OP_IN:
      return key + " in (" + joined(requirement.values) + ")";
    case PLIMSOLL_OP_NOT_IN:
      return key + " notin (" + joined(requirement.values) + ")";
    case PLIMSOLL_OP_EXISTS:
      return key;
    case PLIMSOLL_OP_DOES_NOT_EXIST:
      return "!" + key;
    default:
      return key + "?";
  }
}

}  // namespace

std::optional<int64_t> selector_number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

const plimsoll_str* find_label(const plimsoll_list& labels, const plimsoll_str& key) {
  const auto* at = static_cast<const std::byte*>(labels.data);
  for (uint32_t i = 0; i < labels.count; ++i, at += labels.stride) {
    const auto& label = *reinterpret_cast<const plimsoll_label*>(at);
    if (equal(label.key, key)) return &label.value;
  }
  return nullptr;
}

uint32_t operator_of(std::string_view name) {
  const auto found = std::find(kOperators.begin(), kOperators.end(), name);
  return PLIMSOLL_OP_IN + static_cast<uint32_t>(found - kOperators.begin());
}

std::string_view operator_name(uint32_t op) {
  const uint32_t at = op - PLIMSOLL_OP_IN;
  return at < kOperators.size() ? kOperators.at(at) : std::string_view();
}

bool matches(const plimsoll_requirement& requirement, const plimsoll_list& labels) {
  const plimsoll_str* value = find_label(labels, requirement.key);
  switch (requirement.op) {
    case PLIMSOLL_OP_IN:
      return value != nullptr && contains(requirement.values, *value);
    case PLIMSOLL_OP_NOT_IN:
      return value == nullptr || !contains(requirement.values, *value);
    case PLIMSOLL_OP_EXISTS:
      return value != nullptr;
    case PLIMSOLL_OP_DOES_NOT_EXIST:
      return value == nullptr;
    case PLIMSOLL_OP_GT:
    case PLIMSOLL_OP_LT:
      return value != nullptr && requirement.values.count == 1 &&
             compares(requirement, view(*value));
    default:
      return false;
  }
}

bool matches(const plimsoll_label_selector& selector, const plimsoll_list& labels) {
  if (selector.present == 0) return false;
  for (const plimsoll_label& label : List<plimsoll_label>(selector.match_labels)) {
    const plimsoll_str* value = find_label(labels, label.key);
    if (value == nullptr || !equal(*value, label.value)) return false;
  }
  for (const auto& requirement : List<plimsoll_requirement>(selector.expressions)) {
    if (!matches(requirement, labels)) return false;
  }
  return true;
}

Result<void> validate(const plimsoll_label_selector& selector) {
  for (const plimsoll_label& label : List<plimsoll_label>(selector.match_labels)) {
    if (!is_label_key(view(label.key)) || !is_label_value(view(label.value))) {
      return fail(ErrorCode::kInvalid,
                  "matchLabels[" + std::string(view(label.key)) +
                      "]: not a valid label: " + std::string(view(label.value)));
    }
  }
  for (const auto& requirement : List<plimsoll_requirement>(selector.expressions)) {
    if (!is_valid(requirement, RequirementOf::kLabelSelector)) {
      return fail(ErrorCode::kInvalid, "matchExpressions: the requirement on \"" +
                                           std::string(view(requirement.key)) + "\" is not valid");
    }
  }
  return {};
}

std::string selector_text(const plimsoll_label_selector& selector) {
  std::vector<std::pair<std::string_view, std::string>> parts;
  for (const plimsoll_label& label : List<plimsoll_label>(selector.match_labels)) {
    parts.emplace_back(view(label.key),
                       std::string(view(label.key)) + "=" + std::string(view(label.value)));
  }
  for (const auto& requirement : List<plimsoll_requirement>(selector.expressions)) {
    parts.emplace_back(view(requirement.key), requirement_text(requirement));
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return sdk::join(parts, ",", [](const auto& part) -> const std::string& { return part.second; });
}

bool has_error(const plimsoll_node_selector_term& term) {
  const List<plimsoll_requirement> expressions = term.expressions;
  const List<plimsoll_requirement> fields = term.fields;
  return std::any_of(expressions.begin(), expressions.end(),
                     [](const auto& each) { return each.op == PLIMSOLL_OP_INVALID; }) ||
         std::any_of(fields.begin(), fields.end(),
                     [](const auto& each) { return !is_valid(each, RequirementOf::kNodeFields); });
}

bool matches(const plimsoll_node_selector_term& term, const plimsoll_node& node) {
  if (term.expressions.count == 0 && term.fields.count == 0) return false;
  for (const auto& requirement : List<plimsoll_requirement>(term.expressions)) {
    if (!matches(requirement, node.meta.labels)) return false;
  }
  for (const auto& requirement : List<plimsoll_requirement>(term.fields)) {
    if (!is_valid(requirement, RequirementOf::kNodeFields)) return false;
    if (!matches_field(requirement, node)) return false;
  }
  return true;
}

bool matches_any(const plimsoll_list& terms, const plimsoll_node& node) {
  const List<plimsoll_node_selector_term> list = terms;
  return std::any_of(list.begin(), list.end(),
                     [&](const auto& term) { return matches(term, node); });
}

bool matches_node_selector(const plimsoll_pod& pod, const plimsoll_node& node) {
  const List<plimsoll_label> wanted = pod.node_selector;
  return std::all_of(wanted.begin(), wanted.end(), [&node](const plimsoll_label& each) {
    const plimsoll_str* value = find_label(node.meta.labels, each.key);
    return value != nullptr && equal(*value, each.value);
  });
}

bool matches_required_node_affinity(const plimsoll_pod& pod, const plimsoll_node& node) {
  if (!matches_node_selector(pod, node)) return false;
  const plimsoll_node_affinity* affinity = pod.node_affinity;
  return affinity == nullptr || affinity->has_required == 0 ||
         matches_any(affinity->required, node);
}

bool tolerates(const plimsoll_toleration& toleration, const plimsoll_taint& taint) {
  if (toleration.effect != PLIMSOLL_EFFECT_ANY &&
      (toleration.effect != taint.effect || toleration.effect == PLIMSOLL_EFFECT_OTHER)) {
    return false;
  }
  if (toleration.key.len != 0 && !equal(toleration.key, taint.key)) return false;
  if (toleration.op == PLIMSOLL_TOLERATION_EXISTS) return true;
  return toleration.op == PLIMSOLL_TOLERATION_EQUAL && equal(toleration.value, taint.value);
}

bool tolerated(const plimsoll_list& tolerations, const plimsoll_taint& taint) {
  const List<plimsoll_toleration> list = tolerations;
  return std::any_of(list.begin(), list.end(),
                     [&](const auto& each) { return tolerates(each, taint); });
}

bool conflicts(const plimsoll_host_port& a, const plimsoll_host_port& b) {
  constexpr std::string_view kEverywhere = "0.0.0.0";
  return a.port == b.port && equal(a.protocol, b.protocol) &&
         (equal(a.ip, b.ip) || view(a.ip) == kEverywhere || view(b.ip) == kEverywhere);
}

bool is_label_value(std::string_view value) {
  return value.empty() || is_name_part(value);
}

bool is_label_key(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return is_name_part(key);
  return is_subdomain(key.substr(0, slash)) && is_name_part(key.substr(slash + 1));
}

bool is_valid(const plimsoll_requirement& requirement, RequirementOf where) {
  const List<plimsoll_str> values = requirement.values;
  const uint32_t op = requirement.op;
  if (where == RequirementOf::kNodeFields) {
    return (op == PLIMSOLL_OP_IN || op == PLIMSOLL_OP_NOT_IN) && values.size() == 1;
  }
  if (!is_label_key(view(requirement.key))) return false;
  for (const plimsoll_str& value : values) {
    if (!is_label_value(view(value))) return false;
  }
  switch (op) {
    case PLIMSOLL_OP_IN:
    case PLIMSOLL_OP_NOT_IN:
      return !values.empty();
    case PLIMSOLL_OP_EXISTS:
    case PLIMSOLL_OP_DOES_NOT_EXIST:
      return values.empty();
    case PLIMSOLL_OP_GT:
    case PLIMSOLL_OP_LT:
      return where == RequirementOf::kNodeLabels && values.size() == 1 &&
             selector_number(view(values[0])).has_value();
    default:
      return false;
  }
}

}  // namespace plimsoll

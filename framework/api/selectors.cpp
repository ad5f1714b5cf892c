#include "framework/api/selectors.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <plimsoll/join.hpp>
#include <plimsoll/views.hpp>

namespace plimsoll {
namespace {

using sdk::List;
using Labels = List<plimsoll_label>;
using Requirements = List<plimsoll_requirement>;

constexpr std::string_view kMetadataName = "metadata.name";

// By number: PLIMSOLL_OP_IN and those after it.
constexpr std::array<std::string_view, PLIMSOLL_OP_INVALID - PLIMSOLL_OP_IN> kOperators{
    "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};

bool key_is_less(const auto& element, const plimsoll_str& key) {
  return view(element.key) < view(key);
}

// Finds labels by key. A search begins where the one before ended, so that keys in their order cost
// one pass at most, however long both lists are.
class LabelFinder {
 public:
  explicit LabelFinder(const plimsoll_list& labels) : all_(labels), labels_(labels) {}

  const plimsoll_str* find(const plimsoll_str& key) {
    if (labels_.size() <= kShortList) return find_label(all_, key);
    size_t first = at_ != 0 && key_is_less(labels_[at_ - 1], key) ? at_ : 0;
    size_t last = first;
    for (size_t step = 1; last < labels_.size() && key_is_less(labels_[last], key); step *= 2) {
      first = last + 1;
      last += step;
    }
    const auto begin = labels_.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(last, labels_.size()));
    const auto found = std::lower_bound(begin + static_cast<std::ptrdiff_t>(first), end, key,
                                        key_is_less<plimsoll_label>);
    at_ = static_cast<size_t>(found - begin);
    return found != labels_.end() && equal(found->key, key) ? &found->value : nullptr;
  }

 private:
  const plimsoll_list& all_;
  Labels labels_;
  size_t at_ = 0;  // the key before this place was less than the key that was asked for last
};

bool contains(const plimsoll_list& values, const plimsoll_str& value) {
  const List<plimsoll_str> list = values;
  if (list.size() > kShortList) {
    return std::binary_search(list.begin(), list.end(), value,
                              [](const auto& a, const auto& b) { return view(a) < view(b); });
  }
  return std::any_of(list.begin(), list.end(),
                     [&](const auto& each) { return equal(each, value); });
}

bool compares(const plimsoll_requirement& requirement, std::string_view label) {
  const auto mine = selector_number(label);
  const auto bound = selector_number(view(List<plimsoll_str>(requirement.values)[0]));
  if (!mine || !bound) return false;
  return requirement.op == PLIMSOLL_OP_GT ? *mine > *bound : *mine < *bound;
}

// `value`: of the label that is asked about; null: there is none.
bool allows(const plimsoll_requirement& requirement, const plimsoll_str* value) {
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

bool has_all(Labels wanted, const plimsoll_list& labels) {
  LabelFinder finder(labels);
  return std::all_of(wanted.begin(), wanted.end(), [&](const plimsoll_label& each) {
    const plimsoll_str* value = finder.find(each.key);
    return value != nullptr && equal(*value, each.value);
  });
}

// Whether no label is one that these forbid: DoesNotExist only, or NotIn only, sorted by key.
bool none_forbidden(Requirements::iterator at, Requirements::iterator end, Labels labels) {
  for (const plimsoll_label& label : labels) {
    at = std::lower_bound(at, end, label.key, key_is_less<plimsoll_requirement>);
    for (; at != end && equal(at->key, label.key); ++at) {
      if (!allows(*at, &label.value)) return false;
    }
  }
  return true;
}

// The requirements of a label selector, in the order of Decoder::label_selector. Of many that
// forbid labels, only those are looked at that are about a label that is there.
bool allow(Requirements requirements, const plimsoll_list& labels) {
  const auto end = requirements.end();
  auto forbidding = end;
  auto not_in = end;
  if (requirements.size() > std::max<size_t>(kShortList, labels.count)) {
    const auto wants = [](const plimsoll_requirement& each) {
      return each.op != PLIMSOLL_OP_DOES_NOT_EXIST && each.op != PLIMSOLL_OP_NOT_IN;
    };
    forbidding = std::partition_point(requirements.begin(), end, wants);
    not_in = std::partition_point(
        forbidding, end, [](const auto& each) { return each.op == PLIMSOLL_OP_DOES_NOT_EXIST; });
  }
  LabelFinder finder(labels);
  return std::all_of(requirements.begin(), forbidding,
                     [&](const auto& each) { return allows(each, finder.find(each.key)); }) &&
         none_forbidden(forbidding, not_in, labels) && none_forbidden(not_in, end, labels);
}

bool matches_field(const plimsoll_requirement& requirement, const plimsoll_node& node) {
  const plimsoll_str none = str("");
  const plimsoll_str& field = view(requirement.key) == kMetadataName ? node.meta.name : none;
  return allows(requirement, &field);
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

const plimsoll_str* find_among_many(const plimsoll_list& labels, const plimsoll_str& key) {
  return LabelFinder(labels).find(key);
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
  return allows(requirement, find_label(labels, requirement.key));
}

bool matches(const plimsoll_label_selector& selector, const plimsoll_list& labels) {
  return selector.present != 0 && has_all(selector.match_labels, labels) &&
         allow(selector.expressions, labels);
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
  LabelFinder finder(node.meta.labels);
  for (const plimsoll_requirement& each : Requirements(term.expressions)) {
    if (!allows(each, finder.find(each.key))) return false;
  }
  const Requirements fields = term.fields;
  return std::all_of(fields.begin(), fields.end(), [&](const plimsoll_requirement& each) {
    return is_valid(each, RequirementOf::kNodeFields) && matches_field(each, node);
  });
}

bool matches_any(const plimsoll_list& terms, const plimsoll_node& node) {
  const List<plimsoll_node_selector_term> list = terms;
  return std::any_of(list.begin(), list.end(),
                     [&](const auto& term) { return matches(term, node); });
}

bool matches_node_selector(const plimsoll_pod& pod, const plimsoll_node& node) {
  return has_all(pod.node_selector, node.meta.labels);
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

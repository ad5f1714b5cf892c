#include "lab/sandbox/store/selectors.hpp"

#include <algorithm>

namespace plimsoll::sandbox {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Splits at commas that are not inside parentheses.
std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  return parts;
}

bool is_label_key(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  });
}

ApiFailure unparsable(std::string_view text) {
  return bad_request(
      "unable to parse requirement: \"" + std::string(text) +
      "\": expected key=value, key!=value, key in (a,b), key notin (a,b), key or !key");
}

}  // namespace

const std::string* find_field(const Fields& fields, std::string_view name) {
  const auto found =
      std::lower_bound(fields.begin(), fields.end(), name,
                       [](const auto& f, std::string_view n) { return f.first < n; });
  return found != fields.end() && found->first == name ? &found->second : nullptr;
}

ApiResult<LabelSelector::Term> LabelSelector::parse_term(std::string_view text) {
  Term term;
  if (text.starts_with('!')) {
    term.key = trim(text.substr(1));
    term.op = Operator::kDoesNotExist;
  } else if (text.ends_with(')')) {
    const std::size_t open = text.find('(');
    if (open == std::string_view::npos) return unparsable(text);
    std::string_view head = trim(text.substr(0, open));
    const std::size_t space = head.find_last_of(" \t");
    if (space == std::string_view::npos) return unparsable(text);
    const std::string_view word = head.substr(space + 1);
    if (word != "in" && word != "notin") return unparsable(text);
    term.op = word == "in" ? Operator::kIn : Operator::kNotIn;
    term.key = trim(head.substr(0, space));
    for (auto value : split_terms(text.substr(open + 1, text.size() - open - 2))) {
      term.values.emplace_back(value);
    }
  } else if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
    const bool negated = equals > 0 && text[equals - 1] == '!';
    term.op = negated ? Operator::kNotIn : Operator::kIn;
    term.key = trim(text.substr(0, negated ? equals - 1 : equals));
    std::string_view value = text.substr(equals + 1);
    if (!negated && value.starts_with('=')) value.remove_prefix(1);
    term.values.emplace_back(trim(value));
  } else {
    term.key = text;
  }
  if (!is_label_key(term.key)) return unparsable(text);
  return term;
}

ApiResult<LabelSelector> LabelSelector::parse(std::string_view text) {
  LabelSelector selector;
  if (trim(text).empty()) return selector;
  for (std::string_view part : split_terms(text)) {
    auto term = parse_term(part);
    if (!term) return ApiFailure(term.error());
    selector.terms_.push_back(std::move(*term));
  }
  return selector;
}

bool LabelSelector::matches(const Fields& labels) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    const std::string* value = find_field(labels, term.key);
    const bool listed = value != nullptr && std::find(term.values.begin(), term.values.end(),
                                                      *value) != term.values.end();
    switch (term.op) {
      case Operator::kIn:
        return listed;
      case Operator::kNotIn:
        return !listed;
      case Operator::kExists:
        return value != nullptr;
      case Operator::kDoesNotExist:
        return value == nullptr;
    }
    return false;
  });
}

ApiResult<FieldSelector> FieldSelector::parse(std::string_view text) {
  FieldSelector selector;
  if (trim(text).empty()) return selector;
  for (std::string_view part : split_terms(text)) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return bad_request("invalid field selector: \"" + std::string(part) +
                         "\"; expected field=value or field!=value");
    }
    Term term;
    term.equal = part[equals - 1] != '!';
    term.field = trim(part.substr(0, term.equal ? equals : equals - 1));
    std::string_view value = part.substr(equals + 1);
    if (term.equal && value.starts_with('=')) value.remove_prefix(1);
    term.value = value;
    selector.terms_.push_back(std::move(term));
  }
  return selector;
}

bool FieldSelector::matches(const Fields& fields) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    const std::string* value = find_field(fields, term.field);
    const bool same = value != nullptr ? *value == term.value : term.value.empty();
    return same == term.equal;
  });
}

std::string FieldSelector::first_unsupported(const std::vector<std::string>& supported) const {
  for (const Term& term : terms_) {
    if (std::find(supported.begin(), supported.end(), term.field) == supported.end()) {
      return term.field;
    }
  }
  return {};
}

}  // namespace plimsoll::sandbox
